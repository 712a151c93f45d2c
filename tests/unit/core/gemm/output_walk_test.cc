// The arithmetic that devices run, here on the host, against the emulator.

#include "core/gemm/output_walk.h"

#include <gtest/gtest.h>

#include <random>

#include "core/gemm/emulator.h"
#include "core/gemm/flat_plan.h"
#include "core/gemm/recovery.h"
#include "core/gemm/simulated_library.h"

namespace samebits::gemm {
namespace {

template <typename Walk>
std::vector<uint64_t> RunWalk(const Walk& walk, const FlatPlan& plan, const Operand& a, const Operand& b) {
  using Word = typename Walk::Word;
  const auto words = [&](const Operand& operand) {
    std::vector<Word> out;
    for (int64_t i = 0; i < operand.rows() * operand.k(); ++i)
      out.push_back(static_cast<Word>(WalkWord(plan.arithmetic, operand.type(), operand.patterns(0)[i])));
    return out;
  };
  const std::vector<Word> x = words(a), y = words(b);
  std::vector<uint64_t> values;
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t j = 0; j < b.rows(); ++j)
      values.push_back(WalkOutput(walk, plan.view(), WalkRow<Word>{&x[i * a.k()], 1}, WalkRow<Word>{&y[j * b.k()], 1}));
  }
  return values;
}

std::vector<uint64_t> Walked(const FlatPlan& plan, const Operand& a, const Operand& b) {
  switch (plan.arithmetic) {
    case WalkArithmetic::kMatrix:
      return RunWalk(MatrixWalk{plan.rule}, plan, a, b);
    case WalkArithmetic::kF32:
      return RunWalk(F32Walk{plan.fused}, plan, a, b);
    case WalkArithmetic::kF64:
      break;
  }
  return RunWalk(F64Walk{plan.fused}, plan, a, b);
}

// Any bit patterns: infinities, NaNs, subnormals and numbers of all magnitudes among them; few of them in odd draws.
std::vector<uint64_t> AnyPatterns(FormatId type, int64_t count, uint64_t seed, int draw) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> patterns = DrawPatterns(type, count, random(), draw);
  for (uint64_t& pattern : patterns)
    if (draw % 2 == 0 || random() % 64 == 0) pattern = random() & FormatOf(type).mask();
  return patterns;
}

// Draws with numbers only, and with any patterns.
TEST(OutputWalk, GivesTheEmulatorsBits) {
  std::mt19937_64 random(20261130);
  int64_t compared = 0, specials = 0;
  for (int i = 0; i < 300; ++i) {
    HiddenGemm hidden = DrawHidden(random, false);
    while (hidden.problem.k > 3000) hidden = DrawHidden(random, false);
    const GemmProblem& p = hidden.problem;
    const auto plan = Compile(hidden.desc, p.k, hidden.sm);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto flat = Flatten(*plan, p.a_type, p.b_type);
    ASSERT_TRUE(flat.ok()) << flat.status();
    const bool scalar = !plan->arithmetic.unit.has_value();
    const std::vector<Output> outputs = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    for (int draw = 0; draw < 6; ++draw) {
      const auto patterns = [&](FormatId type) {
        return draw < 3 ? DrawPatterns(type, 2 * p.k, random(), draw) : AnyPatterns(type, 2 * p.k, random(), draw);
      };
      const Operand a(p.a_type, 2, p.k, patterns(p.a_type), scalar), b(p.b_type, 2, p.k, patterns(p.b_type), scalar);
      std::vector<uint64_t> expected = Accumulate(*plan, a, b, outputs), got = Walked(*flat, a, b);
      for (auto* values : {&expected, &got}) {
        for (uint64_t& value : *values)
          if (flat->arithmetic == WalkArithmetic::kF64 && IsNan(softfloat::kF64, value)) value = softfloat::kF64.canonical_nan;
      }
      ASSERT_EQ(got, expected) << ToText(hidden.desc) << " sm " << hidden.sm << " k " << p.k << " draw " << draw;
      compared += 4;
      for (uint64_t value : expected) specials += IsNan(FormatOf(plan->accumulate_type), value);
    }
  }
  EXPECT_GT(specials, compared / 20);
  EXPECT_LT(specials, compared / 2);
}

TEST(OutputWalk, RoundsOutputsAsTheEmulator) {
  std::mt19937_64 random(7);
  for (FormatId type : {FormatId::kF16, FormatId::kBf16, FormatId::kF32}) {
    GemmDesc desc;
    desc.output_type = type;
    const auto plan = Compile(desc, 1, 90);
    const auto flat = Flatten(*plan, desc.a_type, desc.b_type);
    for (int i = 0; i < 200000; ++i) {
      // many magnitudes near the narrow types' limits
      const uint64_t wide = i % 4 == 0 ? random() & 0xffffffff : (random() & 0x80ffffff) | (90 + random() % 60) << 23;
      const std::vector<Output> outputs = {{0, 0}};
      const std::vector<uint64_t> accumulated = {IsNan(softfloat::kF32, wide) ? softfloat::kF32.canonical_nan : wide};
      const auto expected = Finish(desc, accumulated, outputs, {});
      ASSERT_EQ(MatrixWalk{flat->rule}.Output(flat->output_type, static_cast<unsigned>(accumulated[0])), (*expected)[0])
          << std::hex << wide;
    }
  }
}

}  // namespace
}  // namespace samebits::gemm
