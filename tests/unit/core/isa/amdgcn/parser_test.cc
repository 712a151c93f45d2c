#include "core/isa/amdgcn/parser.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::isa::amdgcn {
namespace {

using ::testing::HasSubstr;

std::string Kernel(const std::string& body) {
  return R"(
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.p2align	8
	.type	k,@function
k:
)" + body + R"(
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 256
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .name:           x
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     by_value
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_x
    .group_segment_fixed_size: 256
    .max_flat_workgroup_size: 128
    .name:           k
    .reqd_workgroup_size:
      - 64
      - 2
      - 1
    .wavefront_size: 64
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
)";
}

class ParserTest : public ::testing::Test {
 protected:
  const Instruction& One(const std::string& line) {
    auto module = Parse(Kernel("\t" + line));
    EXPECT_TRUE(module.ok()) << line << ": " << module.status();
    module_ = std::make_unique<Module>(std::move(*module));
    return module_->amdgcn->kernels[0].instructions[0];
  }
  static std::string ErrorOf(const std::string& line) {
    const auto module = Parse(Kernel("\t" + line));
    return module.ok() ? "" : std::string(module.status().message());
  }
  std::unique_ptr<Module> module_;
};

TEST_F(ParserTest, DescriptorMetadataAndEntry) {
  auto module = Parse(Kernel("\ts_nop 0"));
  ASSERT_TRUE(module.ok()) << module.status();
  const amdgcn::Kernel& k = module->amdgcn->kernels.at(0);
  EXPECT_EQ(module->amdgcn->target, "gfx942");
  EXPECT_EQ(k.group_segment_bytes, 256u);
  EXPECT_EQ(k.kernarg_bytes, 20u);
  EXPECT_EQ(k.kernarg_ptr, 1u);
  EXPECT_TRUE(k.workgroup_id[1]);
  EXPECT_FALSE(k.workgroup_id[2]);
  EXPECT_EQ(k.max_workgroup, 128u);
  ASSERT_EQ(k.arguments.size(), 3u);
  EXPECT_EQ(k.explicit_arguments, 2u);
  EXPECT_EQ(k.arguments[2].value_kind, "hidden_block_count_x");
  ASSERT_EQ(module->functions.size(), 1u);
  EXPECT_EQ(module->functions[0].reqntid, (std::array<uint32_t, 3>{64, 2, 1}));
  ASSERT_EQ(module->functions[0].params.size(), 2u);
  EXPECT_TRUE(module->symbols[0].is_pointer);
  EXPECT_EQ(module->symbols[1].size, 4u);
  EXPECT_EQ(module->FindEntry("k"), 0u);
}

TEST_F(ParserTest, RegistersConstantsAndSigns) {
  const Instruction& fma = One("v_fma_f32 v1, -v2, |s3|, 0.5");
  EXPECT_EQ(fma.op, Op::kVFmaF32);
  EXPECT_EQ(fma.operands[0].reg, kFirstVgpr + 1);
  EXPECT_TRUE(fma.operands[1].neg);
  EXPECT_TRUE(fma.operands[2].abs);
  EXPECT_EQ(fma.operands[2].reg, 3);
  EXPECT_TRUE(fma.operands[3].is_float);
  EXPECT_EQ(fma.operands[3].imm, 0x3f000000);
  const Instruction& mix = One("v_fma_mix_f32 v1, v2, v3, neg(0) op_sel:[0,1,0] op_sel_hi:[1,0,0]");
  EXPECT_TRUE(mix.operands[3].neg);
  EXPECT_EQ(mix.op_sel, 2);
  EXPECT_EQ(mix.op_sel_hi, 1);
  const Instruction& inside = One("v_add_f32_e64 v1, |-1|, neg(-4)");
  EXPECT_TRUE(inside.operands[1].abs && !inside.operands[1].neg && inside.operands[2].neg);
  EXPECT_EQ(inside.operands[1].imm, -1);
  EXPECT_EQ(inside.operands[2].imm, -4);
  EXPECT_EQ(One("v_add_f32_e64 v1, --1, v2").op, Op::kUnknown);
  const Instruction& mask = One("s_and_saveexec_b64 s[2:3], vcc");
  EXPECT_EQ(mask.operands[0].count, 2);
  EXPECT_EQ(mask.operands[1].reg, kVccLo);
  EXPECT_EQ(One("v_accvgpr_read_b32 v0, a7").operands[1].reg, kFirstAgpr + 7);
  EXPECT_EQ(One("s_mov_b32 s0, 0xffffffc0").operands[1].imm, 0xffffffc0);
}

TEST_F(ParserTest, DppSdwaAndMemoryModifiers) {
  const Instruction& dpp = One("v_add_f32_dpp v1, v1, v2 row_shr:4 row_mask:0xa bank_mask:0xf bound_ctrl:1");
  EXPECT_EQ(dpp.op, Op::kVAddF32);
  EXPECT_EQ(dpp.dpp, DppKind::kRowShr);
  EXPECT_EQ(dpp.dpp_value, 4);
  EXPECT_EQ(dpp.row_mask, 10);
  EXPECT_TRUE(dpp.bound_ctrl);
  const Instruction& quad = One("v_mov_b32_dpp v1, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(quad.dpp, DppKind::kQuadPerm);
  EXPECT_EQ(quad.dpp_value, 1 | 0 << 2 | 3 << 4 | 2 << 6);
  EXPECT_FALSE(quad.bound_ctrl);
  const Instruction& sdwa = One("v_or_b32_sdwa v1, v2, sext(v3) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:DWORD");
  EXPECT_TRUE(sdwa.sdwa);
  EXPECT_EQ(sdwa.dst_sel, SdwaSel::kWord1);
  EXPECT_EQ(sdwa.dst_unused, SdwaUnused::kPreserve);
  EXPECT_EQ(sdwa.src_sel[0], SdwaSel::kByte2);
  EXPECT_TRUE(sdwa.operands[2].sext);
  const Instruction& load = One("buffer_load_dwordx4 v[2:5], v1, s[12:15], 0 offen offset:32 sc0");
  EXPECT_TRUE(load.offen);
  EXPECT_EQ(load.offset, 32);
  EXPECT_EQ(load.operands[0].count, 4);
  const Instruction& two = One("ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:2");
  EXPECT_EQ(two.offset0, 1);
  EXPECT_EQ(two.offset1, 2);
  const Instruction& wait = One("s_waitcnt vmcnt(3) lgkmcnt(0)");
  EXPECT_EQ(wait.vmcnt, 3);
  EXPECT_EQ(wait.lgkmcnt, 0);
  EXPECT_EQ(wait.expcnt, 255);
}

TEST_F(ParserTest, ComparisonsAndMatrixNames) {
  const Instruction& cmp = One("v_cmp_nge_f32_e64 s[0:1], v1, v2");
  EXPECT_EQ(cmp.op, Op::kVCmp);
  EXPECT_EQ(cmp.compare, Compare::kNge);
  EXPECT_EQ(cmp.type, Type::kF32);
  MfmaShape shape;
  ASSERT_TRUE(ParseMfma("v_mfma_f32_32x32x16_fp8_bf8", &shape));
  EXPECT_EQ(shape.k, 16);
  EXPECT_EQ(shape.a, Type::kFp8);
  EXPECT_EQ(shape.b, Type::kBf8);
  ASSERT_TRUE(ParseMfma("v_mfma_f32_16x16x16f16", &shape));
  EXPECT_EQ(shape.m, 16);
  EXPECT_EQ(shape.a, Type::kF16);
  EXPECT_EQ(shape.blocks, 0);
  ASSERT_TRUE(ParseMfma("v_mfma_f32_4x4x4_16b_f16", &shape));
  EXPECT_EQ(shape.blocks, 16);
  EXPECT_EQ(shape.k, 4);
  EXPECT_FALSE(ParseMfma("v_mfma_f32_32x32x4_3b_f16", &shape));
  EXPECT_FALSE(ParseMfma("v_mfma_f64_16x16x4_f64", &shape));
}

TEST_F(ParserTest, LabelsBecomeInstructionIndices) {
  auto module = Parse(Kernel("\ts_branch .LBB0_1\n.LBB0_0:\n\ts_nop 0\n.LBB0_1:\n\ts_cbranch_scc0 .LBB0_0"));
  ASSERT_TRUE(module.ok()) << module.status();
  const auto& code = module->amdgcn->kernels[0].instructions;
  EXPECT_EQ(code[0].operands[0].imm, 2);
  EXPECT_EQ(code[2].operands[0].imm, 1);
}

TEST_F(ParserTest, PreloadedArgumentsStartBehindTheAlignment) {
  auto module = Parse(Kernel("\ts_load_dwordx2 s[2:3], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_branch .LBB0_0\n\t.p2align 8\n.LBB0_0:\n\ts_nop 0"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->amdgcn->kernels[0].preload_entry, 3u);
}

TEST_F(ParserTest, WhatIsNotModelledIsKeptByName) {
  EXPECT_EQ(One("v_frobnicate_b32 v1, v2").op, Op::kUnknown);
  EXPECT_EQ(One("s_add_u32 s0, s0, symbol").op, Op::kUnknown);
  EXPECT_EQ(One("buffer_load_dword v1, s[0:3], 0 offen lds").op, Op::kBufferLoadLds1);
  EXPECT_EQ(One("global_load_lds_dword v[2:3], off").op, Op::kGlobalLoadLds1);
  EXPECT_EQ(One("global_load_lds_ushort v[2:3], off").op, Op::kUnknown);
  EXPECT_THAT(ErrorOf("buffer_load_dwordx2 v[2:3], v1, s[0:3], 0 offen lds"), HasSubstr("LDS as destination"));
  EXPECT_TRUE(One("v_mov_b32_e32 v1, v2 frob:3").has_unknown_modifier);
  // Data among instructions may be any instruction.
  EXPECT_EQ(One(".long 0xbf800000").op, Op::kSEndpgm);  // before the first instruction nothing runs into it
  auto module = Parse(Kernel("\ts_nop 0\n\t.long 0xbf800000"));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->amdgcn->kernels[0].instructions[1].op, Op::kUnknown);
}

TEST_F(ParserTest, ErrorsNamePlaceAndFragment) {
  EXPECT_THAT(ErrorOf("v_add_f32_e32 v1, v2"), HasSubstr("line 7, column 16: 'v_add_f32_e32' takes 3 operands, not 2"));
  EXPECT_THAT(ErrorOf("v_add_f32_e32 v1, v2, v300"), HasSubstr("malformed operand: 'v300'"));
  EXPECT_THAT(ErrorOf("v_add_f32_e32 v1, v2, v[3:4]"), HasSubstr("operand has 2 registers, 'v_add_f32_e32' takes 1"));
  EXPECT_THAT(ErrorOf("s_mov_b64 s[3:2], 0"), HasSubstr("malformed operand"));
  EXPECT_THAT(ErrorOf("v_mov_b32_dpp v1, v1 row_shr:16 row_mask:0xf"), HasSubstr("malformed modifier: 'row_shr:16'"));
  EXPECT_THAT(ErrorOf("s_waitcnt vmcnt(x)"), HasSubstr("malformed counters"));
  EXPECT_THAT(ErrorOf("buffer_load_dwordx4 v[2:4], v1, s[12:15], 0"), HasSubstr("takes 4"));
  for (const char* refused : {".include \"a.s\"", ".incbin \"a\"", ".macro m", ".rept 3", ".irp x, 1", ".if 1"})
    EXPECT_THAT(ErrorOf(refused), HasSubstr("directive is refused")) << refused;
}

TEST_F(ParserTest, LimitsAreNamed) {
  ParseLimits limits;
  limits.max_text_bytes = 10;
  EXPECT_THAT(std::string(Parse(Kernel(""), limits).status().message()), HasSubstr("max_text_bytes"));
  limits = {};
  limits.max_instructions = 1;
  EXPECT_THAT(std::string(Parse(Kernel("\ts_nop 0"), limits).status().message()), HasSubstr("max_instructions"));
}

TEST(LooksLikeAmdgcnTest, TellsTheTwoApart) {
  EXPECT_TRUE(LooksLikeAmdgcn(Kernel("")));
  EXPECT_FALSE(LooksLikeAmdgcn(".version 8.0\n.target sm_90\n"));
}

TEST_F(ParserTest, RegisterFilesAlignmentAndModifiersOfOtherEncodings) {
  for (const auto& [line, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"s_add_u32 s0, v1, s2", "scalar register"}, {"v_add_f32_e32 s0, v1, v2", "vector register"}, {"v_add_f32_e32 v0, v1, s2", "vector register"},
           {"v_add_f32_e32 v0, a1, v2", "accumulation register"}, {"ds_read_b32 v0, 64", "vector register"}, {"s_mov_b64 s[1:2], s[4:5]", "aligned"},
           {"v_pk_add_f32 v[1:2], v[2:3], v[4:5]", "aligned"}, {"s_load_dwordx4 s[2:5], s[0:1], 0x0", "aligned"},
           {"v_and_b32_e64 v0, -v1, v2", "no sign"}, {"s_add_u32 s0, s1, s2 offset:4", "offset"}, {"v_add_f32_e32 v0, v1, v2 row_shr:1", "another encoding"},
           {"v_add_f32_e32 v0, v1, v2 clamp", "another encoding"}, {"v_add_f32_e64 v0, v1, v2 bound_ctrl:1", "DPP"}, {"v_add_f32_dpp v0, v1, v2", "without its control"},
           {"v_add_f32_e64 v0, sext(v1), v2", "SDWA"}, {"ds_read_b32 v0, v1 offset1:3", "two addresses"}, {"ds_read2_b32 v[0:1], v2 offset:8", "two addresses"},
           {"buffer_load_dword v0, v1, s[4:7], 0 offen offset:4096", "4095"}, {"global_load_dword v0, v[2:3], off offset:-4097", "-4096"},
           {"v_mfma_f32_16x16x4_f32 v[0:3], s4, v5, 0", "vector register"}, {"v_accvgpr_write_b32 v0, v1", "accumulation"}, {"s_nop 1.0", "integer constant"},
           {"v_readfirstlane_b32 v0, v1", "scalar register"}})
    EXPECT_THAT(ErrorOf(line), HasSubstr(what)) << line;
  for (const char* line : {"v_cndmask_b32_e64 v0, -v1, |v2|, s[4:5]", "v_readlane_b32 s0, v1, s2", "v_accvgpr_write_b32 a0, s1", "v_mfma_f32_16x16x4_f32 a[0:3], v4, v5, a[0:3]",
                           "v_fmamk_f32 v0, v1, 0x3fb8aa3b, v2", "ds_write_b64 v1, a[2:3]", "s_load_dword s4, s[0:1], s2 offset:0x10"})
    EXPECT_EQ(ErrorOf(line), "") << line;
}

TEST_F(ParserTest, SwizzlesByName) {
  EXPECT_EQ(One("ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,1,0,3,2)").offset, 0x80b1);
  EXPECT_EQ(One("ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,16)").offset, 0x401f);
  EXPECT_EQ(One("ds_swizzle_b32 v1, v2 offset:swizzle(REVERSE, 8)").offset, 0x1c1f);
  EXPECT_EQ(One("ds_swizzle_b32 v1, v2 offset:swizzle(BROADCAST,32,5)").offset, 0x00a0);
  EXPECT_EQ(One("ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM, \"01pip\")").offset, 0x0907);
  for (const char* bad : {"swizzle(QUAD_PERM,1,0,3)", "swizzle(SWAP,3)", "swizzle(SWAP,32)", "swizzle(BITMASK_PERM,\"01pi\")", "swizzle()"})
    EXPECT_NE(ErrorOf(std::string("ds_swizzle_b32 v1, v2 offset:") + bad), "") << bad;
}

TEST_F(ParserTest, SelectionOfPartsMakesAnInstructionSdwa) {
  const Instruction& in = One("v_and_b32 v1, v2, v3 dst_sel:WORD_1 src0_sel:BYTE_2");
  EXPECT_TRUE(in.sdwa);
  EXPECT_EQ(in.src_sel[0], SdwaSel::kByte2);
  EXPECT_EQ(in.dst_unused, SdwaUnused::kPreserve);
  EXPECT_EQ(One("s_add_u32_e32 s0, s1, s2").op, Op::kUnknown);
}

}  // namespace
}  // namespace samebits::isa::amdgcn
