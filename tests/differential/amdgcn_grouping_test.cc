// What reductions and matrix instructions of AMD processors add to what, against orders written out here: DPP counting up
// and down, whole and partial waves, folds of waves through LDS, and matrix chains of every depth (the group rule of
// CDNA 3: products of f16 and bf16 in groups of min(8, k), ascending; f32 one fused multiply-add each; integers exact).

#include <bit>
#include <cmath>
#include <functional>

#include "absl/strings/str_replace.h"
#include "core/softfloat/cdna_matrix.h"
#include "gmock/gmock.h"
#include "tests/differential/amdgcn_kernel.h"

namespace samebits::differential {
namespace {

namespace sf = softfloat;
using ::testing::HasSubstr;

// Words of o after the kernel ran on x; map and interpreter agree on them.
std::vector<uint32_t> Words(const std::string& text, const std::vector<uint8_t>& x, int lanes, int words) {
  const Contents before = {{"x", x}, {"o", std::vector<uint8_t>(static_cast<size_t>(words) * 4, 0x5a)}};
  std::vector<uint32_t> out(static_cast<size_t>(words));
  uint64_t model = 0;
  const auto run = InterpretKernel(text, LaunchOf(lanes), before, &model);
  EXPECT_TRUE(run.ok()) << run.status() << text;
  if (!run.ok()) return out;
  std::memcpy(out.data(), run->at("o").data(), out.size() * 4);
  const auto mapped = EvaluateKernel(text, LaunchOf(lanes), {before}, nullptr, 20);
  EXPECT_TRUE(mapped.ok()) << mapped.status();
  if (!mapped.ok()) return out;
  EXPECT_EQ(mapped->signature.reason, "") << text;
  if (!mapped->after.empty()) {
    EXPECT_EQ(mapped->after[0].at("o"), run->at("o")) << text;
  }
  return out;
}

std::vector<float> Floats(const std::vector<uint8_t>& bytes) {
  std::vector<float> f(bytes.size() / 4);
  std::memcpy(f.data(), bytes.data(), f.size() * 4);
  return f;
}

float Value(uint32_t bits) { return std::bit_cast<float>(bits); }

// Neighbours first: ((x0 + x1) + (x2 + x3)) + ...
float Up(const float* x, int n) { return n == 1 ? *x : Up(x, n / 2) + Up(x + n / 2, n / 2); }
// Halves first: x[i] + x[i + n/2], again and again.
float Down(std::vector<float> x) {
  for (size_t n = x.size() / 2; n > 0; n /= 2)
    for (size_t i = 0; i < n; ++i) x[i] += x[i + n];
  return x[0];
}
float DownOf(const float* x, int n) { return Down(std::vector<float>(x, x + n)); }

const std::vector<std::string> kUp = {"row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8"};
const std::vector<std::string> kDown = {"row_shr:8", "row_shr:4", "row_shr:2", "row_shr:1"};

std::string RowsThenBroadcasts(const std::vector<std::string>& rows, int last) {
  std::string text = kLoad;
  for (const std::string& c : rows) text += Dpp(c);
  text += "\tv_mov_b32_e32 v3, 0\n\ts_nop 1\n\tv_mov_b32_dpp v3, v2 row_bcast:15 row_mask:0xa bank_mask:0xf\n\tv_add_f32_e32 v2, v2, v3\n";
  if (last == 63) text += "\tv_mov_b32_e32 v3, 0\n\ts_nop 1\n\tv_mov_b32_dpp v3, v2 row_bcast:31 row_mask:0xc bank_mask:0xf\n\tv_add_f32_e32 v2, v2, v3\n";
  return absl::StrCat(text, "\tv_readlane_b32 s12, v2, ", last, "\n\tv_mov_b32_e32 v2, s12\n", kStore);
}

TEST(AmdgcnGroupingTest, DppReductionsOfAWave) {
  std::mt19937 random(3);
  for (int draw = 0; draw < 8; ++draw) {
    const Contents c = Draw(64, random, true);
    const std::vector<float> x = Floats(c.at("x"));
    const auto rows = [&](const std::function<float(const float*, int)>& row) { return (row(&x[48], 16) + row(&x[32], 16)) + (row(&x[16], 16) + row(&x[0], 16)); };
    EXPECT_EQ(Value(Words(Kernel(RowsThenBroadcasts(kUp, 63)), c.at("x"), 64, 64)[0]), rows(Up));
    EXPECT_EQ(Value(Words(Kernel(RowsThenBroadcasts(kDown, 63)), c.at("x"), 64, 64)[0]), rows(DownOf));
    // Half a wave: two rows, one broadcast.
    EXPECT_EQ(Value(Words(Kernel(RowsThenBroadcasts(kUp, 31), 32), c.at("x"), 32, 32)[0]), Up(&x[16], 16) + Up(&x[0], 16));
    EXPECT_EQ(Value(Words(Kernel(RowsThenBroadcasts(kDown, 31), 32), c.at("x"), 32, 32)[0]), DownOf(&x[16], 16) + DownOf(&x[0], 16));
  }
}

std::string Butterfly(const std::vector<int>& distances) {
  std::string text = kLoad;
  for (const int d : distances)
    absl::StrAppend(&text, "\tv_xor_b32_e32 v3, ", 4 * d, ", v1\n\tds_bpermute_b32 v4, v3, v2\n\ts_waitcnt lgkmcnt(0)\n\tv_add_f32_e32 v2, v2, v4\n");
  return text;
}

TEST(AmdgcnGroupingTest, ButterfliesOfWholeAndPartialWaves) {
  std::mt19937 random(5);
  const Contents c = Draw(64, random, true);
  const std::vector<float> x = Floats(c.at("x"));
  for (const int lanes : {64, 32, 16, 8}) {
    std::vector<int> up, down;
    for (int d = 1; d < lanes; d *= 2) up.push_back(d), down.insert(down.begin(), d);
    const auto literal = [](std::string text) { return absl::StrReplaceAll(text, {{"v_xor_b32_e32 v3, 128,", "v_xor_b32_e32 v3, 0x80,"}}); };
    EXPECT_EQ(Value(Words(Kernel(literal(Butterfly(up) + kStore), lanes), c.at("x"), lanes, lanes)[0]), Up(x.data(), lanes)) << lanes;
    EXPECT_EQ(Value(Words(Kernel(literal(Butterfly(down) + kStore), lanes), c.at("x"), lanes, lanes)[0]), DownOf(x.data(), lanes)) << lanes;
  }
}

// Waves fold through LDS: distance 128, then 64, of a block of four waves; and of a wave and a half.
TEST(AmdgcnGroupingTest, WavesFoldThroughLds) {
  std::mt19937 random(9);
  const Contents c = Draw(256, random, true);
  const std::vector<float> x = Floats(c.at("x"));
  const auto fold = [](int from, int lanes) {
    return absl::StrCat("\tv_cmp_gt_u32_e32 vcc, ", lanes, ", v0\n\ts_and_saveexec_b64 s[12:13], vcc\n\tds_read_b32 v4, v1 offset:", 4 * from,
                        "\n\ts_waitcnt lgkmcnt(0)\n\tv_add_f32_e32 v2, v2, v4\n\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n\ts_or_b64 exec, exec, s[12:13]\n\ts_barrier\n");
  };
  const std::string begin = absl::StrCat(kLoad, "\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n");
  const auto four = Words(Kernel(absl::StrCat(begin, fold(128, 128), fold(64, 64), kStore), 256), c.at("x"), 256, 256);
  for (int l = 0; l < 64; ++l) EXPECT_EQ(Value(four[l]), (x[l] + x[l + 128]) + (x[l + 64] + x[l + 192])) << l;
  const auto part = Words(Kernel(absl::StrCat(begin, fold(64, 32), kStore), 96), c.at("x"), 96, 96);
  for (int l = 0; l < 64; ++l) EXPECT_EQ(Value(part[l]), l < 32 ? x[l] + x[l + 64] : x[l]) << l;
}

struct Form {
  const char* name;
  int m, k, blocks, bits;
  sf::Format const* format;  // null: integers
};

// Element (row, k) of A or B of a block: which of the 64 * words 32-bit words of an operand, and which of its bits.
uint32_t Element(const Form& f, const std::vector<uint8_t>& x, int operand, int block, int row, int k) {
  const int per = f.k * f.m * f.blocks / 64, words = per * f.bits / 32;
  const int lane = f.blocks > 1 ? block * f.m + row : k / per * f.m + row, at = (f.blocks > 1 ? k : k % per) * f.bits;
  uint32_t word;
  std::memcpy(&word, &x[static_cast<size_t>(4 * ((operand * words + at / 32) * 64 + lane))], 4);
  return f.bits == 32 ? word : word >> (at % 32) & ((1u << f.bits) - 1);
}

uint32_t Expected(const Form& f, const std::vector<uint8_t>& x, int block, int row, int column) {
  uint32_t acc = 0;
  if (f.format == nullptr) {
    for (int k = 0; k < f.k; ++k) acc += static_cast<uint32_t>(static_cast<int8_t>(Element(f, x, 0, block, row, k)) * static_cast<int8_t>(Element(f, x, 1, block, column, k)));
    return acc;
  }
  if (f.bits == 32) {
    for (int k = 0; k < f.k; ++k)
      acc = std::bit_cast<uint32_t>(std::fma(Value(Element(f, x, 0, block, row, k)), Value(Element(f, x, 1, block, column, k)), Value(acc)));
    return acc;
  }
  const int group = std::min(8, f.k);
  for (int first = 0; first < f.k; first += group) {
    std::vector<sf::MatrixElement> a, b;
    for (int k = first; k < first + group; ++k) {
      a.push_back(sf::DecodeElement(*f.format, Element(f, x, 0, block, row, k)));
      b.push_back(sf::DecodeElement(*f.format, Element(f, x, 1, block, column, k)));
    }
    acc = sf::Cdna3Step(a, b, acc);
  }
  return acc;
}

TEST(AmdgcnGroupingTest, MatrixInstructionsOfEveryForm) {
  std::mt19937 random(21);
  for (const Form& f : std::initializer_list<Form>{
           {"v_mfma_f32_32x32x2_f32", 32, 2, 1, 32, &sf::kF32}, {"v_mfma_f32_16x16x4_f32", 16, 4, 1, 32, &sf::kF32},
           {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, 32, &sf::kF32}, {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, 32, &sf::kF32},
           {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, 32, &sf::kF32}, {"v_mfma_f32_32x32x8_f16", 32, 8, 1, 16, &sf::kF16},
           {"v_mfma_f32_16x16x16_f16", 16, 16, 1, 16, &sf::kF16}, {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, 16, &sf::kF16},
           {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, 16, &sf::kF16}, {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, 16, &sf::kF16},
           {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, 16, &sf::kBf16}, {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, 16, &sf::kBf16},
           {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, 16, &sf::kBf16}, {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, 16, &sf::kBf16},
           {"v_mfma_i32_32x32x16_i8", 32, 16, 1, 8, nullptr}, {"v_mfma_i32_16x16x32_i8", 16, 32, 1, 8, nullptr},
           {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, 8, nullptr}, {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, 8, nullptr},
           {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, 8, nullptr}}) {
    const int words = f.k * f.m * f.blocks / 64 * f.bits / 32, results = f.m * f.m * f.blocks / 64;
    Contents c = Draw(64 * results, random, f.bits == 32);
    if (f.bits == 16)  // halves of modest size, of both signs
      for (size_t i = 1; i < c["x"].size(); i += 2) c["x"][i] = static_cast<uint8_t>((c["x"][i] & 0x83) | 0x38 | (random() & 4));
    const std::vector<uint8_t>& x = c["x"];
    const auto out = Words(Mfma(f.name, words, results), x, 64, 64 * results);
    int wrong = 0;
    for (int block = 0; block < f.blocks; ++block)
      for (int i = 0; i < f.m; ++i)
        for (int j = 0; j < f.m; ++j) {
          // Where D[i][j] of the block lies.
          const int lane = f.m == 4 ? 4 * block + j : f.m == 16 ? 16 * (i / 4) + j : 32 * (i / 4 % 2) + j;
          const int reg = f.m == 4 ? i : f.m == 16 ? 4 * block + i % 4 : 16 * block + i / 8 * 4 + i % 4;
          wrong += out[static_cast<size_t>(reg * 64 + lane)] != Expected(f, x, block, i, j);
        }
    EXPECT_EQ(wrong, 0) << f.name;
  }
}

// Steps of one group in another instruction are the same chain; other groups are not.
TEST(AmdgcnGroupingTest, ChainsAreOneWhereTheirGroupsAre) {
  const auto chain = [](const std::string& name, int m, int k, int bits, const std::string& target = "gfx942") {
    // 32 elements of k a row, of element i of A's row r at x[(r * 32 + i) * bits / 8], of B's behind 4096 bytes; D[0][0] is stored.
    const int per = k * m / 64, words = per * bits / 32, load = words;
    std::string text = absl::StrCat("\tv_and_b32_e32 v3, ", m - 1, ", v0\n\tv_lshlrev_b32_e32 v3, ", bits == 16 ? 6 : bits == 32 ? 7 : 5, ", v3\n\tv_lshrrev_b32_e32 v4, ", m == 16 ? 4 : 5,
                                    ", v0\n\tv_mul_u32_u24_e32 v4, ", per * bits / 8, ", v4\n\tv_add_u32_e32 v3, v3, v4\n");
    const std::string d = m == 16 ? "v[32:35]" : "v[32:47]";
    const std::string width = load == 1 ? "" : absl::StrCat("x", load);
    const auto range = [&](int first) { return load == 1 ? absl::StrCat("v", first) : absl::StrCat("v[", first, ":", first + load - 1, "]"); };
    for (int step = 0; step < 32 / k; ++step)
      absl::StrAppend(&text, "\tbuffer_load_dword", width, " ", range(8), ", v3, s[4:7], 0 offen offset:", step * k * bits / 8, "\n\tv_add_u32_e32 v5, 0x1000, v3\n\tbuffer_load_dword",
                      width, " ", range(12), ", v5, s[4:7], 0 offen offset:", step * k * bits / 8, "\n\ts_waitcnt vmcnt(0)\n\t", name, " ", d, ", ", range(8), ", ", range(12), ", ",
                      step == 0 ? "0" : d, "\n");
    return Check(absl::StrReplaceAll(Kernel(absl::StrCat(text, "\tv_mov_b32_e32 v2, v32\n\tv_cmp_gt_u32_e32 vcc, 1, v0\n\ts_and_saveexec_b64 s[12:13], vcc\n", kStore)), {{"gfx942", target}}));
  };
  const auto f16 = chain("v_mfma_f32_16x16x16_f16", 16, 16, 16);
  ASSERT_EQ(f16.reason, "");
  EXPECT_EQ(f16.digest, chain("v_mfma_f32_32x32x8_f16", 32, 8, 16).digest);
  EXPECT_NE(f16.digest, chain("v_mfma_f32_16x16x16_bf16", 16, 16, 16).digest);
  const auto f32 = chain("v_mfma_f32_16x16x4_f32", 16, 4, 32);
  ASSERT_EQ(f32.reason, "");
  EXPECT_EQ(f32.digest, chain("v_mfma_f32_32x32x2_f32", 32, 2, 32).digest);
  const auto i8 = chain("v_mfma_i32_16x16x32_i8", 16, 32, 8);
  ASSERT_EQ(i8.reason, "");
  EXPECT_EQ(i8.digest, chain("v_mfma_i32_32x32x16_i8", 32, 16, 8).digest);
  // Where the groups are not established, each instruction is a function of its own, of its processor.
  const auto fp8 = chain("v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 8);
  ASSERT_EQ(fp8.reason, "");
  EXPECT_NE(fp8.digest, chain("v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 8).digest);
  const auto deep = chain("v_mfma_f32_16x16x32_f16", 16, 32, 16, "gfx950");
  ASSERT_EQ(deep.reason, "");
  EXPECT_NE(deep.digest, chain("v_mfma_f32_16x16x16_f16", 16, 16, 16, "gfx950").digest);
  EXPECT_NE(f16.digest, chain("v_mfma_f32_16x16x16_f16", 16, 16, 16, "gfx950").digest);
  EXPECT_NE(f16.digest, chain("v_mfma_f32_16x16x16_f16", 16, 16, 16, "gfx90a").digest);
}

// One half of each source; what op_sel_hi says does not matter.
TEST(AmdgcnGroupingTest, PackedMovesTakeAHalfOfEachSource) {
  std::mt19937 random(4);
  const Contents c = Draw(64, random, true);
  const std::vector<float> x = Floats(c.at("x"));
  const std::string loads = "\tbuffer_load_dword v2, v1, s[4:7], 0 offen\n\tbuffer_load_dword v3, v1, s[4:7], 0 offen offset:256\n"
                            "\tbuffer_load_dword v4, v1, s[4:7], 0 offen offset:512\n\tbuffer_load_dword v5, v1, s[4:7], 0 offen offset:768\n\ts_waitcnt vmcnt(0)\n";
  for (int sel = 0; sel < 4; ++sel) {
    const std::string move = absl::StrCat("\tv_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[", sel & 1, ",", sel >> 1, "]\n");
    const auto out = Words(Kernel(absl::StrCat(loads, move, "\tv_sub_f32_e32 v2, v8, v9\n", kStore)), c.at("x"), 64, 64);
    for (int l = 0; l < 64; ++l) EXPECT_EQ(Value(out[l]), x[l + 64 * (sel & 1)] - x[l + 128 + 64 * (sel >> 1)]) << sel;
  }
}

// Loads that land in LDS: at M0 + offset + 4 * lane, at some moment up to the wait for vmcnt.
std::string Direct(const std::string& wait, const std::string& load = "global_load_lds_dword v1, s[0:1]") {
  return absl::StrCat("\tv_readfirstlane_b32 s12, v1\n\ts_mov_b32 m0, s12\n\ts_nop 0\n\t", load, "\n", wait, "\tv_xor_b32_e32 v3, 0x1fc, v1\n\tds_read_b32 v2, v3\n\ts_waitcnt lgkmcnt(0)\n", kStore);
}

TEST(AmdgcnGroupingTest, LoadsToLdsLandAtTheirWait) {
  std::mt19937 random(2);
  const Contents c = Draw(128, random, true);
  const std::vector<float> x = Floats(c.at("x"));
  const std::string waited = "\ts_waitcnt vmcnt(0)\n\ts_barrier\n";
  for (const char* load : {"global_load_lds_dword v1, s[0:1]", "buffer_load_dword v1, s[4:7], 0 offen lds"}) {
    const auto out = Words(Kernel(Direct(waited, load), 128), c.at("x"), 128, 128);
    for (int l = 0; l < 128; ++l) EXPECT_EQ(Value(out[l]), x[127 - l]) << load;
  }
  EXPECT_EQ(Check(Kernel(Direct(waited), 128), 128).digest, Check(Kernel(Direct(waited, "buffer_load_dword v1, s[4:7], 0 offen lds"), 128), 128).digest);
  for (const char* wait : {"\ts_barrier\n", "\ts_waitcnt vmcnt(1)\n\ts_barrier\n", "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n", "\ts_waitcnt vmcnt(0)\n", "\ts_barrier\n\ts_waitcnt vmcnt(0)\n"})
    EXPECT_EQ(Check(Kernel(Direct(wait), 128), 128).status, checker::SignatureStatus::kNondeterministic) << wait;
  // Within one wave its own wait is enough, also for another lane's dword.
  const std::string one = absl::StrReplaceAll(Direct("\ts_waitcnt vmcnt(0)\n"), {{"0x1fc", "0xfc"}});
  EXPECT_EQ(Check(Kernel(one)).status, checker::SignatureStatus::kOk);
  EXPECT_EQ(Check(absl::StrReplaceAll(Kernel(one), {{"vmcnt(0)\n\tv_xor", "vmcnt(3)\n\tv_xor"}})).status, checker::SignatureStatus::kNondeterministic);
  // Another write to the same place before the wait.
  const auto twice = Check(Kernel(Direct(absl::StrCat("\tds_write_b32 v1, v0\n", waited)), 128), 128);
  EXPECT_EQ(twice.status, checker::SignatureStatus::kNondeterministic);
  EXPECT_EQ(Check(Kernel(absl::StrReplaceAll(Direct(waited), {{"s_mov_b32 m0, s12", "s_nop 0"}}), 128), 128).status, checker::SignatureStatus::kUnknown);
  EXPECT_EQ(Check(Kernel(Direct(waited, "global_load_lds_dword v1, s[0:1] offset:4000"), 128), 128).reason_code, "ADDRESS_BOUNDS");
}

// A block of 64 threads folds through shared memory: on NVIDIA by two warps, on AMD by one wave.
std::string PtxButterfly(const std::vector<int>& distances) {
  std::string text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o)
{
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<5>;
  .shared .align 4 .b8 s[256];
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [o];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  add.s64 %d4, %d1, %d2;
  ld.global.f32 %f0, [%d3];
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, s;
  add.u32 %r3, %r2, %r1;
)";
  for (const int d : distances)
    absl::StrAppend(&text, "  st.shared.f32 [%r3], %f0;\n  bar.sync 0;\n  xor.b32 %r4, %r1, ", 4 * d, ";\n  add.u32 %r4, %r2, %r4;\n  ld.shared.f32 %f1, [%r4];\n",
                    "  add.f32 %f0, %f0, %f1;\n  bar.sync 0;\n");
  return absl::StrCat(text, "  st.global.f32 [%d4], %f0;\n  ret;\n}\n");
}

TEST(AmdgcnGroupingTest, OneReductionOnBothVendorsIsEquivalent) {
  const std::vector<int> up = {1, 2, 4, 8, 16, 32}, down = {32, 16, 8, 4, 2, 1};
  const auto amd = [](const std::vector<int>& order) { return Kernel(absl::StrReplaceAll(Butterfly(order) + kStore, {{"v3, 128,", "v3, 0x80,"}})); };
  const auto verdict = [&](const std::string& a, const std::string& b) { return checker::CompareSignatures(Check(a), Check(b)).verdict; };
  EXPECT_EQ(verdict(PtxButterfly(down), amd(down)), checker::Verdict::kEquivalent);
  EXPECT_EQ(verdict(PtxButterfly(up), amd(up)), checker::Verdict::kEquivalent);
  EXPECT_NE(verdict(PtxButterfly(up), amd(down)), checker::Verdict::kEquivalent);
  // DPP moves within rows, then across them: the same tree again.
  const std::string rows = absl::StrCat(kLoad, Dpp("quad_perm:[1,0,3,2]"), Dpp("quad_perm:[2,3,0,1]"), Dpp("row_half_mirror"), Dpp("row_mirror"));
  EXPECT_EQ(verdict(PtxButterfly(up), Kernel(absl::StrCat(rows, absl::StrReplaceAll(Butterfly({16, 32}), {{kLoad, ""}, {"v3, 128,", "v3, 0x80,"}}), kStore))), checker::Verdict::kEquivalent);
  const auto apart = checker::Explain(PtxButterfly(up), LaunchOf(kLanes), amd(down), LaunchOf(kLanes));
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_EQ(apart->verdict, checker::Verdict::kDifferent);
}

}  // namespace
}  // namespace samebits::differential
