#ifndef SAMEBITS_CORE_ISA_AMDGCN_OP_TABLE_H_
#define SAMEBITS_CORE_ISA_AMDGCN_OP_TABLE_H_

// The modelled instructions of gfx90a and gfx942. Encodings (_e32, _e64, _dpp, _sdwa) are one operation.

#include <cstdint>
#include <string_view>

namespace samebits::isa::amdgcn {

// What executes an instruction and how its operands look.
enum class Unit : uint8_t { kNone, kScalar, kBranch, kScalarMemory, kVector, kBuffer, kGlobal, kLds, kMatrix };

// X(enumerator, mnemonic, unit, shape). Shape: destinations, then ':', then sources.
// Destinations: d 32 bits, D 64 bits, m a lane mask, s the SCC bit beside (not written), V any count, - none.
// Sources: i 32 bits, I 64 bits, f f32, F f64, h f16, p two f16, P two f32, m a lane mask, a address, t label, R a buffer descriptor,
// V any count, k constant.
#define SAMEBITS_AMDGCN_OPS(X) \
  X(kSMovB32, "s_mov_b32", kScalar, "d:i") X(kSMovB64, "s_mov_b64", kScalar, "D:I") \
  X(kSMovkI32, "s_movk_i32", kScalar, "d:k") X(kSAddkI32, "s_addk_i32", kScalar, "d:k") \
  X(kSMulkI32, "s_mulk_i32", kScalar, "d:k") X(kSCmovB32, "s_cmov_b32", kScalar, "d:i") \
  X(kSCmovB64, "s_cmov_b64", kScalar, "D:I") \
  X(kSNotB32, "s_not_b32", kScalar, "d:i") X(kSNotB64, "s_not_b64", kScalar, "D:I") \
  X(kSBrevB32, "s_brev_b32", kScalar, "d:i") X(kSFf1B32, "s_ff1_i32_b32", kScalar, "d:i") \
  X(kSFf1B64, "s_ff1_i32_b64", kScalar, "d:I") X(kSFlbitB32, "s_flbit_i32_b32", kScalar, "d:i") \
  X(kSBcnt1B32, "s_bcnt1_i32_b32", kScalar, "d:i") X(kSBcnt1B64, "s_bcnt1_i32_b64", kScalar, "d:I") \
  X(kSSextI8, "s_sext_i32_i8", kScalar, "d:i") X(kSSextI16, "s_sext_i32_i16", kScalar, "d:i") \
  X(kSAbsI32, "s_abs_i32", kScalar, "d:i") X(kSBitset0, "s_bitset0_b32", kScalar, "d:i") \
  X(kSBitset1, "s_bitset1_b32", kScalar, "d:i") \
  X(kSAndSaveexec, "s_and_saveexec_b64", kScalar, "D:I") X(kSOrSaveexec, "s_or_saveexec_b64", kScalar, "D:I") \
  X(kSXorSaveexec, "s_xor_saveexec_b64", kScalar, "D:I") X(kSAndn2Saveexec, "s_andn2_saveexec_b64", kScalar, "D:I") \
  X(kSAddU32, "s_add_u32", kScalar, "d:ii") X(kSSubU32, "s_sub_u32", kScalar, "d:ii") \
  X(kSAddI32, "s_add_i32", kScalar, "d:ii") X(kSSubI32, "s_sub_i32", kScalar, "d:ii") \
  X(kSAddcU32, "s_addc_u32", kScalar, "d:ii") X(kSSubbU32, "s_subb_u32", kScalar, "d:ii") \
  X(kSMinI32, "s_min_i32", kScalar, "d:ii") X(kSMinU32, "s_min_u32", kScalar, "d:ii") \
  X(kSMaxI32, "s_max_i32", kScalar, "d:ii") X(kSMaxU32, "s_max_u32", kScalar, "d:ii") \
  X(kSCselectB32, "s_cselect_b32", kScalar, "d:ii") X(kSCselectB64, "s_cselect_b64", kScalar, "D:II") \
  X(kSAndB32, "s_and_b32", kScalar, "d:ii") X(kSAndB64, "s_and_b64", kScalar, "D:II") \
  X(kSOrB32, "s_or_b32", kScalar, "d:ii") X(kSOrB64, "s_or_b64", kScalar, "D:II") \
  X(kSXorB32, "s_xor_b32", kScalar, "d:ii") X(kSXorB64, "s_xor_b64", kScalar, "D:II") \
  X(kSAndn2B32, "s_andn2_b32", kScalar, "d:ii") X(kSAndn2B64, "s_andn2_b64", kScalar, "D:II") \
  X(kSOrn2B32, "s_orn2_b32", kScalar, "d:ii") X(kSOrn2B64, "s_orn2_b64", kScalar, "D:II") \
  X(kSNandB32, "s_nand_b32", kScalar, "d:ii") X(kSNandB64, "s_nand_b64", kScalar, "D:II") \
  X(kSNorB32, "s_nor_b32", kScalar, "d:ii") X(kSNorB64, "s_nor_b64", kScalar, "D:II") \
  X(kSXnorB32, "s_xnor_b32", kScalar, "d:ii") X(kSXnorB64, "s_xnor_b64", kScalar, "D:II") \
  X(kSLshlB32, "s_lshl_b32", kScalar, "d:ii") X(kSLshlB64, "s_lshl_b64", kScalar, "D:Ii") \
  X(kSLshrB32, "s_lshr_b32", kScalar, "d:ii") X(kSLshrB64, "s_lshr_b64", kScalar, "D:Ii") \
  X(kSAshrI32, "s_ashr_i32", kScalar, "d:ii") X(kSAshrI64, "s_ashr_i64", kScalar, "D:Ii") \
  X(kSBfmB32, "s_bfm_b32", kScalar, "d:ii") X(kSMulI32, "s_mul_i32", kScalar, "d:ii") \
  X(kSMulHiU32, "s_mul_hi_u32", kScalar, "d:ii") X(kSMulHiI32, "s_mul_hi_i32", kScalar, "d:ii") \
  X(kSBfeU32, "s_bfe_u32", kScalar, "d:ii") X(kSBfeI32, "s_bfe_i32", kScalar, "d:ii") \
  X(kSLshl1Add, "s_lshl1_add_u32", kScalar, "d:ii") X(kSLshl2Add, "s_lshl2_add_u32", kScalar, "d:ii") \
  X(kSLshl3Add, "s_lshl3_add_u32", kScalar, "d:ii") X(kSLshl4Add, "s_lshl4_add_u32", kScalar, "d:ii") \
  X(kSPackLl, "s_pack_ll_b32_b16", kScalar, "d:ii") X(kSPackLh, "s_pack_lh_b32_b16", kScalar, "d:ii") \
  X(kSPackHh, "s_pack_hh_b32_b16", kScalar, "d:ii") \
  X(kSCmp, "s_cmp", kScalar, "-:ii") X(kSCmpk, "s_cmpk", kScalar, "-:ik") \
  X(kSBitcmp0, "s_bitcmp0_b32", kScalar, "-:ii") X(kSBitcmp1, "s_bitcmp1_b32", kScalar, "-:ii") \
  X(kSNop, "s_nop", kScalar, "-:k") X(kSSetprio, "s_setprio", kScalar, "-:k") X(kSSleep, "s_sleep", kScalar, "-:k") \
  X(kSWaitcnt, "s_waitcnt", kScalar, "-:") X(kSSetregImm, "s_setreg_imm32_b32", kScalar, "-:kkkk") \
  X(kSBarrier, "s_barrier", kBranch, "-:") X(kSEndpgm, "s_endpgm", kBranch, "-:") X(kSBranch, "s_branch", kBranch, "-:t") \
  X(kSCbranchScc0, "s_cbranch_scc0", kBranch, "-:t") X(kSCbranchScc1, "s_cbranch_scc1", kBranch, "-:t") \
  X(kSCbranchVccz, "s_cbranch_vccz", kBranch, "-:t") X(kSCbranchVccnz, "s_cbranch_vccnz", kBranch, "-:t") \
  X(kSCbranchExecz, "s_cbranch_execz", kBranch, "-:t") X(kSCbranchExecnz, "s_cbranch_execnz", kBranch, "-:t") \
  X(kSLoad1, "s_load_dword", kScalarMemory, "V:Ia") X(kSLoad2, "s_load_dwordx2", kScalarMemory, "V:Ia") \
  X(kSLoad4, "s_load_dwordx4", kScalarMemory, "V:Ia") X(kSLoad8, "s_load_dwordx8", kScalarMemory, "V:Ia") \
  X(kSLoad16, "s_load_dwordx16", kScalarMemory, "V:Ia") \
  X(kVNop, "v_nop", kVector, "-:") X(kVMovB32, "v_mov_b32", kVector, "d:i") X(kVMovB64, "v_mov_b64", kVector, "D:I") \
  X(kVNotB32, "v_not_b32", kVector, "d:i") X(kVBfrevB32, "v_bfrev_b32", kVector, "d:i") \
  X(kVFfbhU32, "v_ffbh_u32", kVector, "d:i") X(kVFfblB32, "v_ffbl_b32", kVector, "d:i") \
  X(kVReadfirstlane, "v_readfirstlane_b32", kVector, "d:i") X(kVReadlane, "v_readlane_b32", kVector, "d:ii") \
  X(kVWritelane, "v_writelane_b32", kVector, "d:ii") \
  X(kVAccRead, "v_accvgpr_read_b32", kVector, "d:i") X(kVAccWrite, "v_accvgpr_write_b32", kVector, "d:i") \
  X(kVAccMov, "v_accvgpr_mov_b32", kVector, "d:i") \
  X(kVAddF32, "v_add_f32", kVector, "d:ff") X(kVSubF32, "v_sub_f32", kVector, "d:ff") \
  X(kVSubrevF32, "v_subrev_f32", kVector, "d:ff") X(kVMulF32, "v_mul_f32", kVector, "d:ff") \
  X(kVMaxF32, "v_max_f32", kVector, "d:ff") X(kVMinF32, "v_min_f32", kVector, "d:ff") \
  X(kVMax3F32, "v_max3_f32", kVector, "d:fff") X(kVMin3F32, "v_min3_f32", kVector, "d:fff") \
  X(kVMed3F32, "v_med3_f32", kVector, "d:fff") X(kVFmaF32, "v_fma_f32", kVector, "d:fff") \
  X(kVFmacF32, "v_fmac_f32", kVector, "d:ff") X(kVFmamkF32, "v_fmamk_f32", kVector, "d:fff") \
  X(kVFmaakF32, "v_fmaak_f32", kVector, "d:fff") X(kVFmaMixF32, "v_fma_mix_f32", kVector, "d:fff") \
  X(kVFmaMixloF16, "v_fma_mixlo_f16", kVector, "d:fff") X(kVFmaMixhiF16, "v_fma_mixhi_f16", kVector, "d:fff") \
  X(kVAddF16, "v_add_f16", kVector, "d:hh") X(kVSubF16, "v_sub_f16", kVector, "d:hh") \
  X(kVSubrevF16, "v_subrev_f16", kVector, "d:hh") X(kVMulF16, "v_mul_f16", kVector, "d:hh") \
  X(kVMaxF16, "v_max_f16", kVector, "d:hh") X(kVMinF16, "v_min_f16", kVector, "d:hh") \
  X(kVFmaF16, "v_fma_f16", kVector, "d:hhh") X(kVFmacF16, "v_fmac_f16", kVector, "d:hh") \
  X(kVAddF64, "v_add_f64", kVector, "D:FF") X(kVMulF64, "v_mul_f64", kVector, "D:FF") \
  X(kVFmaF64, "v_fma_f64", kVector, "D:FFF") X(kVFmacF64, "v_fmac_f64", kVector, "D:FF") \
  X(kVMaxF64, "v_max_f64", kVector, "D:FF") X(kVMinF64, "v_min_f64", kVector, "D:FF") \
  X(kVPkAddF32, "v_pk_add_f32", kVector, "D:PP") X(kVPkMulF32, "v_pk_mul_f32", kVector, "D:PP") \
  X(kVPkFmaF32, "v_pk_fma_f32", kVector, "D:PPP") X(kVPkMovB32, "v_pk_mov_b32", kVector, "D:PP") \
  X(kVPkAddF16, "v_pk_add_f16", kVector, "d:pp") X(kVPkMulF16, "v_pk_mul_f16", kVector, "d:pp") \
  X(kVPkFmaF16, "v_pk_fma_f16", kVector, "d:ppp") X(kVPkMaxF16, "v_pk_max_f16", kVector, "d:pp") \
  X(kVPkMinF16, "v_pk_min_f16", kVector, "d:pp") \
  X(kVRcpF32, "v_rcp_f32", kVector, "d:f") X(kVRcpIflagF32, "v_rcp_iflag_f32", kVector, "d:f") \
  X(kVRsqF32, "v_rsq_f32", kVector, "d:f") X(kVSqrtF32, "v_sqrt_f32", kVector, "d:f") \
  X(kVExpF32, "v_exp_f32", kVector, "d:f") X(kVLogF32, "v_log_f32", kVector, "d:f") \
  X(kVSinF32, "v_sin_f32", kVector, "d:f") X(kVCosF32, "v_cos_f32", kVector, "d:f") \
  X(kVFloorF32, "v_floor_f32", kVector, "d:f") X(kVCeilF32, "v_ceil_f32", kVector, "d:f") \
  X(kVTruncF32, "v_trunc_f32", kVector, "d:f") X(kVRndneF32, "v_rndne_f32", kVector, "d:f") \
  X(kVFractF32, "v_fract_f32", kVector, "d:f") X(kVLdexpF32, "v_ldexp_f32", kVector, "d:fi") \
  X(kVFrexpMantF32, "v_frexp_mant_f32", kVector, "d:f") X(kVFrexpExpF32, "v_frexp_exp_i32_f32", kVector, "d:f") \
  X(kVDivScaleF32, "v_div_scale_f32", kVector, "dm:fff") X(kVDivFmasF32, "v_div_fmas_f32", kVector, "d:fff") \
  X(kVDivFixupF32, "v_div_fixup_f32", kVector, "d:fff") \
  X(kVCvtF16F32, "v_cvt_f16_f32", kVector, "d:f") X(kVCvtF32F16, "v_cvt_f32_f16", kVector, "d:h") \
  X(kVCvtF32I32, "v_cvt_f32_i32", kVector, "d:i") X(kVCvtF32U32, "v_cvt_f32_u32", kVector, "d:i") \
  X(kVCvtI32F32, "v_cvt_i32_f32", kVector, "d:f") X(kVCvtU32F32, "v_cvt_u32_f32", kVector, "d:f") \
  X(kVCvtF64F32, "v_cvt_f64_f32", kVector, "D:f") X(kVCvtF32F64, "v_cvt_f32_f64", kVector, "d:F") \
  X(kVCvtF64I32, "v_cvt_f64_i32", kVector, "D:i") X(kVCvtF64U32, "v_cvt_f64_u32", kVector, "D:i") \
  X(kVCvtF32Ubyte0, "v_cvt_f32_ubyte0", kVector, "d:i") X(kVCvtF32Ubyte1, "v_cvt_f32_ubyte1", kVector, "d:i") \
  X(kVCvtF32Ubyte2, "v_cvt_f32_ubyte2", kVector, "d:i") X(kVCvtF32Ubyte3, "v_cvt_f32_ubyte3", kVector, "d:i") \
  X(kVCvtF16U16, "v_cvt_f16_u16", kVector, "d:i") X(kVCvtF16I16, "v_cvt_f16_i16", kVector, "d:i") \
  X(kVCvtPkrtz, "v_cvt_pkrtz_f16_f32", kVector, "d:ff") \
  X(kVCvtPkFp8, "v_cvt_pk_fp8_f32", kVector, "d:ff") X(kVCvtPkBf8, "v_cvt_pk_bf8_f32", kVector, "d:ff") \
  X(kVCvtF32Fp8, "v_cvt_f32_fp8", kVector, "d:i") X(kVCvtF32Bf8, "v_cvt_f32_bf8", kVector, "d:i") \
  X(kVCvtPkF32Fp8, "v_cvt_pk_f32_fp8", kVector, "D:i") X(kVCvtPkF32Bf8, "v_cvt_pk_f32_bf8", kVector, "D:i") \
  X(kVPackB32F16, "v_pack_b32_f16", kVector, "d:hh") \
  X(kVAndB32, "v_and_b32", kVector, "d:ii") X(kVOrB32, "v_or_b32", kVector, "d:ii") \
  X(kVXorB32, "v_xor_b32", kVector, "d:ii") X(kVXnorB32, "v_xnor_b32", kVector, "d:ii") \
  X(kVAddU32, "v_add_u32", kVector, "d:ii") X(kVSubU32, "v_sub_u32", kVector, "d:ii") \
  X(kVSubrevU32, "v_subrev_u32", kVector, "d:ii") \
  X(kVAddCo, "v_add_co_u32", kVector, "dm:ii") X(kVAddcCo, "v_addc_co_u32", kVector, "dm:iim") \
  X(kVSubCo, "v_sub_co_u32", kVector, "dm:ii") X(kVSubbCo, "v_subb_co_u32", kVector, "dm:iim") \
  X(kVSubrevCo, "v_subrev_co_u32", kVector, "dm:ii") \
  X(kVLshlrevB16, "v_lshlrev_b16", kVector, "d:ii") X(kVLshrrevB16, "v_lshrrev_b16", kVector, "d:ii") \
  X(kVAddU16, "v_add_u16", kVector, "d:ii") X(kVSubU16, "v_sub_u16", kVector, "d:ii") \
  X(kVMulLoU16, "v_mul_lo_u16", kVector, "d:ii") \
  X(kVLshlrevB32, "v_lshlrev_b32", kVector, "d:ii") X(kVLshrrevB32, "v_lshrrev_b32", kVector, "d:ii") \
  X(kVAshrrevI32, "v_ashrrev_i32", kVector, "d:ii") X(kVLshlrevB64, "v_lshlrev_b64", kVector, "D:iI") \
  X(kVLshrrevB64, "v_lshrrev_b64", kVector, "D:iI") X(kVAshrrevI64, "v_ashrrev_i64", kVector, "D:iI") \
  X(kVLshlAddU32, "v_lshl_add_u32", kVector, "d:iii") X(kVAddLshlU32, "v_add_lshl_u32", kVector, "d:iii") \
  X(kVLshlAddU64, "v_lshl_add_u64", kVector, "D:IiI") X(kVAdd3U32, "v_add3_u32", kVector, "d:iii") \
  X(kVXadU32, "v_xad_u32", kVector, "d:iii") X(kVLshlOrB32, "v_lshl_or_b32", kVector, "d:iii") \
  X(kVAndOrB32, "v_and_or_b32", kVector, "d:iii") X(kVOr3B32, "v_or3_b32", kVector, "d:iii") \
  X(kVBfeU32, "v_bfe_u32", kVector, "d:iii") X(kVBfeI32, "v_bfe_i32", kVector, "d:iii") \
  X(kVBfiB32, "v_bfi_b32", kVector, "d:iii") X(kVBfmB32, "v_bfm_b32", kVector, "d:ii") \
  X(kVAlignbit, "v_alignbit_b32", kVector, "d:iii") X(kVPermB32, "v_perm_b32", kVector, "d:iii") \
  X(kVMulLoU32, "v_mul_lo_u32", kVector, "d:ii") X(kVMulHiU32, "v_mul_hi_u32", kVector, "d:ii") \
  X(kVMulHiI32, "v_mul_hi_i32", kVector, "d:ii") X(kVMulU32U24, "v_mul_u32_u24", kVector, "d:ii") \
  X(kVMulI32I24, "v_mul_i32_i24", kVector, "d:ii") X(kVMadU32U24, "v_mad_u32_u24", kVector, "d:iii") \
  X(kVMadI32I24, "v_mad_i32_i24", kVector, "d:iii") \
  X(kVMadU64U32, "v_mad_u64_u32", kVector, "Dm:iiI") X(kVMadI64I32, "v_mad_i64_i32", kVector, "Dm:iiI") \
  X(kVMinI32, "v_min_i32", kVector, "d:ii") X(kVMaxI32, "v_max_i32", kVector, "d:ii") \
  X(kVMinU32, "v_min_u32", kVector, "d:ii") X(kVMaxU32, "v_max_u32", kVector, "d:ii") \
  X(kVMin3I32, "v_min3_i32", kVector, "d:iii") X(kVMax3I32, "v_max3_i32", kVector, "d:iii") \
  X(kVMin3U32, "v_min3_u32", kVector, "d:iii") X(kVMax3U32, "v_max3_u32", kVector, "d:iii") \
  X(kVMbcntLo, "v_mbcnt_lo_u32_b32", kVector, "d:ii") X(kVMbcntHi, "v_mbcnt_hi_u32_b32", kVector, "d:ii") \
  X(kVCndmask, "v_cndmask_b32", kVector, "d:iim") X(kVCmp, "v_cmp", kVector, "m:ii") X(kVCmpx, "v_cmpx", kVector, "m:ii") \
  X(kBufferLoadUbyte, "buffer_load_ubyte", kBuffer, "d:aRi") X(kBufferLoadSbyte, "buffer_load_sbyte", kBuffer, "d:aRi") \
  X(kBufferLoadUshort, "buffer_load_ushort", kBuffer, "d:aRi") X(kBufferLoadSshort, "buffer_load_sshort", kBuffer, "d:aRi") \
  X(kBufferLoad1, "buffer_load_dword", kBuffer, "V:aRi") X(kBufferLoad2, "buffer_load_dwordx2", kBuffer, "V:aRi") \
  X(kBufferLoad3, "buffer_load_dwordx3", kBuffer, "V:aRi") X(kBufferLoad4, "buffer_load_dwordx4", kBuffer, "V:aRi") \
  X(kBufferStoreByte, "buffer_store_byte", kBuffer, "-:daRi") X(kBufferStoreShort, "buffer_store_short", kBuffer, "-:daRi") \
  X(kBufferStoreShortHi, "buffer_store_short_d16_hi", kBuffer, "-:daRi") \
  X(kBufferStore1, "buffer_store_dword", kBuffer, "-:VaRi") X(kBufferStore2, "buffer_store_dwordx2", kBuffer, "-:VaRi") \
  X(kBufferStore3, "buffer_store_dwordx3", kBuffer, "-:VaRi") X(kBufferStore4, "buffer_store_dwordx4", kBuffer, "-:VaRi") \
  X(kGlobalLoadUbyte, "global_load_ubyte", kGlobal, "d:aa") X(kGlobalLoadSbyte, "global_load_sbyte", kGlobal, "d:aa") \
  X(kGlobalLoadUshort, "global_load_ushort", kGlobal, "d:aa") X(kGlobalLoadSshort, "global_load_sshort", kGlobal, "d:aa") \
  X(kGlobalLoad1, "global_load_dword", kGlobal, "V:aa") X(kGlobalLoad2, "global_load_dwordx2", kGlobal, "V:aa") \
  X(kGlobalLoad3, "global_load_dwordx3", kGlobal, "V:aa") X(kGlobalLoad4, "global_load_dwordx4", kGlobal, "V:aa") \
  X(kGlobalLoadLds1, "global_load_lds_dword", kGlobal, "-:aa") X(kBufferLoadLds1, "buffer_load_lds_dword", kBuffer, "-:aRi") \
  X(kGlobalStoreByte, "global_store_byte", kGlobal, "-:ada") X(kGlobalStoreShort, "global_store_short", kGlobal, "-:ada") \
  X(kGlobalStoreShortHi, "global_store_short_d16_hi", kGlobal, "-:ada") \
  X(kGlobalStore1, "global_store_dword", kGlobal, "-:aVa") X(kGlobalStore2, "global_store_dwordx2", kGlobal, "-:aVa") \
  X(kGlobalStore3, "global_store_dwordx3", kGlobal, "-:aVa") X(kGlobalStore4, "global_store_dwordx4", kGlobal, "-:aVa") \
  X(kDsReadU8, "ds_read_u8", kLds, "d:a") X(kDsReadI8, "ds_read_i8", kLds, "d:a") \
  X(kDsReadU16, "ds_read_u16", kLds, "d:a") X(kDsReadI16, "ds_read_i16", kLds, "d:a") \
  X(kDsReadU16D16, "ds_read_u16_d16", kLds, "d:a") X(kDsReadU16D16Hi, "ds_read_u16_d16_hi", kLds, "d:a") \
  X(kDsRead32, "ds_read_b32", kLds, "d:a") X(kDsRead64, "ds_read_b64", kLds, "V:a") \
  X(kDsRead96, "ds_read_b96", kLds, "V:a") X(kDsRead128, "ds_read_b128", kLds, "V:a") \
  X(kDsRead2B32, "ds_read2_b32", kLds, "V:a") X(kDsRead2B64, "ds_read2_b64", kLds, "V:a") \
  X(kDsRead2St64B32, "ds_read2st64_b32", kLds, "V:a") X(kDsRead2St64B64, "ds_read2st64_b64", kLds, "V:a") \
  X(kDsWriteB8, "ds_write_b8", kLds, "-:ad") X(kDsWriteB16, "ds_write_b16", kLds, "-:ad") \
  X(kDsWriteB8Hi, "ds_write_b8_d16_hi", kLds, "-:ad") X(kDsWriteB16Hi, "ds_write_b16_d16_hi", kLds, "-:ad") \
  X(kDsWriteB32, "ds_write_b32", kLds, "-:ad") X(kDsWriteB64, "ds_write_b64", kLds, "-:aV") \
  X(kDsWriteB96, "ds_write_b96", kLds, "-:aV") X(kDsWriteB128, "ds_write_b128", kLds, "-:aV") \
  X(kDsWrite2B32, "ds_write2_b32", kLds, "-:add") X(kDsWrite2B64, "ds_write2_b64", kLds, "-:aVV") \
  X(kDsWrite2St64B32, "ds_write2st64_b32", kLds, "-:add") X(kDsWrite2St64B64, "ds_write2st64_b64", kLds, "-:aVV") \
  X(kDsBpermute, "ds_bpermute_b32", kLds, "d:ad") X(kDsPermute, "ds_permute_b32", kLds, "d:ad") \
  X(kDsSwizzle, "ds_swizzle_b32", kLds, "d:d") \
  X(kBufferAtomicAdd, "buffer_atomic_add", kBuffer, "-:daRi") X(kBufferAtomicAddF32, "buffer_atomic_add_f32", kBuffer, "-:daRi") \
  X(kBufferAtomicPkAddF16, "buffer_atomic_pk_add_f16", kBuffer, "-:daRi") \
  X(kGlobalAtomicAdd, "global_atomic_add", kGlobal, "-:ada") X(kGlobalAtomicAddF32, "global_atomic_add_f32", kGlobal, "-:ada") \
  X(kGlobalAtomicPkAddF16, "global_atomic_pk_add_f16", kGlobal, "-:ada") \
  X(kGlobalAtomicAddF64, "global_atomic_add_f64", kGlobal, "-:aVa") \
  X(kBufferWbl2, "buffer_wbl2", kScalar, "-:") X(kBufferInv, "buffer_inv", kScalar, "-:") \
  X(kMfma, "v_mfma", kMatrix, "V:VVV")

enum class Op : uint16_t {
  kUnknown,
#define X(name, text, unit, shape) name,
  SAMEBITS_AMDGCN_OPS(X)
#undef X
};

// Conditions of v_cmp and s_cmp, in the order of their encodings for floats.
enum class Compare : uint8_t { kF, kLt, kEq, kLe, kGt, kLg, kGe, kO, kU, kNge, kNlg, kNgt, kNle, kNeq, kNlt, kTru, kNe, kClass };
enum class Type : uint8_t { kNone, kF16, kF32, kF64, kI16, kU16, kI32, kU32, kI64, kU64, kBf16, kFp8, kBf8, kXf32, kI8 };

struct OpInfo {
  Op op = Op::kUnknown;
  std::string_view name;
  Unit unit = Unit::kNone;
  std::string_view shape;
  int8_t destination_count = 0, source_count = 0;
  int destinations() const { return destination_count; }  // as written
  int sources() const { return source_count; }
};

const OpInfo& InfoOf(Op op);

// Operation of a mnemonic, with what its name says beside; false where it is not modelled.
struct Mnemonic {
  Op op = Op::kUnknown;
  Compare compare = Compare::kF;
  Type type = Type::kNone;
};
Mnemonic FindMnemonic(std::string_view name);

// v_mfma_<result>_MxNxK[_Bb]_<inputs>. False where it is not one that is modelled.
struct MfmaShape {
  int m = 0, n = 0, k = 0, blocks = 0;  // blocks: independent products; 0 where the name does not say
  Type result = Type::kNone, a = Type::kNone, b = Type::kNone;
};
bool ParseMfma(std::string_view name, MfmaShape* out);

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_OP_TABLE_H_
