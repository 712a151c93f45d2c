#include "core/gemm/block_emulator.h"

#include <gtest/gtest.h>

#include "core/gemm/recovery.h"

namespace samebits::gemm {
namespace {

constexpr int kSm = 90;

struct Case {
  const char* desc;
  int64_t m, n, k, summed_k;
};

// A product with its operands as core/gemm's Emulate takes them, too.
class Product {
 public:
  explicit Product(const Case& c) : case_(c) {
    product_.desc = *ParseGemmDesc(c.desc);
    product_.plan = *CompileDefective(product_.desc, c.k, c.summed_k, kSm);
    product_.n = c.n;
    a_ = DrawPatterns(product_.desc.a_type, c.m * c.k, 1, 1);
    b_ = DrawPatterns(product_.desc.b_type, c.n * c.k, 2, 1);
    c_ = DrawPatterns(product_.desc.output_type, c.m * c.n, 3, 1);
    product_.bias = DrawPatterns(product_.desc.output_type, c.n, 4, 1);
    product_.alpha = 0x40400000, product_.beta = 0xbf000000;  // 3 and -0.5
    product_.a = RowsOf(a_);
    product_.b = RowsOf(b_);
    product_.c = [this](std::span<const Output> outputs) -> absl::StatusOr<std::vector<uint64_t>> {
      std::vector<uint64_t> patterns;
      for (const Output& o : outputs) patterns.push_back(c_[o.row * case_.n + o.column]);
      return patterns;
    };
  }
  BlockedProduct& blocked() { return product_; }

  std::vector<uint8_t> Whole() const {
    const GemmDesc& d = product_.desc;
    std::vector<uint64_t> a = a_, b = b_;
    // what is not summed counts as zero
    for (int64_t i = 0; i < std::ssize(a); ++i) a[i] = i % case_.k < case_.summed_k ? a[i] : 0;
    const std::vector<uint8_t> bytes[] = {Packed(a, d.a_type), Packed(b, d.b_type), Packed(c_, d.output_type),
                                          Packed(product_.bias, d.output_type)};
    const auto d_bytes = Emulate(d, kSm, {case_.m, case_.n, case_.k, bytes[0], bytes[1], bytes[2], bytes[3], product_.alpha, product_.beta}, 1);
    EXPECT_TRUE(d_bytes.ok()) << d_bytes.status();
    return d_bytes.value_or(std::vector<uint8_t>());
  }

 private:
  OperandRows RowsOf(const std::vector<uint64_t>& patterns) const {
    return [&patterns, k = case_.k](std::span<const int64_t> rows) -> absl::StatusOr<std::vector<uint64_t>> {
      std::vector<uint64_t> out;
      for (const int64_t row : rows) out.insert(out.end(), patterns.begin() + row * k, patterns.begin() + (row + 1) * k);
      return out;
    };
  }
  static std::vector<uint8_t> Packed(const std::vector<uint64_t>& patterns, FormatId type) {
    std::vector<uint8_t> bytes(patterns.size() * BytesOf(type));
    for (size_t i = 0; i < patterns.size(); ++i) StoreElement(bytes, type, i, patterns[i]);
    return bytes;
  }

  const Case case_;
  BlockedProduct product_;
  std::vector<uint64_t> a_, b_, c_;
};

constexpr Case kCases[] = {
    {"gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16", 7, 37, 100, 100},
    {"gemm/1 types=bf16,bf16,f32,f32 family=split_k instruction=wgmma:16 cuts=contiguous:64x3:ascending", 5, 40, 192, 192},
    {"gemm/1 types=f32,f32,f32,f32 family=gemv instruction=fma cuts=strided:1x8:ascending", 1, 33, 77, 77},
    {"gemm/1 types=e4m3,e4m3,f32,bf16 instruction=wgmma:32 epilogue=alpha:multiply,beta:fused,bias:add", 9, 20, 64, 64}};

TEST(BlockEmulatorTest, BlocksOfAnySizeGiveTheBytesOfTheWhole) {
  for (const Case& c : kCases) {
    Product product(c);
    const std::vector<uint8_t> whole = product.Whole();
    const int64_t outputs = c.m * c.n;
    for (const auto& [block, elements] : {std::pair<int64_t, int64_t>{outputs, 1 << 24}, {c.n, 3 * c.k}, {11, 2 * c.k}, {outputs, 1}}) {
      BlockEmulator emulator(&product.blocked(), 2, elements);
      std::vector<uint8_t> bytes;
      for (const OutputBlocks blocks{outputs, block}; std::ssize(bytes) < std::ssize(whole);) {
        const int64_t number = std::ssize(bytes) / (blocks.block * BytesOf(product.blocked().desc.output_type));
        const auto own = emulator.Run(blocks.first(number), blocks.size(number));
        ASSERT_TRUE(own.ok()) << own.status();
        bytes.insert(bytes.end(), own->begin(), own->end());
      }
      EXPECT_EQ(bytes, whole) << c.desc << ", blocks of " << block;
    }
  }
}

TEST(BlockEmulatorTest, ChosenOutputsComeInTheirOrder) {
  Product product(kCases[0]);
  const std::vector<uint8_t> whole = product.Whole();
  product.blocked().chosen = {{6, 36}, {0, 0}, {3, 5}, {6, 36}, {3, 4}};
  BlockEmulator emulator(&product.blocked(), 1);
  const auto bytes = emulator.Run(1, 4);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  std::vector<uint8_t> expected;
  for (int i = 1; i < 5; ++i) {
    const Output o = product.blocked().chosen[i];
    for (const int64_t byte : {0, 1}) expected.push_back(whole[(o.row * 37 + o.column) * 2 + byte]);
  }
  EXPECT_EQ(*bytes, expected);
}

TEST(BlockEmulatorTest, ADroppedTailIsNotSummed) {
  Product product({"gemm/1 types=f16,f16,f32,f32 instruction=wgmma:16", 3, 4, 80, 64});
  const auto bytes = BlockEmulator(&product.blocked(), 1).Run(0, 12);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, product.Whole());
}

TEST(BlockEmulatorTest, BlocksAreBoundedAndDependOnSizesAlone) {
  EXPECT_EQ(BlocksOf(12, 4, 100).count(), 1);
  const OutputBlocks rows = BlocksOf(int64_t{4096} * 4096, 4096, 4096);
  EXPECT_EQ(rows.block % 4096, 0);
  EXPECT_GT(rows.count(), 300);
  const OutputBlocks columns = BlocksOf(1 << 24, 1 << 24, 1 << 20);  // less than a row each
  EXPECT_LE(columns.count(), kMostBlocks);
  EXPECT_EQ(columns.first(columns.count() - 1) + columns.size(columns.count() - 1), 1 << 24);
  EXPECT_LE(BlocksOf(int64_t{1} << 30, 1 << 15, 1).count(), kMostBlocks);
}

TEST(BlockEmulatorTest, ThreadsAreFewWhereRowsAreLong) {
  EXPECT_EQ(ThreadsFor(16, 4096), 16);
  EXPECT_EQ(ThreadsFor(16, 1 << 21), 4);
  EXPECT_EQ(ThreadsFor(16, kMaxK), 1);
  EXPECT_GE(ThreadsFor(0, 1), 1);
}

}  // namespace
}  // namespace samebits::gemm
