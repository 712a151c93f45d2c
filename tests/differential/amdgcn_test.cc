// AMDGCN kernels written by hand: the checker's map against the direct interpreter, and what must change an answer.

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/differential/amdgcn_kernel.h"

namespace samebits::differential {
namespace {

using ::testing::HasSubstr;

TEST(AmdgcnTest, EveryDppControlMovesWhatTheInterpreterMoves) {
  std::map<std::string, std::string> seen;
  for (const char* control : {"quad_perm:[1,0,3,2]", "quad_perm:[3,3,0,1]", "row_shl:3", "row_shr:1", "row_shr:15", "row_ror:8", "row_ror:3",
                              "row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31", "wave_shr:1", "wave_rol:1", "row_newbcast:5"}) {
    const std::string digest = Agree(Kernel(absl::StrCat(kLoad, Dpp(control), kStore)));
    const auto [it, fresh] = seen.emplace(digest, control);
    EXPECT_TRUE(fresh) << control << " equals " << it->second;
  }
  // Without bound_ctrl lanes without a source keep what they had.
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\tv_mov_b32_e32 v3, 1.0\n\tv_mov_b32_dpp v3, v2 row_shr:4 row_mask:0xa bank_mask:0x5\n\tv_mov_b32_e32 v2, v3\n", kStore))),
            Agree(Kernel(absl::StrCat(kLoad, "\tv_mov_b32_e32 v3, 1.0\n\tv_mov_b32_dpp v3, v2 row_shr:4 row_mask:0xa bank_mask:0x5 bound_ctrl:1\n\tv_mov_b32_e32 v2, v3\n", kStore))));
}

// A wave's reduction as compilers write it; the sum of all 64 in the last lane.
std::string WaveSum(const std::vector<std::string>& controls) {
  std::string text = kLoad;
  for (const std::string& c : controls) text += Dpp(c);
  return text + "\tv_readlane_b32 s12, v2, 63\n\tv_mov_b32_e32 v2, s12\n" + kStore;
}

TEST(AmdgcnTest, DppReductionsCountUpAndDownAreDifferentTrees) {
  const std::vector<std::string> down = {"row_shr:8", "row_shr:4", "row_shr:2", "row_shr:1", "row_bcast:15", "row_bcast:31"};
  const std::vector<std::string> up = {"row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8", "row_bcast:15", "row_bcast:31"};
  const std::string a = Agree(Kernel(WaveSum(down))), b = Agree(Kernel(WaveSum(up)));
  EXPECT_NE(a, b);
  EXPECT_EQ(a, Check(absl::StrReplaceAll(Kernel(WaveSum(down)), {{"v2", "v9"}})).digest);
}

std::string CrossWave(const std::string& barrier) {
  return absl::StrCat(kLoad, "\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n", barrier,
                      "\tv_xor_b32_e32 v3, 0x100, v1\n\tds_read_b32 v4, v3\n\ts_waitcnt lgkmcnt(0)\n\tv_add_f32_e32 v2, v2, v4\n", kStore);
}

TEST(AmdgcnTest, LdsBetweenWavesNeedsItsBarrierAndWaits) {
  const std::string whole = Kernel(CrossWave("\ts_barrier\n"), 128);
  EXPECT_NE(Agree(whole, 128, 128), "");
  const auto no_barrier = Check(Kernel(CrossWave(""), 128), 128);
  EXPECT_EQ(no_barrier.status, checker::SignatureStatus::kNondeterministic);
  const auto no_wait = Check(absl::StrReplaceAll(whole, {{"\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n", "\tds_write_b32 v1, v2\n"}}), 128);
  EXPECT_EQ(no_wait.status, checker::SignatureStatus::kNondeterministic);
  EXPECT_THAT(no_wait.reason, HasSubstr("barrier passed"));
  // Lanes of one wave see each other's writes in order.
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\tds_write_b32 v1, v2\n\tv_xor_b32_e32 v3, 0x80, v1\n\tds_read_b32 v2, v3\n\ts_waitcnt lgkmcnt(0)\n", kStore))), "");
}

TEST(AmdgcnTest, LoadsMustBeAwaited) {
  const auto none = Check(Kernel(absl::StrCat("\tbuffer_load_dword v2, v1, s[4:7], 0 offen\n", kStore)));
  EXPECT_EQ(none.status, checker::SignatureStatus::kNondeterministic);
  EXPECT_THAT(none.reason, HasSubstr("register v2 used before the load"));
  const std::string two = "\tbuffer_load_dword v2, v1, s[4:7], 0 offen\n\tbuffer_load_dword v3, v1, s[4:7], 0 offen offset:256\n\ts_waitcnt vmcnt(W)\n\tv_add_f32_e32 v2, v2, vN\n";
  const auto with = [&](const char* n, const char* w) { return Check(Kernel(absl::StrReplaceAll(two, {{"vN", n}, {"(W)", w}}) + kStore)); };
  EXPECT_EQ(with("v2", "(1)").status, checker::SignatureStatus::kOk);
  EXPECT_EQ(with("v3", "(1)").status, checker::SignatureStatus::kNondeterministic);
  EXPECT_EQ(with("v3", "(0)").status, checker::SignatureStatus::kOk);
}

TEST(AmdgcnTest, ExecMasksOffsetsOutsideAndDataBranches) {
  // Odd lanes through EXEC; a store that the buffer's size drops; a branch whose lanes loaded data decides.
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\tv_and_b32_e32 v3, 1, v0\n\tv_cmp_eq_u32_e32 vcc, 1, v3\n\ts_and_saveexec_b64 s[12:13], vcc\n"
                                      "\ts_cbranch_execz .L1\n\tv_mul_f32_e32 v2, v2, v2\n.L1:\n\ts_or_b64 exec, exec, s[12:13]\n", kStore))), "");
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\tv_cmp_gt_u32_e32 vcc, 40, v0\n\tv_bfrev_b32_e32 v3, 1\n\tv_cndmask_b32_e32 v1, v3, v1, vcc\n", kStore))), "");
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\tv_cmp_lt_f32_e32 vcc, 1.0, v2\n\ts_and_saveexec_b64 s[12:13], vcc\n\ts_cbranch_execz .L1\n"
                                      "\tv_add_f32_e32 v2, 2.0, v2\n.L1:\n\ts_or_b64 exec, exec, s[12:13]\n", kStore))), "");
}

TEST(AmdgcnTest, AddressesThroughHalvesOfPointers) {
  constexpr char kHalves[] = "\tv_mov_b32_e32 v5, s1\n\tv_add_co_u32_e32 v4, vcc, s0, v1\n\tv_addc_co_u32_e32 v5, vcc, 0, v5, vcc\n"
                             "\tglobal_load_dword v2, v[4:5], off offset:16\n\ts_waitcnt vmcnt(0)\n";
  constexpr char kWhole[] = "\tv_mov_b32_e32 v4, v1\n\tv_mov_b32_e32 v5, 0\n\tv_lshl_add_u64 v[4:5], v[4:5], 0, s[0:1]\n"
                            "\tglobal_load_dword v2, v[4:5], off offset:16\n\ts_waitcnt vmcnt(0)\n";
  constexpr char kScalar[] = "\tglobal_load_dword v2, v1, s[0:1] offset:16\n\ts_waitcnt vmcnt(0)\n";
  const std::string a = Agree(Kernel(absl::StrCat(kHalves, kStore)));
  EXPECT_EQ(a, Agree(Kernel(absl::StrCat(kWhole, kStore))));
  EXPECT_EQ(a, Agree(Kernel(absl::StrCat(kScalar, kStore))));
  EXPECT_EQ(Check(Kernel(absl::StrCat("\tv_mov_b32_e32 v2, s1\n", kStore))).status, checker::SignatureStatus::kUnknown);
}

TEST(AmdgcnTest, MatrixInstructionsOfEveryDepth) {
  const std::string k8 = Agree(Mfma("v_mfma_f32_32x32x8_f16", 2, 16, "v_mfma_f32_32x32x8_f16"), 64, 1024);
  EXPECT_NE(k8, Agree(Mfma("v_mfma_f32_32x32x8_bf16", 2, 16, "v_mfma_f32_32x32x8_bf16"), 64, 1024));
  EXPECT_NE(Agree(Mfma("v_mfma_f32_16x16x16_f16", 2, 4, "v_mfma_f32_16x16x16_f16"), 64, 256), "");
  EXPECT_NE(Agree(Mfma("v_mfma_f32_32x32x2_f32", 1, 16, "v_mfma_f32_32x32x2_f32"), 64, 1024), "");
  EXPECT_NE(Agree(Mfma("v_mfma_f32_16x16x4_f32", 1, 4), 64, 256), "");
  EXPECT_NE(Agree(Mfma("v_mfma_i32_32x32x16_i8", 2, 16, "v_mfma_i32_32x32x16_i8"), 64, 1024, false), "");
  EXPECT_NE(Agree(Mfma("v_mfma_i32_16x16x32_i8", 2, 4), 64, 256, false), "");
  // Arithmetic that is not established is compared, not evaluated.
  const auto fp8 = Check(Mfma("v_mfma_f32_32x32x16_fp8_fp8", 2, 16));
  EXPECT_EQ(fp8.status, checker::SignatureStatus::kOk);
  EXPECT_NE(fp8.digest, Check(Mfma("v_mfma_f32_32x32x16_fp8_bf8", 2, 16)).digest);
  // Swapped factors of the second step are another chain.
  EXPECT_NE(k8, Check(absl::StrReplaceAll(Mfma("v_mfma_f32_32x32x8_f16", 2, 16, "v_mfma_f32_32x32x8_f16"), {{"v[6:7], v[4:5], v[32:47]", "v[4:5], v[6:7], v[32:47]"}})).digest);
}

// What groups of eight products mean: one k = 16 instruction is two steps of the k = 8 arithmetic, elements 0 to 7 first.
TEST(AmdgcnTest, TheGroupOfAnF16StepIsEightProducts) {
  const std::string text = Mfma("v_mfma_f32_16x16x16_f16", 2, 4);
  const auto signature = checker::Inspect(text, LaunchOf(64));
  ASSERT_TRUE(signature.ok());
  Contents before = {{"x", std::vector<uint8_t>(16384)}, {"o", std::vector<uint8_t>(1024)}};
  // Row 0 of A: 1 at k = 0, 1.5 * 2^-14 at k = 8; all of B: 1 at k = 0, 2^-10 at k = 8. The second product, 1.5 * 2^-24, would be
  // cut to 2^-24 beside 1 in one group, and the sum would round to 1. In a group of its own it is whole.
  auto put = [&](int buffer, int lane, int part, uint16_t bits) { std::memcpy(&before["x"][static_cast<size_t>(256 * (2 * buffer + part / 2) + 4 * lane + 2 * (part % 2))], &bits, 2); };
  put(0, 0, 0, 0x3c00);
  put(0, 32, 0, 0x0600);  // k = 8 is the first element of lanes 32 to 47
  for (int l = 0; l < 16; ++l) put(1, l, 0, 0x3c00), put(1, 32 + l, 0, 0x1400);
  uint64_t model = 0;
  const auto run = InterpretKernel(text, LaunchOf(64), before, &model);
  ASSERT_TRUE(run.ok()) << run.status();
  uint32_t first;
  std::memcpy(&first, run->at("o").data(), 4);
  EXPECT_EQ(first, 0x3f800001u);
  EXPECT_EQ(model, 0u);
}

TEST(AmdgcnTest, ConversionsPackedAndBitOperations) {
  for (const char* line : {
           "v_cvt_f16_f32_e32 v2, v2", "v_cvt_f32_f16_sdwa v2, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
           "v_cvt_i32_f32_e32 v2, v2", "v_cvt_u32_f32_e32 v2, v2", "v_cvt_f32_i32_e32 v2, v2", "v_cvt_f32_u32_e32 v2, v2",
           "v_cvt_pkrtz_f16_f32 v2, v2, 0.5", "v_pk_add_f16 v2, v2, v2 op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[0,1]",
           "v_pk_fma_f16 v2, v2, v2, v2", "v_med3_f32 v2, v2, 1.0, -1.0", "v_max3_f32 v2, v2, 1.0, -v2", "v_fma_f32 v2, -v2, |v2|, 0.5 clamp",
           "v_perm_b32 v2, v2, v0, 0x05010c00", "v_bfe_u32 v2, v2, 5, 9", "v_bfe_i32 v2, v2, 3, 12", "v_alignbit_b32 v2, v2, v0, 7",
           "v_bfi_b32 v2, 0xff00ff, v2, v0", "v_lshl_or_b32 v2, v2, 3, v0", "v_and_or_b32 v2, v2, 15, v0", "v_xad_u32 v2, v2, v0, 7",
           "v_mul_hi_u32 v2, v2, v0", "v_mul_lo_u32 v2, v2, v2", "v_mul_u32_u24_e32 v2, v2, v0", "v_ldexp_f32 v2, v2, 3",
           "v_floor_f32_e32 v2, v2", "v_rndne_f32_e32 v2, v2", "v_cvt_f32_ubyte2_e32 v2, v2", "v_or_b32_sdwa v2, v2, v0 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
           "v_min_i32_e32 v2, v2, v0", "v_max_u32_e32 v2, v2, v0", "v_sub_u32_e64 v2, v0, 9 clamp", "v_fma_mix_f32 v2, v2, v2, v2 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
           "v_pack_b32_f16 v2, v2, v2 op_sel:[1,0,0]", "v_cvt_pk_fp8_f32 v2, v2, v2", "v_mad_u32_u24 v2, v2, v0, 5", "v_ashrrev_i32_e32 v2, 5, v2",
           "v_lshlrev_b32_e32 v2, v0, v2", "v_lshrrev_b16_e32 v2, 3, v2", "v_add_u16_e32 v2, v2, v0", "v_sub_u16_e32 v2, v2, v0", "v_mul_lo_u16_e32 v2, v2, v0",
           "v_fma_mixlo_f16 v2, v2, v2, v2 op_sel:[0,1,0] op_sel_hi:[1,1,0]", "v_fma_mixhi_f16 v2, v2, 1.0, v2 op_sel_hi:[1,1,0]", "v_fma_mix_f32 v2, v2, 0.5, v2 op_sel_hi:[1,1,0]", "v_bfrev_b32_e32 v2, v2", "v_mbcnt_lo_u32_b32 v2, -1, v2", "v_exp_f32_e32 v2, v2", "v_rcp_f32_e32 v2, v2"})
    Agree(Kernel(absl::StrCat(kLoad, "\t", line, "\n", kStore)));
  Agree(Kernel(absl::StrCat(kLoad, "\tv_mad_u64_u32 v[2:3], s[12:13], v2, v0, v[2:3]\n", kStore)));
  Agree(Kernel(absl::StrCat(kLoad, "\tv_mov_b32_e32 v3, 0x40490fdb\n\tv_div_scale_f32 v4, s[12:13], v3, v3, v2\n\tv_rcp_f32_e32 v5, v4\n\tv_div_scale_f32 v6, vcc, v2, v3, v2\n"
                                   "\tv_fma_f32 v7, -v4, v5, 1.0\n\tv_fmac_f32_e32 v5, v7, v5\n\tv_mul_f32_e32 v7, v6, v5\n\tv_fma_f32 v8, -v4, v7, v6\n\tv_fmac_f32_e32 v7, v8, v5\n"
                                   "\tv_fma_f32 v4, -v4, v7, v6\n\tv_div_fmas_f32 v4, v4, v5, v7\n\tv_div_fixup_f32 v2, v4, v3, v2\n", kStore)));
}

constexpr char kSecond[] = "\tbuffer_load_dword v3, v1, s[4:7], 0 offen offset:256\n\ts_waitcnt vmcnt(0)\n";

// What compilers write in several ways.
TEST(AmdgcnTest, OneValueHasOneForm) {
  const auto of = [](const std::string& body) { return Agree(Kernel(absl::StrCat(kLoad, kSecond, body, kStore))); };
  EXPECT_EQ(of("\tv_med3_f32 v2, v2, -1.0, 2.0\n"), of("\tv_max_f32_e32 v2, -1.0, v2\n\tv_min_f32_e32 v2, 2.0, v2\n"));
  EXPECT_EQ(of("\tv_fma_f32 v2, -v2, v3, 1.0\n"), of("\tv_fma_f32 v2, v2, -v3, 1.0\n"));
  EXPECT_EQ(of("\tv_fma_f32 v2, -v2, -v3, 1.0\n"), of("\tv_fma_f32 v2, v2, v3, 1.0\n"));
  EXPECT_NE(of("\tv_fma_f32 v2, -v2, v3, 1.0\n"), of("\tv_fma_f32 v2, v2, v3, 1.0\n"));
  const std::string amount = "\tv_and_b32_e32 v3, 7, v0\n\tv_lshlrev_b32_e32 v3, 2, v3\n", four = "\tv_and_b32_e32 v2, 15, v2\n";
  EXPECT_EQ(of(amount + "\tv_ashrrev_i32_e32 v2, v3, v2\n" + four), of(amount + "\tv_lshrrev_b32_e32 v2, v3, v2\n" + four));
}

TEST(AmdgcnTest, MatrixStepsOfZerosAndOfIntegersInAnyOrder) {
  const std::string f16 = Mfma("v_mfma_f32_32x32x8_f16", 2, 16), store = "\tbuffer_store_dword v32,";
  const auto with = [&](const char* operand) {
    return absl::StrReplaceAll(f16, {{store, absl::StrCat("\tv_mov_b32_e32 v20, ", operand, "\n\tv_mov_b32_e32 v21, 0\n",
                                                          "\tv_mfma_f32_32x32x8_f16 v[32:47], v[20:21], v[20:21], v[32:47]\n", store)}});
  };
  EXPECT_EQ(Agree(f16, 64, 1024), Agree(with("0"), 64, 1024));
  EXPECT_NE(Agree(f16, 64, 1024), Agree(with("1.0"), 64, 1024));
  const std::string i8 = Mfma("v_mfma_i32_32x32x16_i8", 2, 16, "v_mfma_i32_32x32x16_i8");
  const std::string turned = absl::StrReplaceAll(i8, {{"v[4:5], v[6:7], 0", "v[6:7], v[4:5], 0"},
                                                      {"v[6:7], v[4:5], v[32:47]", "v[4:5], v[6:7], v[32:47]"}});
  EXPECT_EQ(Agree(i8, 64, 1024, false), Agree(turned, 64, 1024, false));
}

TEST(AmdgcnTest, CarriesReplaceScalarSourcesAfterAllLanesReadThem) {
  EXPECT_NE(Agree(Kernel(absl::StrCat(kLoad, "\ts_mov_b32 s13, 48\n\tv_mov_b32_e32 v3, 0\n\tv_mad_u64_u32 v[2:3], s[12:13], s13, v0, v[2:3]\n", kStore))), "");
}

TEST(AmdgcnTest, ABufferOnTheArgumentSegmentIsUnknown) {
  const std::string text = absl::StrReplaceAll(
      Kernel(absl::StrCat(kLoad, kStore)), {{"k:\n\ts_load_dwordx4", "k:\n\ts_mov_b64 s[4:5], s[0:1]\n\ts_load_dwordx4"},
                                            {"\ts_mov_b32 s4, s0\n\ts_and_b32 s5, s1, 0xffff\n", "\ts_and_b32 s5, s5, 0xffff\n"}});
  EXPECT_EQ(Check(text).reason_code, "ADDRESS_NOT_FROM_ARGUMENT");
}

// Reads of LDS that take bytes of several writes, of some lanes, or what was never written.
TEST(AmdgcnTest, LdsInOtherPiecesThanItWasWritten) {
  const auto of = [](const std::string& body) {
    return Agree(Kernel(absl::StrCat(kLoad, kSecond, "\tv_lshlrev_b32_e32 v4, 3, v0\n", body, "\ts_waitcnt lgkmcnt(0)\n", kStore)));
  };
  EXPECT_NE(of("\tds_write_b16 v1, v2\n\tds_write_b16 v1, v3 offset:2\n\tds_read_b32 v2, v1\n"), "");
  EXPECT_NE(of("\tds_write_b32 v1, v2\n\tds_read_u16 v2, v1 offset:2\n"), "");
  EXPECT_NE(of("\tds_write_b64 v4, v[2:3]\n\tv_xor_b32_e32 v4, 20, v4\n\tds_read_b32 v2, v4\n"), "");
  EXPECT_NE(of("\tds_write2_b32 v4, v2, v3 offset1:1\n\tv_xor_b32_e32 v1, 4, v4\n\tds_read_b32 v2, v1\n\tv_lshlrev_b32_e32 v1, 2, v0\n"), "");
  EXPECT_NE(of("\tds_write_b8 v1, v2\n\tds_write_b8 v1, v3 offset:1\n\tds_write_b16 v1, v3 offset:2\n\tds_read_b32 v2, v1\n"), "");
}

// Straight lines of random arithmetic, exchanges, LDS accesses and masks on loaded data and lane numbers.
// SAMEBITS_RANDOM_PROGRAMS: how many.
TEST(AmdgcnTest, RandomProgramsAgree) {
  std::mt19937 random(11);
  const std::vector<std::string> forms = {
      "v_add_f32_e32 $d, $a, $b", "v_sub_f32_e32 $d, $a, $b", "v_mul_f32_e32 $d, $a, $b", "v_fma_f32 $d, $a, -$b, $c", "v_fmac_f32_e32 $d, $a, $b",
      "v_max_f32_e32 $d, $a, $b", "v_min_f32_e32 $d, $a, $b", "v_and_b32_e32 $d, $a, $b", "v_or_b32_e32 $d, $a, $b", "v_xor_b32_e32 $d, $a, $b",
      "v_add_u32_e32 $d, $a, $b", "v_sub_u32_e32 $d, $a, $b", "v_lshlrev_b32_e32 $d, 3, $b", "v_lshrrev_b32_e32 $d, 7, $b",
      "v_cndmask_b32_e32 $d, $a, $b, vcc", "v_cmp_lt_f32_e32 vcc, $a, $b", "v_cmp_gt_i32_e32 vcc, $a, $b", "v_add3_u32 $d, $a, $b, $c",
      "v_mul_lo_u32 $d, $a, $b", "v_cvt_f32_i32_e32 $d, $a", "v_add_f32_dpp $d, $a, $b row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1",
      "v_mov_b32_dpp $d, $a quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf", "ds_bpermute_b32 $d, v1, $a\n\ts_waitcnt lgkmcnt(0)",
      "v_perm_b32 $d, $a, $b, 0x07060100", "v_cvt_f16_f32_e32 $d, $a", "v_cvt_f32_f16_e32 $d, $a",
      "v_pk_add_f16 $d, $a, $b op_sel:[0,1] op_sel_hi:[1,0]", "v_pk_fma_f16 $d, $a, $b, $c", "v_max3_f32 $d, $a, -$b, $c",
      "v_med3_f32 $d, $a, $b, $c", "v_cvt_f32_u32_e32 $d, $a", "v_cvt_f32_f16_sdwa $d, $a dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
      "v_or_b32_sdwa $d, $a, $b dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:DWORD",
      "v_and_b32_sdwa $d, $a, $b dst_sel:BYTE_2 src0_sel:BYTE_3 src1_sel:WORD_1", "v_bfe_u32 $d, $a, 3, 9", "v_alignbit_b32 $d, $a, $b, 5",
      "v_bfi_b32 $d, $a, $b, $c", "v_lshl_add_u32 $d, $a, 2, $b", "v_min_i32_e32 $d, $a, $b", "v_mul_hi_u32 $d, $a, $b",
      "ds_swizzle_b32 $d, $a offset:swizzle(SWAP,8)\n\ts_waitcnt lgkmcnt(0)",
      "ds_swizzle_b32 $d, $a offset:swizzle(QUAD_PERM,3,0,1,2)\n\ts_waitcnt lgkmcnt(0)",
      "v_add_f32_dpp $d, $a, $b row_ror:3 row_mask:0x5 bank_mask:0xf", "v_mov_b32_dpp $d, $a row_bcast:31 row_mask:0xc bank_mask:0xf",
      "v_fma_mix_f32 $d, $a, $b, $c op_sel:[0,1,0] op_sel_hi:[1,1,0]", "v_cvt_pkrtz_f16_f32 $d, $a, $b",
      "ds_write_b32 v1, $a\n\tds_read_b32 $d, v6\n\ts_waitcnt lgkmcnt(0)",
      "ds_write_b16 v1, $a offset:2\n\tds_write_b16 v1, $b\n\tds_read_u16_d16_hi $d, v6\n\ts_waitcnt lgkmcnt(0)",
      "s_mov_b64 exec, 0xff00ff\n\tv_add_u32_e32 $d, $a, $b\n\ts_mov_b64 exec, -1",
      "v_cmp_nlt_f32_e64 s[12:13], |$a|, $b\n\ts_and_saveexec_b64 s[14:15], s[12:13]\n\tv_mul_f32_e32 $d, $a, $b\n\ts_mov_b64 exec, s[14:15]",
      "v_readlane_b32 s12, $a, 37\n\tv_xor_b32_e32 $d, s12, $b", "v_readfirstlane_b32 s12, $a\n\ts_lshl_b32 s12, s12, 3\n\tv_sub_u32_e32 $d, s12, $b",
      "v_accvgpr_write_b32 a3, $a\n\ts_nop 1\n\tv_accvgpr_read_b32 $d, a3"};
  const char* const count = std::getenv("SAMEBITS_RANDOM_PROGRAMS");
  const int programs = count == nullptr ? 60 : std::atoi(count);
  int undecided = 0;
  for (int program = 0; program < programs; ++program) {
    std::string text = kLoad;
    text += "\tv_mov_b32_e32 v3, v2\n\tv_mov_b32_e32 v4, v0\n\tv_mov_b32_e32 v5, 2.0\n\tv_xor_b32_e32 v6, 0x40, v1\n\tds_write_b32 v1, v2\n\tv_cmp_gt_u32_e32 vcc, 33, v0\n";
    for (int i = 0; i < 14; ++i) {
      // Sources differ: the greater of a value and itself makes its NaN the canonical one, which verdicts do not compare.
      const uint32_t first = random() % 4, step = 1 + random() % 3, last = random() % 4;
      const auto reg = [](uint32_t n) { return absl::StrCat("v", 2 + n % 4); };
      absl::StrAppend(&text, "\t", absl::StrReplaceAll(forms[random() % forms.size()], {{"$d", reg(random())}, {"$a", reg(first)}, {"$b", reg(first + step)}, {"$c", reg(last)}}), "\n");
    }
    const std::string kernel = Kernel(text + kStore);
    if (Check(kernel).status != checker::SignatureStatus::kOk) {
      ++undecided;
      continue;
    }
    // Random bits are read as numbers here and there: NaNs are the canonical ones on both sides.
    Agree(kernel, kLanes, kLanes, true, 2);
  }
  EXPECT_LE(undecided, programs / 100);
}

// Sums in f32 are one operation on both vendors' processors; an exponential is not.
TEST(AmdgcnTest, OtherVendorsKernelsCompareWhereTheirArithmeticIsOne) {
  const auto ptx = [](const std::string& body) {
    return absl::StrCat(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o)
{
  .reg .b32 %r<2>;
  .reg .f32 %f<4>;
  .reg .b64 %d<5>;
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [o];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  add.s64 %d4, %d1, %d2;
  ld.global.f32 %f0, [%d3];
  ld.global.f32 %f1, [%d3+256];
)", body, "  st.global.f32 [%d4], %f2;\n  ret;\n}\n");
  };
  const auto amd = [](const std::string& body) {
    return Kernel(absl::StrCat(kLoad, "\tbuffer_load_dword v3, v1, s[4:7], 0 offen offset:256\n\ts_waitcnt vmcnt(0)\n", body, kStore));
  };
  const std::string sum = Check(ptx("  add.f32 %f2, %f0, %f1;\n")).digest;
  EXPECT_NE(sum, "");
  EXPECT_EQ(sum, Check(amd("\tv_add_f32_e32 v2, v2, v3\n")).digest);
  EXPECT_NE(sum, Check(amd("\tv_mul_f32_e32 v2, v2, v3\n")).digest);
  EXPECT_EQ(Check(ptx("  fma.rn.f32 %f2, %f0, %f1, %f0;\n")).digest, Check(amd("\tv_fma_f32 v2, v2, v3, v2\n")).digest);
  EXPECT_NE(Check(ptx("  ex2.approx.f32 %f2, %f0;\n")).digest, Check(amd("\tv_exp_f32_e32 v2, v2\n")).digest);
  // A launch that differs has a witness.
  const auto apart = checker::Explain(amd("\tv_add_f32_e32 v2, v2, v3\n"), LaunchOf(kLanes), amd("\tv_sub_f32_e32 v2, v2, v3\n"), LaunchOf(kLanes));
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_EQ(apart->verdict, checker::Verdict::kDifferent);
  EXPECT_TRUE(apart->difference->witness.has_value());
}

TEST(AmdgcnTest, WhatIsOutsideTheModelIsUnknownWithItsLine) {
  const auto s = Check(Kernel(absl::StrCat(kLoad, "\tv_frobnicate_f32 v2, v2\n", kStore)));
  EXPECT_EQ(s.status, checker::SignatureStatus::kUnknown);
  EXPECT_EQ(s.reason_code, "UNMODELLED_INSTRUCTION");
  EXPECT_EQ(s.place.instruction, "v_frobnicate_f32");
  EXPECT_EQ(Check(absl::StrReplaceAll(Kernel(absl::StrCat(kLoad, kStore)), {{"denorm_mode_32 3", "denorm_mode_32 0"}})).reason_code, "FLOAT_MODE");
  EXPECT_EQ(Check(absl::StrReplaceAll(Kernel(absl::StrCat(kLoad, kStore)), {{"gfx942", "gfx1100"}})).reason_code, "TARGET");
  const auto undefined = Check(Kernel(absl::StrCat("\tv_mov_b32_e32 v2, v9\n", kStore)));
  EXPECT_EQ(undefined.reason_code, "UNDEFINED_VALUE");
}

}  // namespace
}  // namespace samebits::differential
