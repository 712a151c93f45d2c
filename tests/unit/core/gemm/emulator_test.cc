#include "core/gemm/emulator.h"

#include <bit>
#include <random>

#include "core/gemm/simulated_library.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/convert.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::gemm {
namespace {

using softfloat::Rounding;

enum class Kind { kNear, kWide, kAnyPattern };

// Values near one, values of many magnitudes, or any bit patterns.
std::vector<uint64_t> Draw(std::mt19937_64& random, FormatId type, size_t size, Kind kind) {
  const auto& format = FormatOf(type);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(format.min_exponent() - format.fraction_bits, -format.min_exponent());
  std::vector<uint64_t> patterns(size);
  for (uint64_t& pattern : patterns) {
    pattern = random() & format.mask();
    if (kind == Kind::kAnyPattern) continue;
    const double value = std::ldexp(normal(random), kind == Kind::kNear ? 0 : exponent(random) / 2);
    pattern = ConvertFloat(format, softfloat::kF64, std::bit_cast<uint64_t>(value), Rounding::kRn);
  }
  return patterns;
}

TEST(EmulatorTest, PanelsAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    HiddenGemm hidden = DrawHidden(random, false);
    if (hidden.problem.k > 700) continue;
    const auto plan = Compile(hidden.desc, hidden.problem.k, hidden.sm);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const bool scalar = !plan->arithmetic.unit.has_value();
    const int64_t rows = 5, columns = 5, k = plan->k;
    for (Kind kind : {Kind::kNear, Kind::kWide, Kind::kAnyPattern}) {
      const Operand a(hidden.desc.a_type, rows, k, Draw(random, hidden.desc.a_type, rows * k, kind), scalar);
      const Operand b(hidden.desc.b_type, columns, k, Draw(random, hidden.desc.b_type, columns * k, kind), scalar);
      std::vector<Output> outputs;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) outputs.push_back({i, j});
      }
      const std::vector<uint64_t> fast = Accumulate(*plan, a, b, outputs, 2);
      for (size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_EQ(fast[i], AccumulateReference(*plan, a, b, outputs[i]))
            << ToText(hidden.desc) << " k=" << k << " sm_" << hidden.sm << " seed " << seed << " output " << i;
      }
    }
  }
}

std::vector<uint64_t> Patterns(FormatId type, const std::vector<double>& values) {
  std::vector<uint64_t> patterns;
  for (double value : values) {
    patterns.push_back(ConvertFloat(FormatOf(type), softfloat::kF64, std::bit_cast<uint64_t>(value), Rounding::kRn));
  }
  return patterns;
}

std::vector<uint8_t> Pack(FormatId type, const std::vector<double>& values) {
  const std::vector<uint64_t> patterns = Patterns(type, values);
  std::vector<uint8_t> bytes(patterns.size() * BytesOf(type));
  for (size_t i = 0; i < patterns.size(); ++i) StoreElement(bytes, type, i, patterns[i]);
  return bytes;
}

double RunOne(const std::string& text, const std::vector<double>& a, int sm = 90) {
  const auto desc = ParseGemmDesc(text);
  EXPECT_TRUE(desc.ok()) << desc.status();
  const std::vector<uint8_t> a_bytes = Pack(desc->a_type, a);
  const std::vector<uint8_t> b_bytes = Pack(desc->b_type, std::vector<double>(a.size(), 1.0));
  GemmOperands operands{1, 1, static_cast<int64_t>(a.size()), a_bytes, b_bytes};
  const auto bytes = Emulate(*desc, sm, operands);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return -1;
  const uint64_t d = LoadElement(*bytes, desc->output_type, 0);
  return std::bit_cast<double>(ConvertFloat(softfloat::kF64, FormatOf(desc->output_type), d, Rounding::kRn));
}

constexpr double kLarge = 0x1p30, kSmall = 1;

TEST(EmulatorTest, WhereTheCutsAreDecidesWhatIsAbsorbed) {
  const std::string head = "gemm/1 types=f32,f32,f32,f32 instruction=fma ";
  const std::vector<double> values{kSmall, 0, kLarge, -kLarge, 0, 0, 0, 0};
  EXPECT_EQ(RunOne(head, values), 0);
  EXPECT_EQ(RunOne(head + "family=chained cuts=contiguous:2x4", values), 1);
  EXPECT_EQ(RunOne(head + "family=chained cuts=contiguous:3x3", values), 0);
  EXPECT_EQ(RunOne(head + "family=gemv cuts=strided:1x2", values), 0);
  // lanes 0 and 1 hold {0, 2, 4, 6} and {1, 3, 5, 7}
  EXPECT_EQ(RunOne(head + "family=gemv cuts=strided:1x2", {kSmall, kLarge, 0, -kLarge, 0, 0, 0, 0}), 1);
}

TEST(EmulatorTest, MergeOrderAndTypes) {
  const std::string head = "gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16 family=split_k ";
  std::vector<double> values(48, 0);
  values[0] = 1, values[16] = 0x1.8p-12, values[32] = -1;
  EXPECT_EQ(RunOne(head + "cuts=contiguous:16x3", values), 0x1.8p-12);
  EXPECT_EQ(RunOne(head + "cuts=contiguous:16x3 merge=f16", values), 0);
  EXPECT_EQ(RunOne(head + "cuts=contiguous:16x3:descending merge=f16", values), 0x1p-11);
  values[1] = 0x1p-13, values[16] = 0;
  EXPECT_EQ(RunOne(head + "cuts=contiguous:16x3", values), 0x1p-13);
  EXPECT_EQ(RunOne(head + "cuts=contiguous:16x3 partial=f16", values), 0);
}

TEST(EmulatorTest, AShortFirstTurnMovesTheGroups) {
  // K = 24: groups of 16 and 8, or of 8 and 16
  std::vector<double> values(24, 0);
  values[0] = 0x1p-14, values[8] = 4096, values[9] = -4096;
  const std::string head = "gemm/1 types=f16,f16,f32,f32 instruction=mma:16 step=16 ";
  EXPECT_EQ(RunOne(head + "short=last", values), 0);
  values[0] = 0, values[16] = 0x1p-14;
  EXPECT_EQ(RunOne(head + "short=last", values), 0x1p-14);
  EXPECT_EQ(RunOne(head + "short=first", values), 0);
}

TEST(EmulatorTest, PromotionAddsAtFullPrecision) {
  std::vector<double> values(64, 0);
  values[0] = 256, values[32] = 0x1p-7;
  const std::string head = "gemm/1 types=e4m3,e4m3,f32,f32 instruction=wgmma:32 ";
  EXPECT_EQ(RunOne(head, values), 256);
  EXPECT_EQ(RunOne(head + "fast_accum=no:32", values), 256 + 0x1p-7);
}

TEST(EmulatorTest, Epilogue) {
  const auto desc = ParseGemmDesc(
      "gemm/1 types=f16,f16,f32,f16 instruction=mma:16 "
      "epilogue=alpha:multiply,beta:fused,bias:add,activation:relu");
  ASSERT_TRUE(desc.ok()) << desc.status();
  const auto a = Pack(FormatId::kF16, {1, 2, 3, 4}), b = Pack(FormatId::kF16, {1, 1, -9, 1});
  const auto c = Pack(FormatId::kF16, {10, 10, 10, 10}), bias = Pack(FormatId::kF16, {0.5, 0});
  GemmOperands operands{2, 2, 2, a, b, c, bias, std::bit_cast<uint32_t>(2.0f), std::bit_cast<uint32_t>(0.25f)};
  const auto d = Emulate(*desc, 80, operands);
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(*d, Pack(FormatId::kF16, {9, 0, 17, 0}));
  operands.bias = {};
  EXPECT_EQ(Emulate(*desc, 80, operands).status().message(), "bias: 0 bytes, 4 are needed (2 elements)");
}

TEST(EmulatorTest, RefusesWhatIsNotEstablished) {
  const auto desc = ParseGemmDesc("gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16");
  ASSERT_TRUE(desc.ok());
  const auto bytes = Pack(FormatId::kF16, {1});
  EXPECT_EQ(Emulate(*desc, 80, {1, 1, 1, bytes, bytes}).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace samebits::gemm
