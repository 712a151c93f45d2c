// Matrix instructions against plain products of small integers, which every unit returns exactly. Where elements lie is
// written out here for each case from the ISA's figures.

#include <bit>
#include <functional>

#include "core/softfloat/convert.h"
#include "gtest/gtest.h"
#include "tests/unit/core/interpreter/run_kernel.h"

namespace samebits::interpreter {
namespace {

namespace sf = softfloat;

struct Matrix {
  int rows, columns;
  std::vector<int> values;
  int& at(int row, int column) { return values[row * columns + column]; }
};

Matrix Random(int rows, int columns, uint32_t seed, int range = 7) {
  Matrix m{rows, columns, {}};
  for (int i = 0; i < rows * columns; ++i) {
    seed = seed * 1664525 + 1013904223;
    m.values.push_back(static_cast<int>(seed >> 20) % (2 * range + 1) - range);
  }
  return m;
}

Matrix Product(Matrix a, Matrix b, Matrix c) {
  for (int i = 0; i < c.rows; ++i) {
    for (int j = 0; j < c.columns; ++j) {
      for (int k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

uint64_t Encode(const sf::Format* format, int bits, int value) {
  if (format == nullptr) return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  return sf::ConvertFloat(*format, sf::kF64, std::bit_cast<uint64_t>(double(value)), sf::Rounding::kRn);
}

using Place = std::function<std::pair<int, int>(int lane, int i)>;

// A fragment's words for all lanes, `count` elements of `bits` bits a lane.
void AppendFragment(std::vector<std::vector<uint32_t>>& lanes, Matrix m, const sf::Format* format, int bits, int count,
                    const Place& place) {
  for (int lane = 0; lane < 32; ++lane) {
    std::vector<uint8_t> bytes(count * bits / 8);
    for (int i = 0; i < count; ++i) {
      const auto [row, column] = place(lane, i);
      const uint64_t value = Encode(format, bits, m.at(row, column));
      std::memcpy(bytes.data() + i * bits / 8, &value, bits / 8);
    }
    for (size_t i = 0; i < bytes.size(); i += 4) {
      uint32_t word = 0;
      std::memcpy(&word, &bytes[i], 4);
      lanes[lane].push_back(word);
    }
  }
}

std::string Registers(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i == 0 ? "%x" : ", %x") + std::to_string(first + i);
  return list + "}";
}

struct MmaCase {
  const char* name;
  int m, n, k;
  const sf::Format* factor;
  int factor_bits;
  const sf::Format* accumulator;
  int accumulator_bits;
  Place a, b, c;
};

void CheckMma(const MmaCase& test) {
  const Matrix a = Random(test.m, test.k, 1), b = Random(test.k, test.n, 2), c = Random(test.m, test.n, 3, 100);
  const int a_count = test.m * test.k / 32, b_count = test.k * test.n / 32, c_count = test.m * test.n / 32;
  std::vector<std::vector<uint32_t>> lanes(32);
  AppendFragment(lanes, a, test.factor, test.factor_bits, a_count, test.a);
  AppendFragment(lanes, b, test.factor, test.factor_bits, b_count, test.b);
  AppendFragment(lanes, c, test.accumulator, test.accumulator_bits, c_count, test.c);
  const int words = static_cast<int>(lanes[0].size());
  const int a_words = a_count * test.factor_bits / 32, b_words = b_count * test.factor_bits / 32;
  const int c_words = words - a_words - b_words;
  std::vector<uint32_t> in;
  for (const auto& lane : lanes) in.insert(in.end(), lane.begin(), lane.end());

  std::string body = ".reg .b32 %x<32>; .reg .b64 %z<16>; mul.wide.u32 %off, %tid0, " + std::to_string(4 * words - 4) +
                     "; add.s64 %in, %in, %off; mul.wide.u32 %off, %tid0, " + std::to_string(4 * c_words - 4) +
                     "; add.s64 %out, %out, %off;";
  for (int i = 0; i < words; ++i)
    body += "ld.global.b32 %x" + std::to_string(i) + ", [%in+" + std::to_string(4 * i) + "];";
  std::string a_list = Registers(0, a_words), b_list = Registers(a_words, b_words),
              c_list = Registers(a_words + b_words, c_words);
  std::string after;
  if (test.factor_bits == 64) {
    for (int i = 0; i < words / 2; ++i) {
      const std::string pair = "{%x" + std::to_string(2 * i) + ", %x" + std::to_string(2 * i + 1) + "}";
      body += "mov.b64 %z" + std::to_string(i) + ", " + pair + ";";
      after += "mov.b64 " + pair + ", %z" + std::to_string(i) + ";";
    }
    a_list = "{%z0}", b_list = "{%z1}", c_list = "{%z2, %z3}";
  }
  body += std::string(test.name) + " " + c_list + ", " + a_list + ", " + b_list + ", " + c_list + ";" + after;
  for (int i = 0; i < c_words; ++i) {
    body += "st.global.b32 [%out+" + std::to_string(4 * i) + "], %x" + std::to_string(a_words + b_words + i) + ";";
  }
  const auto out = RunText(Kernel(body), in, 32 * c_words, {.block = {32, 1, 1}});
  ASSERT_TRUE(out.ok()) << test.name << out.status();
  std::vector<std::vector<uint32_t>> want(32);
  AppendFragment(want, Product(a, b, c), test.accumulator, test.accumulator_bits, c_count, test.c);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < c_words; ++i) EXPECT_EQ((*out)[lane * c_words + i], want[lane][i]) << test.name << " " << lane;
  }
}

TEST(Mma, FragmentsLieWhereTheIsaSays) {
  using P = std::pair<int, int>;
  const auto accumulator16 = [](int lane, int i) { return P{lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2}; };
  const auto accumulator8 = [](int lane, int i) { return P{lane / 4, lane % 4 * 2 + i}; };
  const auto half16_a = [](int lane, int i) {
    const bool lower = i == 2 || i == 3 || i == 6 || i == 7;
    return P{lane / 4 + (lower ? 8 : 0), lane % 4 * 2 + i % 2 + (i >= 4 ? 8 : 0)};
  };
  const auto half16_b = [](int lane, int i) { return P{lane % 4 * 2 + i % 2 + (i >= 2 ? 8 : 0), lane / 4}; };
  const auto half8_a = [](int lane, int i) { return P{lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2}; };
  const auto half8_b = [](int lane, int i) { return P{lane % 4 * 2 + i, lane / 4}; };
  const auto tf32_a = [](int lane, int i) { return P{lane / 4 + (i % 2 == 1 ? 8 : 0), lane % 4 + (i >= 2 ? 4 : 0)}; };
  const auto tf32_b = [](int lane, int i) { return P{lane % 4 + 4 * i, lane / 4}; };
  const auto byte32_a = [](int lane, int i) {
    const bool upper = i < 4 || (i >= 8 && i < 12);
    return P{lane / 4 + (upper ? 0 : 8), lane % 4 * 4 + i % 4 + (i >= 8 ? 16 : 0)};
  };
  const auto byte32_b = [](int lane, int i) { return P{lane % 4 * 4 + i % 4 + (i >= 4 ? 16 : 0), lane / 4}; };
  const auto byte16_a = [](int lane, int i) { return P{lane / 4 + (i >= 4 ? 8 : 0), lane % 4 * 4 + i % 4}; };
  const auto byte16_b = [](int lane, int i) { return P{lane % 4 * 4 + i, lane / 4}; };
  const auto double_a = [](int lane, int) { return P{lane / 4, lane % 4}; };
  const auto double_b = [](int lane, int) { return P{lane % 4, lane / 4}; };
  const MmaCase cases[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, &sf::kF16, 16, &sf::kF32, 32, half16_a, half16_b,
       accumulator16},
      {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, &sf::kBf16, 16, &sf::kF32, 32, half8_a, half8_b,
       accumulator16},
      {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, &sf::kF16, 16, &sf::kF16, 16, half16_a, half16_b,
       accumulator16},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, &sf::kTf32, 32, &sf::kF32, 32, tf32_a, tf32_b,
       accumulator16},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32, nullptr, 8, nullptr, 32, byte32_a, byte32_b,
       accumulator16},
      {"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 16, nullptr, 8, nullptr, 32, byte16_a, byte16_b,
       accumulator16},
      {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, nullptr, 8, nullptr, 32, byte16_a, byte16_b,
       accumulator8},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32, &sf::kE4m3, 8, &sf::kF32, 32, byte32_a,
       byte32_b, accumulator16},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, &sf::kF64, 64, &sf::kF64, 64, double_a, double_b,
       accumulator8},
  };
  for (const MmaCase& test : cases) CheckMma(test);
}

// 2^12 + 8 * 2^-13: one group of 16 products keeps the small ones, two groups of 8 lose those of the first.
TEST(Mma, ArchitectureDecidesTheBits) {
  const std::string text = Kernel(R"(
  .reg .b32 %y<4>;
  mov.b32 %y0, 0; mov.b32 %y1, 0; mov.b32 %y2, 0; mov.b32 %y3, 0;
  setp.eq.s32 %p1, %tid0, 0;
  mov.b32 %r1, 0x08000800;
  @%p1 mov.b32 %r1, 0x08006c00;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%y0, %y1, %y2, %y3}, {%r1, %r1, %r2, %r2}, {%r3, %r3},
    {%y0, %y1, %y2, %y3};
  st.global.b32 [%out], %y0;)");
  std::string ones = text;
  ones.replace(ones.find("mma.sync"), 0, "mov.b32 %r2, 0; mov.b32 %r3, 0x3c003c00;\n  ");
  const auto on = [&](int sm) {
    const auto module = isa::ptx::Parse(ones);
    EXPECT_TRUE(module.ok()) << module.status();
    Memory memory;
    const uint64_t out = memory.Allocate(128);
    LaunchConfig config;
    config.block = {32, 1, 1};
    config.args = {Bytes(memory.Allocate(128)), Bytes(out)};
    config.sm = sm;
    const auto result = interpreter::Run(*module, "", config, memory);
    EXPECT_TRUE(result.ok()) << result.status();
    float value = 0;
    std::memcpy(&value, memory.Buffer(out).data(), 4);
    return value;
  };
  EXPECT_EQ(on(0), on(90));
  EXPECT_GT(on(90), 4096.0f);
  EXPECT_EQ(on(80), 4096.0f);
}

// Stores 16 x 16 halves in shared memory, loads them with ldmatrix and back with stmatrix.
TEST(MatrixMoves, LoadAndStoreMatrix) {
  const std::string text = Kernel(R"(
  mov.u32 %r1, tile;
  shl.b32 %r2, %tid0, 4;
  add.s32 %r3, %r1, %r2;
  mul.wide.u32 %off, %tid0, 12;
  add.s64 %in, %in, %off;
  add.s64 %out, %out, %off;
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%in];
  st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4.LOAD.shared.b16 {%r8, %r9, %r10, %r11}, [%r3];
  bar.sync 0;
  stmatrix.sync.aligned.m8n8.x4.STORE.shared.b16 [%r3], {%r8, %r9, %r10, %r11};
  bar.sync 0;
  ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];
  st.global.v4.b32 [%out], {%r4, %r5, %r6, %r7};)",
                                  ".shared .align 16 .b8 tile[512];\n");
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i) in[i] = (2 * i + 1) << 16 | 2 * i;  // half h holds h: matrix h / 64, row, column
  for (const bool load : {false, true}) {
    for (const bool store : {false, true}) {
      std::string variant = text;
      variant.replace(variant.find(".LOAD"), 5, load ? ".trans" : "");
      variant.replace(variant.find(".STORE"), 6, store ? ".trans" : "");
      const auto out = RunText(variant, in, 128, {.block = {32, 1, 1}});
      ASSERT_TRUE(out.ok()) << out.status();
      for (uint32_t half = 0; half < 256; ++half) {
        const uint32_t row = half / 8 % 8, column = half % 8;
        const uint32_t want = load == store ? half : half / 64 * 64 + column * 8 + row;
        EXPECT_EQ((*out)[half / 2] >> (half % 2 * 16) & 0xffff, want) << half;
      }
    }
  }
}

TEST(MatrixMoves, LoadedFragmentGoesToTheNamedLane) {
  const std::string text = Kernel(R"(
  mov.u32 %r1, tile;
  shl.b32 %r2, %tid0, 4;
  add.s32 %r3, %r1, %r2;
  setp.lt.u32 %p1, %tid0, 8;
  mul.wide.u32 %off, %tid0, 12;
  add.s64 %in, %in, %off;
  @%p1 ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%in];
  @%p1 st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r3];
  st.global.b32 [%out], %r8;)",
                                  ".shared .align 16 .b8 tile[512];\n");
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i) in[i] = 1000 + i;
  const auto out = RunText(text, in, 32, {.block = {32, 1, 1}});
  ASSERT_TRUE(out.ok()) << out.status();
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ((*out)[lane], 1000 + lane / 4 * 4 + lane % 4);
}

TEST(Wmma, ProductOfRowAndColumnMajorTiles) {
  const std::string text = Kernel(R"(
  .reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>;
  sub.s64 %in, %in, %off;
  sub.s64 %out, %out, %off;
  mov.b32 %r1, 24;
  wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%in], %r1;
  wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%in+768];
  wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, [%in+1280];
  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7},
    {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};
  wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%out], {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, 16;)");
  Matrix a = Random(16, 16, 4), b = Random(16, 16, 5), c = Random(16, 16, 6, 50);
  std::vector<uint8_t> bytes(1280 + 1024);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      const uint64_t x = Encode(&sf::kF16, 16, a.at(i, j)), y = Encode(&sf::kF16, 16, b.at(j, i)),
                     z = Encode(&sf::kF32, 32, c.at(i, j));
      std::memcpy(&bytes[2 * (24 * i + j)], &x, 2);
      std::memcpy(&bytes[768 + 2 * (16 * i + j)], &y, 2);
      std::memcpy(&bytes[1280 + 4 * (16 * i + j)], &z, 4);
    }
  }
  std::vector<uint32_t> in(bytes.size() / 4);
  std::memcpy(in.data(), bytes.data(), bytes.size());
  const auto out = RunText(text, in, 256, {.block = {32, 1, 1}});
  ASSERT_TRUE(out.ok()) << out.status();
  Matrix want = Product(a, b, c);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) EXPECT_EQ((*out)[16 * j + i], Encode(&sf::kF32, 32, want.at(i, j)));
  }
}

// Shared-memory layouts of wgmma, written as the ISA's picture of core matrices: 8 rows of 16 bytes each, for swizzled
// modes 8 rows of 32, 64 or 128 bytes whose 16-byte chunks are permuted.
struct SharedLayout {
  int mode;  // field of the descriptor: 0 none, 3 32, 2 64, 1 128 bytes
  int row_bytes;
  bool k_major;
};

// Byte address of element (mn, k) of a matrix of halves that starts at a multiple of 1024.
int ElementAddress(const SharedLayout& layout, int mn, int k, int leading, int stride) {
  const int fast = layout.k_major ? k : mn, slow = layout.k_major ? mn : k;
  const int per_row = layout.row_bytes / 2;
  int address = slow % 8 * layout.row_bytes + fast % per_row * 2;
  const bool swapped = layout.mode == 0 && !layout.k_major;
  address += fast / per_row * (swapped ? stride : leading) + slow / 8 * (swapped ? leading : stride);
  if (layout.mode == 0) return address;
  const int line = address / 128 % (layout.row_bytes / 16);
  return address ^ line * 16;
}

TEST(Wgmma, EveryLayoutGivesTheProduct) {
  const SharedLayout layouts[] = {{0, 16, true},  {3, 32, true},  {2, 64, true},  {1, 128, true},
                                  {0, 16, false}, {3, 32, false}, {2, 64, false}, {1, 128, false}};
  Matrix a = Random(64, 16, 7), b = Random(16, 32, 8);
  const Matrix want = Product(a, b, Matrix{64, 32, std::vector<int>(64 * 32, 0)});
  for (const SharedLayout& layout : layouts) {
    // Blocks of 8 slow indices are `block` bytes; other blocks in the fast direction follow all of those.
    const int block = 8 * layout.row_bytes;
    const auto place = [&](int extent_mn, int& leading, int& stride) {
      const int slow = layout.k_major ? extent_mn : 16;
      const int along = block * (slow / 8), across = block;
      const bool swapped = layout.mode == 0 && !layout.k_major;
      leading = swapped ? across : along;
      stride = swapped ? along : across;
    };
    int a_leading = 0, a_stride = 0, b_leading = 0, b_stride = 0;
    place(64, a_leading, a_stride);
    place(32, b_leading, b_stride);
    std::vector<uint8_t> bytes(32768);
    for (int i = 0; i < 64; ++i) {
      for (int k = 0; k < 16; ++k) {
        const uint64_t x = Encode(&sf::kF16, 16, a.at(i, k));
        std::memcpy(&bytes[ElementAddress(layout, i, k, a_leading, a_stride)], &x, 2);
      }
    }
    for (int j = 0; j < 32; ++j) {
      for (int k = 0; k < 16; ++k) {
        const uint64_t x = Encode(&sf::kF16, 16, b.at(k, j));
        std::memcpy(&bytes[16384 + ElementAddress(layout, j, k, b_leading, b_stride)], &x, 2);
      }
    }
    const auto fields = [&](int leading, int stride) {
      return std::to_string(uint64_t(layout.mode) << 62 | uint64_t(stride / 16) << 32 | uint64_t(leading / 16) << 16);
    };
    const std::string trans = layout.k_major ? "0, 0" : "1, 1";
    std::string d = "{%y0";
    for (int i = 1; i < 16; ++i) d += ", %y" + std::to_string(i);
    std::string text = Kernel(R"(
  .reg .b32 %y<16>;
  sub.s64 %in, %in, %off;
  sub.s64 %out, %out, %off;
  mov.u32 %r1, memory;
  shl.b32 %r2, %tid0, 2;
fill:
  cvt.u64.u32 %d1, %r2;
  add.s64 %d2, %in, %d1;
  ld.global.b32 %r3, [%d2];
  add.s32 %r4, %r1, %r2;
  st.shared.b32 [%r4], %r3;
  add.s32 %r2, %r2, 512;
  setp.lt.u32 %p1, %r2, 32768;
  @%p1 bra fill;
  bar.sync 0;
  shr.u32 %r5, %r1, 4;
  cvt.u64.u32 %d3, %r5;
  or.b64 %d4, %d3, )" + fields(a_leading, a_stride) +
                                  "; add.s64 %d3, %d3, 1024; or.b64 %d5, %d3, " + fields(b_leading, b_stride) +
                                  "; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " +
                                  d + "}, %d4, %d5, 0, 1, 1, " + trans + R"(;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %off, %tid0, 64;
  add.s64 %out, %out, %off;
)" +
                                  [] {
                                    std::string stores;
                                    for (int i = 0; i < 16; ++i) {
                                      stores += "st.global.b32 [%out+" + std::to_string(4 * i) + "], %y" +
                                                std::to_string(i) + ";";
                                    }
                                    return stores;
                                  }(),
                              ".extern .shared .align 1024 .b8 memory[];\n");
    std::vector<uint32_t> in(bytes.size() / 4);
    std::memcpy(in.data(), bytes.data(), bytes.size());
    const auto out = RunText(text, in, 128 * 16, {.block = {128, 1, 1}, .shared_bytes = 32768});
    ASSERT_TRUE(out.ok()) << out.status();
    for (int thread = 0; thread < 128; ++thread) {
      for (int i = 0; i < 16; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
        const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
        EXPECT_EQ((*out)[thread * 16 + i], Encode(&sf::kF32, 32, Matrix(want).at(row, column)))
            << layout.row_bytes << layout.k_major << " " << thread << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace samebits::interpreter
