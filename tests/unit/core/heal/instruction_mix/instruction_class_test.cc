#include "core/heal/instruction_mix/instruction_class.h"

#include <gtest/gtest.h>

namespace samebits::heal {
namespace {

using Class = InstructionClass;

struct Case {
  const char *opcode, *operands;
  Class kind;
};

TEST(InstructionClassTest, Sass) {
  const Case kCases[] = {
      {"HMMA.16816.F32.BF16", "R4, R8, R20, R4", Class::kTensor},
      {"HGMMA.64x128x16.F32.BF16", "R24, gdesc[UR4], R24", Class::kTensor},
      {"QGMMA.64x64x32.F32.E4M3.E4M3", "R24, gdesc[UR4], RZ, !UPT", Class::kTensor},
      {"IGMMA.64x8x32.S8.S8", "", Class::kTensor},
      {"IMMA.16832.S8.S8", "", Class::kTensor},
      {"DMMA.884", "", Class::kTensor},
      {"UTCHMMA", "gdesc[UR4], gdesc[UR6], tmem[UR8]", Class::kTensor},
      {"HFMA2.BF16_V2", "R0, R0, R11, R10", Class::kHalf},
      {"HFMA2.MMA", "R12, R12, 1, 1, R13", Class::kHalf},
      {"HADD2", "R0, R0, R1", Class::kHalf},
      {"HMUL2.BF16_V2", "R0, R0, R1", Class::kHalf},
      {"HMNMX2", "R0, R0, R1, PT", Class::kHalf},
      {"HFMA2.MMA", "R8, -RZ, RZ, 0, 5.9604644775390625e-08", Class::kConstant},
      {"HFMA2", "R8, -RZ.H0_H0, RZ.H0_H0, 1.875, -INF", Class::kConstant},
      {"HFMA2.MMA", "R8, -RZ, RZ, R4, 1", Class::kHalf},
      {"HFMA2.MMA", "R8, R4, RZ, 0, 1", Class::kHalf},
      {"HADD2.F32", "R5, -RZ, R4.H0_H0", Class::kConversion},
      {"FADD.FTZ", "R0, R1, R2", Class::kSingle},
      {"FFMA.RM", "R0, R1, R2, 12582913", Class::kSingle},
      {"FFMA.SAT", "", Class::kSingle},
      {"FMUL", "", Class::kSingle},
      {"FMNMX", "", Class::kSingle},
      {"FMNMX3", "", Class::kSingle},
      {"FADD2", "", Class::kSingle},
      {"UFFMA", "", Class::kSingle},
      {"MUFU.EX2", "R5, R4", Class::kSpecial},
      {"MUFU.RCP64H", "R5, R4", Class::kSpecial},
      {"DFMA", "", Class::kDouble},
      {"DADD", "", Class::kDouble},
      {"F2F.BF16.F32", "", Class::kConversion},
      {"F2FP.BF16.F32.PACK_AB", "", Class::kConversion},
      {"F2I.S64.TRUNC", "", Class::kConversion},
      {"I2F.U32.RP", "", Class::kConversion},
      {"I2FP.F32.S32", "", Class::kConversion},
      {"FRND.FLOOR", "", Class::kConversion},
      {"UI2FP.F32.S32", "", Class::kConversion},
      {"FSETP.GEU.AND", "", Class::kCompare},
      {"FSEL", "", Class::kCompare},
      {"HSETP2.BF16_V2.GT.AND", "", Class::kCompare},
      {"DSETP.MAX.AND", "", Class::kCompare},
      {"RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "", Class::kAtomic},
      {"ATOMG.E.ADD.F16x2.RN.STRONG.GPU", "", Class::kAtomic},
      {"REDG.E.ADD.BF16x2.RN.STRONG.GPU", "", Class::kAtomic},
      {"UTMAREDG.3D.ADD", "", Class::kOther},
      {"ATOMG.E.CAS.STRONG.GPU", "", Class::kOther},
      {"RED.E.ADD.S32.STRONG.GPU", "", Class::kOther},
      {"IMAD.U32", "R9, R4, 0x10000, RZ", Class::kInteger},
      {"LOP3.LUT", "", Class::kInteger},
      {"UIADD3", "", Class::kInteger},
      {"ULDC.64", "", Class::kOther},
      {"LDG.E.U16", "", Class::kOther},
      {"BRA", "0x150", Class::kOther},
      {"WARPGROUP.ARRIVE", "", Class::kOther},
      {"UTMALDG.3D", "", Class::kOther},
      {"FROBNICATE.F32", "", Class::kUnrecognized},
      {"U", "", Class::kUnrecognized},
      {"", "", Class::kUnrecognized},
  };
  for (const Case& c : kCases) EXPECT_STREQ(NameOf(ClassifySass(c.opcode, c.operands)), NameOf(c.kind)) << c.opcode << " " << c.operands;
}

TEST(InstructionClassTest, Amdgcn) {
  const Case kCases[] = {
      {"v_mfma_f32_32x32x8f16", "", Class::kTensor},
      {"v_smfmac_f32_16x16x32_bf16", "", Class::kTensor},
      {"v_wmma_f32_16x16x16_bf16", "", Class::kTensor},
      {"v_pk_fma_f16", "", Class::kHalf},
      {"v_pk_add_bf16", "", Class::kHalf},
      {"v_add_f16_e32", "", Class::kHalf},
      {"v_dot2_f32_f16", "", Class::kHalf},
      {"v_fma_mixlo_f16", "", Class::kHalf},
      {"v_fma_mix_f32", "", Class::kSingle},
      {"v_pk_mul_f32", "", Class::kSingle},
      {"v_fmac_f32_e64_dpp", "", Class::kSingle},
      {"v_dual_mul_f32", "", Class::kSingle},
      {"v_max3_f32", "", Class::kSingle},
      {"s_fmac_f32", "", Class::kSingle},
      {"v_exp_f32_e32", "", Class::kSpecial},
      {"v_rcp_iflag_f32_e32", "", Class::kSpecial},
      {"v_rsq_f16_sdwa", "", Class::kSpecial},
      {"v_fma_f64", "", Class::kDouble},
      {"v_div_fixup_f64", "", Class::kDouble},
      {"v_cvt_f16_f32_e32", "", Class::kConversion},
      {"v_cvt_pkrtz_f16_f32", "", Class::kConversion},
      {"v_cvt_pk_fp8_f32", "", Class::kConversion},
      {"v_cvt_f32_ubyte0_e32", "", Class::kConversion},
      {"v_rndne_f32_e32", "", Class::kConversion},
      {"v_cvt_pk_i16_i32", "", Class::kInteger},
      {"v_cmp_lt_f32_e32", "", Class::kCompare},
      {"v_cmpx_eq_u32_e32", "", Class::kInteger},
      {"global_atomic_add_f32", "", Class::kAtomic},
      {"global_atomic_pk_add_bf16", "", Class::kAtomic},
      {"ds_add_rtn_f32", "", Class::kAtomic},
      {"global_atomic_add_u32", "", Class::kOther},
      {"global_load_dwordx4", "", Class::kOther},
      {"ds_read_b128", "", Class::kOther},
      {"s_load_b64", "", Class::kOther},
      {"s_waitcnt", "", Class::kOther},
      {"s_add_u32", "", Class::kInteger},
      {"v_mov_b32_e32", "", Class::kInteger},
      {"v_pack_b32_f16", "", Class::kInteger},
      {"v_frexp_exp_i32_f32", "", Class::kInteger},
      {"vector", "", Class::kUnrecognized},
      {"", "", Class::kUnrecognized},
  };
  for (const Case& c : kCases) EXPECT_STREQ(NameOf(ClassifyAmdgcn(c.opcode)), NameOf(c.kind)) << c.opcode;
}

}  // namespace
}  // namespace samebits::heal
