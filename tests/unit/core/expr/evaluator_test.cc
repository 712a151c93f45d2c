#include "core/expr/evaluator.h"

#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "core/expr/operation.h"
#include "gtest/gtest.h"

namespace samebits::expr {
namespace {

class TestMemory : public Memory {
 public:
  bool Read(BufferId buffer, int64_t offset, int bytes, uint8_t* out) const override {
    const auto it = buffers.find(buffer);
    if (it == buffers.end() || offset < 0 || offset + bytes > static_cast<int64_t>(it->second.size())) return false;
    std::memcpy(out, it->second.data() + offset, static_cast<size_t>(bytes));
    return true;
  }
  std::map<BufferId, std::vector<uint8_t>> buffers;
};

uint64_t Bits(float v) { return std::bit_cast<uint32_t>(v); }

class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() : nodes_(1u << 22) {
    x_ = nodes_.AddBuffer("x", {1, 2});
    memory_.buffers[x_].resize(4096);
    for (size_t i = 0; i < 4096; ++i) memory_.buffers[x_][i] = static_cast<uint8_t>(i * 37 + 11);
  }
  void PutFloat(int64_t offset, float v) { std::memcpy(&memory_.buffers[x_][static_cast<size_t>(offset)], &v, 4); }
  Scalar Leaf(int64_t offset) {
    Scalar s;
    s.node = nodes_.Leaf(x_);
    s.slots = 1;
    s.anchor[0] = {offset, 0, x_, 0};
    return s;
  }
  Scalar Const(uint64_t value, int width) {
    Scalar s;
    s.node = nodes_.Const(value, width);
    return s;
  }
  Scalar Undef() { return Scalar(); }
  Scalar Make(Fn fn, uint64_t attr, int width, const std::vector<Scalar>& children) {
    Scalar s;
    EXPECT_TRUE(nodes_.Make(fn, attr, width, 0, children.data(), static_cast<int>(children.size()), &s));
    return s;
  }
  Scalar Add(const Scalar& a, const Scalar& b) {
    Attr attr;
    attr.to = Format::kF32;
    attr.round = Round::kRn;
    return Make(Fn::kFAdd, attr.Encode(), 32, {a, b});
  }
  Evaluated Value(const Scalar& s, int width) {
    Evaluator evaluator(&nodes_, &memory_);
    const auto r = evaluator.Evaluate(s, width);
    EXPECT_TRUE(r.ok()) << r.status();
    return r.ok() ? *r : Evaluated();
  }
  absl::StatusCode Error(const Scalar& s, int width, EvaluatorOptions options = {}) {
    Evaluator evaluator(&nodes_, &memory_, options);
    return evaluator.Evaluate(s, width).status().code();
  }

  NodeManager nodes_;
  TestMemory memory_;
  BufferId x_;
};

TEST_F(EvaluatorTest, LeavesReadTheWidthThatIsWanted) {
  const auto& bytes = memory_.buffers[x_];
  EXPECT_EQ(static_cast<uint64_t>(Value(Leaf(3), 8).bits), bytes[3]);
  EXPECT_EQ(static_cast<uint64_t>(Value(Leaf(5), 16).bits), bytes[5] | bytes[6] << 8);
  const uint128 wide = Value(Leaf(16), 128).bits;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(static_cast<uint8_t>(wide >> (8 * i)), bytes[16 + i]);
  EXPECT_EQ(Error(Leaf(4094), 32), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Error(Leaf(-1), 8), absl::StatusCode::kOutOfRange);
}

TEST_F(EvaluatorTest, AnchorsShiftWholeTrees) {
  PutFloat(0, 1.5f);
  PutFloat(4, 2.0f);
  PutFloat(8, 40.0f);
  Scalar sum = Add(Leaf(0), Leaf(4));
  EXPECT_EQ(static_cast<uint64_t>(Value(sum, 32).bits), Bits(3.5f));
  sum.anchor[0].offset += 4;
  EXPECT_EQ(static_cast<uint64_t>(Value(sum, 32).bits), Bits(42.0f));
}

TEST_F(EvaluatorTest, IntegersAreTheirAnchors) {
  Scalar s;
  s.node = nodes_.Int(32);
  s.slots = 1;
  s.anchor[0] = {-5, 0, kIntBuffer, 0};
  EXPECT_EQ(static_cast<uint64_t>(Value(s, 32).bits), 0xfffffffbu);
}

TEST_F(EvaluatorTest, ParametersNeedValues) {
  Scalar s;
  s.node = nodes_.Param(2, 32);
  EXPECT_EQ(Error(s, 32), absl::StatusCode::kUnimplemented);
  EvaluatorOptions options;
  options.params = {std::nullopt, std::nullopt, 0x1234};
  Evaluator evaluator(&nodes_, &memory_, options);
  EXPECT_EQ(static_cast<uint64_t>(evaluator.Evaluate(s, 32)->bits), 0x1234u);
}

TEST_F(EvaluatorTest, SelectTakesOneArm) {
  const Scalar outside = Leaf(1 << 20), yes = Const(1, 1), no = Const(0, 1);
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kSelect, 0, 32, {yes, Const(7, 32), outside}), 32).bits), 7u);
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kSelect, 0, 32, {no, Undef(), Const(9, 32)}), 32).bits), 9u);
  EXPECT_FALSE(Value(Make(Fn::kSelect, 0, 32, {no, Undef(), Const(9, 32)}), 32).undefined);
  EXPECT_TRUE(Value(Make(Fn::kSelect, 0, 32, {Undef(), Const(8, 32), Const(9, 32)}), 32).undefined);
}

TEST_F(EvaluatorTest, UndefinedAndInexactSpread) {
  EXPECT_TRUE(Value(Add(Undef(), Const(0, 32)), 32).undefined);
  Attr attr;
  attr.to = Format::kF32;
  attr.flags = Attr::kApprox;
  const Scalar ex2 = Make(Fn::kEx2, attr.Encode(), 32, {Const(Bits(0.3f), 32)});
  const Evaluated sum = Value(Add(ex2, Const(0, 32)), 32);
  EXPECT_TRUE(sum.inexact);
  EXPECT_FALSE(sum.undefined);
  EXPECT_FALSE(Value(Make(Fn::kEx2, attr.Encode(), 32, {Const(0, 32)}), 32).inexact);
}

TEST_F(EvaluatorTest, SeveralMemoriesEachTakeTheirArm) {
  TestMemory other = memory_;
  PutFloat(0, 1.5f);
  PutFloat(4, 2.0f);
  memory_.buffers[x_][100] = 1;
  other.buffers[x_][100] = 0;
  other.buffers[x_].resize(200);
  // Its second arm lies outside the other memory's buffer, which counts only where that arm is taken.
  const Scalar s = Make(Fn::kSelect, 0, 32, {Make(Fn::kExtract, 0, 1, {Leaf(100)}), Add(Leaf(0), Leaf(4)), Leaf(8)});
  const Scalar far = Make(Fn::kSelect, 0, 32, {Make(Fn::kExtract, 0, 1, {Leaf(100)}), Leaf(1000), Leaf(8)});
  const Scalar near = Make(Fn::kSelect, 0, 32, {Make(Fn::kExtract, 0, 1, {Leaf(100)}), Leaf(8), Leaf(1000)});
  Evaluator evaluator(&nodes_, std::vector<const Memory*>{&memory_, &other});
  std::vector<Evaluated> v(2);
  ASSERT_TRUE(evaluator.Evaluate(s, 32, v).ok());
  EXPECT_EQ(static_cast<uint64_t>(v[0].bits), Bits(3.5f));
  uint32_t third;
  std::memcpy(&third, &other.buffers[x_][8], 4);
  EXPECT_EQ(static_cast<uint64_t>(v[1].bits), third);
  EXPECT_TRUE(evaluator.Evaluate(far, 32, v).ok());
  EXPECT_EQ(evaluator.Evaluate(near, 32, v).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(EvaluatorTest, AnOracleAnswersForApproximateFunctions) {
  Attr attr;
  attr.to = Format::kF32;
  attr.flags = Attr::kApprox;
  PutFloat(0, 3.0f);
  PutFloat(4, -1.0f / 0.0f);
  const auto ex2 = [&](const Scalar& x) { return Make(Fn::kEx2, attr.Encode(), 32, {x}); };
  std::vector<uint64_t> asked;
  EvaluatorOptions options;
  options.oracle = [&](Fn fn, uint64_t word, std::span<const uint128> x) -> std::optional<uint64_t> {
    EXPECT_EQ(fn, Fn::kEx2);
    EXPECT_EQ(word, attr.Encode());
    asked.push_back(static_cast<uint64_t>(x[0]));
    if (x[0] == Bits(3.0f)) return Bits(8.5f);
    return std::nullopt;
  };
  Evaluator evaluator(&nodes_, &memory_, options);
  const Evaluated once = *evaluator.Evaluate(ex2(Leaf(0)), 32);
  EXPECT_EQ(static_cast<uint64_t>(once.bits), Bits(8.5f));
  EXPECT_FALSE(once.inexact || once.unanswered);
  EXPECT_EQ(asked, std::vector<uint64_t>{Bits(3.0f)});
  // What the ISA fixes is not asked; an operand without an answer is not asked about.
  EXPECT_EQ(static_cast<uint64_t>(evaluator.Evaluate(ex2(Leaf(4)), 32)->bits), 0u);
  EXPECT_EQ(asked.size(), 1u);
  const Evaluated thrice = *evaluator.Evaluate(ex2(Add(ex2(ex2(Leaf(0))), Leaf(0))), 32);
  EXPECT_TRUE(thrice.unanswered);
  EXPECT_EQ(asked, (std::vector<uint64_t>{Bits(3.0f), Bits(8.5f)}));
  const Scalar masked = Make(Fn::kSelect, 0, 32, {Const(0, 1), ex2(ex2(Leaf(0))), Leaf(0)});
  EXPECT_FALSE(evaluator.Evaluate(masked, 32)->unanswered);
}

TEST_F(EvaluatorTest, BitsMove) {
  const Scalar joined =
      Make(Fn::kConcat, 16 | 8 << 8 | 8 << 16, 32, {Const(0x1234, 16), Const(0x56, 8), Const(0x78, 8)});
  EXPECT_EQ(static_cast<uint64_t>(Value(joined, 32).bits), 0x78561234u);
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kExtract, 12, 8, {joined}), 8).bits), 0x61u);
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kSignExtend, 8, 32, {Const(0x80, 8)}), 32).bits), 0xffffff80u);
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kSignFlip, 0, 16, {Const(0x3c00, 16)}), 16).bits), 0xbc00u);
  // Bits 3 to 5 of one byte of memory, and bits 4 to 15 of two.
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kExtract, 3 | uint64_t{8} << 32, 3, {Leaf(9)}), 3).bits),
            static_cast<uint64_t>(memory_.buffers[x_][9] >> 3 & 7));
  const auto& bytes = memory_.buffers[x_];
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kExtract, 4, 12, {Leaf(9)}), 12).bits),
            static_cast<uint64_t>((bytes[9] | bytes[10] << 8) >> 4 & 0xfff));
}

TEST_F(EvaluatorTest, GatherReadsAtItsIndex) {
  const Digest128& key = nodes_.buffer_key(x_);
  const Scalar index = Make(Fn::kConcat, 32 | 32 << 8, 64, {Const(100, 32), Const(0, 32)});
  const Scalar gathered = Make(Fn::kGather, key.hi ^ Scramble(key.lo), 16, {index});
  EXPECT_EQ(Value(gathered, 16).bits, Value(Leaf(100), 16).bits);
}

TEST_F(EvaluatorTest, MatrixStepSumsItsGroup) {
  // f16 inputs, f32 accumulator: sm_80's unit of eight products.
  const uint64_t attr = uint64_t{0} | 24 << 8 | static_cast<uint64_t>(static_cast<uint16_t>(-132)) << 16 |
                        static_cast<uint64_t>(Format::kF16) << 32 | static_cast<uint64_t>(Format::kF16) << 40 |
                        uint64_t{8} << 48;
  const std::vector<Scalar> ones(8, Const(0x3c00, 16)), twos(8, Const(0x4000, 16));
  const Scalar a = Make(Fn::kVector, 16, 0, ones), b = Make(Fn::kVector, 16, 0, twos);
  const Scalar step = Make(Fn::kMatrixStep, attr, 32, {Const(Bits(0.5f), 32), a, b});
  EXPECT_EQ(static_cast<uint64_t>(Value(step, 32).bits), Bits(16.5f));
  EXPECT_EQ(Error(a, 16), absl::StatusCode::kUnimplemented);
  // The same vectors as bf16: 2^-7 and 2.
  const uint64_t formats = static_cast<uint64_t>(Format::kF16) << 32 | static_cast<uint64_t>(Format::kF16) << 40;
  const uint64_t brains = static_cast<uint64_t>(Format::kBf16) << 32 | static_cast<uint64_t>(Format::kBf16) << 40;
  const Scalar next = Make(Fn::kMatrixStep, (attr ^ formats) | brains, 32, {step, a, b});
  EXPECT_EQ(static_cast<uint64_t>(Value(next, 32).bits), Bits(16.625f));
}

TEST_F(EvaluatorTest, ChainsOfAnyDepth) {
  PutFloat(0, 1.0f);
  Scalar sum = Leaf(0);
  constexpr int kDepth = 200'000;
  for (int i = 1; i < kDepth; ++i) sum = Add(sum, Leaf(0));
  EXPECT_EQ(static_cast<uint64_t>(Value(sum, 32).bits), Bits(static_cast<float>(kDepth)));
  EvaluatorOptions options;
  options.max_values = 1000;
  EXPECT_EQ(Error(sum, 32, options), absl::StatusCode::kResourceExhausted);
}

TEST_F(EvaluatorTest, SharedSubtreesAreEvaluatedOnce) {
  PutFloat(0, 1.0f);
  Scalar sum = Leaf(0);
  for (int i = 0; i < 100; ++i) sum = Add(sum, sum);  // 2^100 leaves
  EXPECT_EQ(static_cast<uint64_t>(Value(sum, 32).bits), Bits(0x1p100f));
}

TEST_F(EvaluatorTest, WidthsAreChecked) {
  EXPECT_EQ(Error(Add(Const(0, 32), Const(0, 16)), 32), absl::StatusCode::kInternal);
  EXPECT_EQ(Error(Const(0, 32), 16), absl::StatusCode::kInternal);
}

TEST_F(EvaluatorTest, AnErrorLeavesTheEvaluatorUsable) {
  Evaluator evaluator(&nodes_, &memory_);
  EXPECT_FALSE(evaluator.Evaluate(Add(Leaf(0), Leaf(1 << 20)), 32).ok());
  EXPECT_TRUE(evaluator.Evaluate(Add(Leaf(0), Leaf(4)), 32).ok());
}

TEST_F(EvaluatorTest, DescribedInstructions) {
  nodes_.DescribeIsa(77, {"popc.b32", {32}});
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kIsa, 77, 32, {Const(0xf0f, 32)}), 32).bits), 8u);
  EXPECT_EQ(Error(Make(Fn::kIsa, 78, 32, {Const(0xf0f, 32)}), 32), absl::StatusCode::kUnimplemented);
  nodes_.DescribeIsa(79, {"", {}, Fn::kIMin, 0});
  EXPECT_EQ(static_cast<uint64_t>(Value(Make(Fn::kIsa, 79, 32, {Const(9, 32), Const(4, 32)}), 32).bits), 4u);
}

struct SpelledCase {
  const char* spelling;
  std::vector<uint128> operands;
  uint64_t result;
};

TEST(SpelledTest, FollowsTheIsa) {
  const SpelledCase cases[] = {
      {"popc.b64", {0xff00ff00ff00ff00}, 32},
      {"clz.b32", {1}, 31},
      {"clz.b32", {0}, 32},
      {"clz.b64", {1}, 63},
      {"brev.b32", {1}, 0x80000000},
      {"bfind.u32", {0x00010000}, 16},
      {"bfind.u32", {0}, 0xffffffff},
      {"bfind.s32", {0xffff0000}, 15},
      {"bfind.s32", {0xffffffff}, 0xffffffff},
      {"shf.l.wrap.b32", {0x80000001, 0x12345678, 36}, 0x23456788},
      {"shf.r.clamp.b32", {0x80000001, 0x12345678, 40}, 0x12345678},
      {"shf.l.clamp.b32", {0x80000001, 0x12345678, 40}, 0x80000001},
      {"bfe.u32", {0xabcdef01, 8, 8}, 0xef},
      {"bfe.s32", {0xabcdef01, 8, 8}, 0xffffffef},
      {"bfe.s32", {0x80000000, 40, 4}, 0xffffffff},
      {"bfe.u32", {0x80000000, 40, 4}, 0},
      {"bfe.s64", {0x8000000000000000, 60, 9}, 0xfffffffffffffff8},
      {"bfi.b32", {0xff, 0, 4, 4}, 0xf0},
      {"bfi.b32", {0xff, 0x1, 28, 8}, 0xf0000001},
      {"prmt.b32", {0x33221100, 0x77665544, 0x9180}, 0x00110000},
      {"prmt.b32", {0x80221100, 0x77665544, 0xbbbb}, 0xffffffff},
      {"prmt.b32.f4e", {0x33221100, 0x77665544, 2}, 0x55443322},
      {"prmt.b32.b4e", {0x33221100, 0x77665544, 1}, 0x66770011},
      {"prmt.b32.rc16", {0x33221100, 0x77665544, 1}, 0x33223322},
      {"cvt.sat.s8.s32", {300}, 127},
      {"cvt.sat.u8.s32", {0xffffffff}, 0},
      {"min.xorsign.abs.f32", {Bits(-3.0f), Bits(2.0f)}, Bits(-2.0f)},
      {"max.xorsign.abs.f16x2", {0xbc004000, 0xc0003c00}, 0x40004000},
  };
  for (const SpelledCase& c : cases) {
    const Computed r = ComputeSpelled(c.spelling, c.operands);
    EXPECT_TRUE(r.known) << c.spelling;
    EXPECT_EQ(static_cast<uint64_t>(r.bits), c.result)
        << c.spelling << std::hex << " gives " << static_cast<uint64_t>(r.bits);
  }
  EXPECT_FALSE(ComputeSpelled("sad.u32", std::vector<uint128>{1, 2, 3}).known);
  EXPECT_FALSE(ComputeSpelled("", {}).known);
}

struct IntegerCase {
  Fn fn;
  bool is_signed;
  int width;
  uint64_t a, b, result;
};

TEST(OperationTest, Integers) {
  const IntegerCase cases[] = {
      {Fn::kIAdd, false, 16, 0xffff, 2, 1},
      {Fn::kIMul, false, 32, 0xffffffff, 0xffffffff, 1},
      {Fn::kIMulHi, false, 32, 0xffffffff, 0xffffffff, 0xfffffffe},
      {Fn::kIMulHi, true, 32, 0xffffffff, 0xffffffff, 0},
      {Fn::kIMulHi, false, 64, ~0ull, ~0ull, ~1ull},
      {Fn::kIMulHi, true, 64, 1ull << 63, 2, ~0ull},
      {Fn::kIDiv, false, 32, 7, 0, 0xffffffff},
      {Fn::kIRem, false, 32, 7, 0, 7},
      {Fn::kIDiv, true, 32, 0x80000000, 0xffffffff, 0x80000000},
      {Fn::kIRem, true, 32, 0x80000000, 0xffffffff, 0},
      {Fn::kIDiv, true, 32, 0xfffffff9, 2, 0xfffffffd},
      {Fn::kIRem, true, 32, 0xfffffff9, 2, 0xffffffff},
      {Fn::kIMin, true, 32, 0xffffffff, 1, 0xffffffff},
      {Fn::kIMin, false, 32, 0xffffffff, 1, 1},
      {Fn::kIMax, true, 16, 0x8000, 1, 1},
      {Fn::kShl, false, 32, 1, 32, 0},
      {Fn::kShl, false, 64, 1, 63, 1ull << 63},
      {Fn::kShr, false, 32, 0x80000000, 31, 1},
      {Fn::kShr, false, 16, 0x8000, 16, 0},
      {Fn::kSar, false, 32, 0x80000000, 99, 0xffffffff},
      {Fn::kSar, false, 64, 1ull << 63, 62, ~1ull},
  };
  for (const IntegerCase& c : cases) {
    Attr attr;
    if (c.is_signed) attr.flags = Attr::kSigned;
    const uint128 operands[2] = {c.a, c.b};
    const Computed r = Compute(c.fn, attr.Encode(), c.width, operands);
    EXPECT_TRUE(r.known);
    EXPECT_EQ(static_cast<uint64_t>(r.bits), c.result) << FnName(c.fn) << " of " << c.width << " bits";
  }
}

TEST(OperationTest, IntegerComparisonsUseTheirWidth) {
  const auto compare = [](Compare op, bool is_signed, Format f, uint64_t a, uint64_t b) {
    Attr attr;
    attr.compare = op;
    attr.from = f;
    if (is_signed) attr.flags = Attr::kSigned;
    const uint128 operands[2] = {a, b};
    return static_cast<int>(Compute(Fn::kICompare, attr.Encode(), 1, operands).bits);
  };
  EXPECT_EQ(compare(Compare::kLt, true, Format::kB16, 0x8000, 1), 1);
  EXPECT_EQ(compare(Compare::kLt, true, Format::kB32, 0x8000, 1), 0);
  EXPECT_EQ(compare(Compare::kLt, false, Format::kB16, 0x8000, 1), 0);
  EXPECT_EQ(compare(Compare::kGe, false, Format::kB64, ~0ull, 1), 1);
  EXPECT_EQ(compare(Compare::kNe, false, Format::kB8, 3, 3), 0);
}

}  // namespace
}  // namespace samebits::expr
