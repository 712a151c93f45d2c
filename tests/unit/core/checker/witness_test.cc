// Pairs that must get a witness, each checked again by the interpreter, and pairs that must not, with their cause.

#include "core/checker/witness.h"

#include <cstdlib>
#include <map>

#include "gtest/gtest.h"
#include "tests/support/evaluation/evaluation.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

#define LOAD "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd5];\n"
#define LOAD3 LOAD "ld.global.f32 %f3, [%rd4+128];\n"
#define ILOAD "ld.global.u32 %r3, [%rd4];\nld.global.u32 %r4, [%rd5];\n"
#define FSTORE "st.global.f32 [%rd6], %f2;\n"
#define ISTORE "st.global.u32 [%rd6], %r5;\n"

Launch ThreePointers() {
  Launch launch = FrameLaunch();
  launch.args.emplace(3);
  for (Argument& a : *launch.args) a.kind = Argument::Kind::kPointer;
  return launch;
}

uint64_t Number(const std::string& hex) { return std::strtoull(hex.c_str(), nullptr, 16); }

// The memory that a witness describes.
evaluation::Contents ContentsOf(const Witness& witness) {
  evaluation::Contents contents;
  for (const char* name : {"arg0", "arg1", "arg2"}) contents[name].resize(1 << 17);
  for (const WitnessInput& in : witness.inputs)
    for (uint32_t i = 0; i < in.bytes; ++i)
      contents.at(in.buffer).at(in.byte_offset + i) = static_cast<uint8_t>(Number(in.bits) >> (8 * i));
  return contents;
}

uint64_t BytesAt(const evaluation::Outcome& outcome, const Witness& witness) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < witness.bytes; ++i)
    bits |= uint64_t{outcome.buffers.at(witness.buffer).bytes.at(witness.byte_offset + i)} << (8 * i);
  return bits;
}

// Both kernels, interpreted on the witness, must write what it says.
void Recheck(const std::string& a, const std::string& b, const Witness& witness) {
  const evaluation::Contents contents = ContentsOf(witness);
  const auto x = evaluation::InterpretLaunch(a, ThreePointers(), contents);
  const auto y = evaluation::InterpretLaunch(b, ThreePointers(), contents);
  ASSERT_TRUE(x.ok()) << x.status();
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_NE(witness.bits_a, witness.bits_b);
  EXPECT_EQ(BytesAt(*x, witness), Number(witness.bits_a)) << witness.value_a;
  EXPECT_EQ(BytesAt(*y, witness), Number(witness.bits_b)) << witness.value_b;
}

Comparison ExplainBodies(std::string_view a, std::string_view b, const Options& options = {},
                         const Launch& launch = ThreePointers()) {
  const auto c = Explain(Kernel(a), launch, Kernel(b), launch, options);
  EXPECT_TRUE(c.ok()) << c.status();
  return c.ok() ? *c : Comparison();
}

struct Case {
  const char* name;
  const char* a;
  const char* b;
  Cause cause = Cause::kNone;
  size_t most_inputs = 3;
};

TEST(WitnessTest, IsFoundAndHoldsInTheInterpreter) {
  const Case cases[] = {
      {"order of a sum", LOAD3 "add.rn.f32 %f2, %f0, %f1;\nadd.rn.f32 %f2, %f2, %f3;\n" FSTORE,
       LOAD3 "add.rn.f32 %f2, %f1, %f3;\nadd.rn.f32 %f2, %f0, %f2;\n" FSTORE},
      {"fused and not", LOAD "fma.rn.f32 %f2, %f0, %f0, %f1;\n" FSTORE,
       LOAD "mul.rn.f32 %f3, %f0, %f0;\nadd.rn.f32 %f2, %f3, %f1;\n" FSTORE},
      {"subnormals", LOAD "add.rn.ftz.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "add.rn.f32 %f2, %f0, %f1;\n" FSTORE},
      {"rounding", LOAD "add.rz.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "add.rn.f32 %f2, %f0, %f1;\n" FSTORE},
      {"product of subnormals", LOAD "mul.rn.ftz.f32 %f2, %f0, %f1;\n" FSTORE,
       LOAD "mul.rn.f32 %f2, %f0, %f1;\n" FSTORE},
      {"mask", "setp.lt.u32 %p0, %r0, 16;\n@%p0 st.global.u32 [%rd6], 7;\n",
       "setp.lt.u32 %p0, %r0, 17;\n@%p0 st.global.u32 [%rd6], 7;\n"},
      {"mask, zero stored", "setp.lt.u32 %p0, %r0, 16;\n@%p0 st.global.u32 [%rd6], 0;\n",
       "setp.lt.u32 %p0, %r0, 17;\n@%p0 st.global.u32 [%rd6], 0;\n"},
      {"element", "ld.global.f32 %f2, [%rd4];\n" FSTORE, "ld.global.f32 %f2, [%rd4+4];\n" FSTORE},
      {"buffer", "ld.global.f32 %f2, [%rd4];\n" FSTORE, "ld.global.f32 %f2, [%rd5];\n" FSTORE},
      {"constant", "st.global.u32 [%rd6], 1;\n", "st.global.u32 [%rd6], 2;\n"},
      {"address", "st.global.u32 [%rd6], 1;\n", "st.global.u32 [%rd6+4], 1;\n"},
      {"NaN or number", LOAD "min.NaN.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "min.f32 %f2, %f0, %f1;\n" FSTORE},
      {"comparison at equality", LOAD "setp.gt.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, 0f40000000, %p0;\n" FSTORE,
       LOAD "setp.ge.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, 0f40000000, %p0;\n" FSTORE},
      {"comparison with NaN", LOAD "setp.lt.f32 %p0, %f0, %f1;\nselp.u32 %r5, 1, 2, %p0;\n" ISTORE,
       LOAD "setp.ltu.f32 %p0, %f0, %f1;\nselp.u32 %r5, 1, 2, %p0;\n" ISTORE},
      {"store under a condition on data", LOAD "setp.gt.f32 %p0, %f0, %f1;\n@%p0 st.global.f32 [%rd6], %f0;\n",
       LOAD "st.global.f32 [%rd6], %f0;\n"},
      {"integers", ILOAD "add.u32 %r5, %r3, 1;\n" ISTORE, ILOAD "or.b32 %r5, %r3, 1;\n" ISTORE},
      {"signed and unsigned", ILOAD "max.u32 %r5, %r3, %r4;\n" ISTORE, ILOAD "max.s32 %r5, %r3, %r4;\n" ISTORE},
      {"shifts", ILOAD "shr.u32 %r5, %r3, 3;\n" ISTORE, ILOAD "shr.s32 %r5, %r3, 3;\n" ISTORE},
      {"conversion", LOAD "cvt.rzi.s32.f32 %r5, %f0;\n" ISTORE, LOAD "cvt.rni.s32.f32 %r5, %f0;\n" ISTORE},
      {"data-dependent address",
       ILOAD "and.b32 %r3, %r3, 3;\nmul.wide.u32 %rd8, %r3, 4;\nadd.s64 %rd8, %rd1, %rd8;\nld.global.u32 %r5, "
             "[%rd8];\n" ISTORE,
       ILOAD "and.b32 %r3, %r3, 3;\nmul.wide.u32 %rd8, %r3, 4;\nadd.s64 %rd8, %rd1, %rd8;\nld.global.u32 %r5, "
             "[%rd8+4];\n" ISTORE},
      {"sign of zero", LOAD "add.rn.f32 %f2, %f0, 0f00000000;\n" FSTORE, LOAD "mov.f32 %f2, %f0;\n" FSTORE,
       Cause::kSignedZero},
      {"special results of approximate functions are exact", LOAD "rcp.approx.f32 %f2, %f0;\n" FSTORE,
       LOAD "rcp.approx.f32 %f2, %f1;\n" FSTORE},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Comparison found = ExplainBodies(c.a, c.b);
    EXPECT_EQ(found.verdict, Verdict::kDifferent);
    ASSERT_TRUE(found.difference && found.difference->witness)
        << (found.difference ? found.difference->cause_text : "no difference");
    EXPECT_EQ(CauseName(found.difference->cause), CauseName(c.cause));
    EXPECT_LE(found.difference->witness->inputs.size(), c.most_inputs);
    Recheck(Kernel(c.a), Kernel(c.b), *found.difference->witness);
  }
}

TEST(WitnessTest, WithoutOneTheCauseIsNamed) {
  const Case cases[] = {
      {"NaN patterns", LOAD "mul.rn.f32 %f2, %f0, 0f3F800000;\n" FSTORE, LOAD "mov.f32 %f2, %f0;\n" FSTORE,
       Cause::kNanPayload},
      {"approximate reciprocal", LOAD "rcp.approx.f32 %f2, %f0;\n" FSTORE, LOAD "rcp.rn.f32 %f2, %f0;\n" FSTORE,
       Cause::kApproximateFunction},
      {"contraction", LOAD3 "mul.f32 %f2, %f0, %f1;\nadd.f32 %f2, %f2, %f3;\n" FSTORE,
       LOAD3 "mul.rn.f32 %f2, %f0, %f1;\nadd.rn.f32 %f2, %f2, %f3;\n" FSTORE, Cause::kContraction},
      {"equal, but not seen to be", ILOAD "and.b32 %r3, %r3, 1;\npopc.b32 %r5, %r3;\n" ISTORE,
       ILOAD "and.b32 %r5, %r3, 1;\n" ISTORE, Cause::kNone},
      {"approximate and full division", LOAD "div.full.f32 %f2, %f0, 0f40400000;\n" FSTORE,
       LOAD "div.approx.f32 %f2, %f0, 0f40400000;\n" FSTORE, Cause::kApproximateFunction},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Options options;
    options.limits.max_witness_operations = 400'000;
    const Comparison found = ExplainBodies(c.a, c.b, options);
    EXPECT_EQ(found.verdict, Verdict::kDistinct);
    ASSERT_TRUE(found.difference.has_value());
    EXPECT_FALSE(found.difference->witness.has_value())
        << found.difference->witness->value_a << " " << found.difference->witness->value_b;
    EXPECT_EQ(CauseName(found.difference->cause), CauseName(c.cause)) << found.difference->cause_text;
    EXPECT_GT(found.difference->inputs_tried, 0u);
    EXPECT_FALSE(found.difference->cause_text.empty());
  }
}

// Far apart by more than the error that the ISA allows: roots of a sum whose terms cancel in one order only.
TEST(WitnessTest, ApproximateResultsCountWhereTheirBoundsPart) {
  const std::string root = "abs.f32 %f2, %f2;\nadd.rn.f32 %f2, %f2, 0f3F800000;\nsqrt.approx.f32 %f2, %f2;\n" FSTORE;
  const std::string a = std::string(LOAD3 "add.rn.f32 %f2, %f0, %f1;\nadd.rn.f32 %f2, %f2, %f3;\n") + root;
  const std::string b = std::string(LOAD3 "add.rn.f32 %f2, %f1, %f3;\nadd.rn.f32 %f2, %f0, %f2;\n") + root;
  const Comparison found = ExplainBodies(a, b);
  ASSERT_EQ(found.verdict, Verdict::kDifferent);
  Recheck(Kernel(a), Kernel(b), *found.difference->witness);
}

TEST(WitnessTest, SignsOfZeroCountOnlyWhereAskedFor) {
  Options options;
  options.ignore_signed_zero = true;
  options.limits.max_witness_operations = 400'000;
  const char* zero = LOAD "add.rn.f32 %f2, %f0, 0f00000000;\n" FSTORE;
  const Comparison nan = ExplainBodies(zero, LOAD "mov.f32 %f2, %f0;\n" FSTORE, options);
  EXPECT_EQ(nan.verdict, Verdict::kDistinct);
  EXPECT_EQ(CauseName(nan.difference->cause), "NAN_PAYLOAD");
  const Comparison other = ExplainBodies(zero, LOAD "add.rn.f32 %f2, %f0, 0f3F800000;\n" FSTORE, options);
  ASSERT_EQ(other.verdict, Verdict::kDifferent);
  EXPECT_NE(Number(other.difference->witness->bits_a) << 33, Number(other.difference->witness->bits_b) << 33);
}

TEST(WitnessTest, OpenGridsHaveTheirFirstBlock) {
  Launch launch = ThreePointers();
  launch.grid.reset();
  const char *a = LOAD "add.rn.f32 %f2, %f0, %f1;\n" FSTORE, *b = LOAD "sub.rn.f32 %f2, %f0, %f1;\n" FSTORE;
  const Comparison found = ExplainBodies(a, b, {}, launch);
  ASSERT_EQ(found.verdict, Verdict::kDifferent);
  Recheck(Kernel(a), Kernel(b), *found.difference->witness);
}

TEST(WitnessTest, ValuesOfOpenArguments) {
  const auto text = [](const char* op) {
    return std::string(
               ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 o, .param .f32 s)\n{\n"
               ".reg .b64 %rd<4>;\n.reg .f32 %f<4>;\nld.param.u64 %rd0, [o];\nld.param.f32 %f0, [s];\n") +
           op + "st.global.f32 [%rd0], %f1;\nret;\n}\n";
  };
  Launch launch = FrameLaunch(1);
  const auto c = Explain(text("add.rn.f32 %f1, %f0, %f0;\n"), launch, text("mul.rn.f32 %f1, %f0, %f0;\n"), launch);
  ASSERT_TRUE(c.ok()) << c.status();
  ASSERT_EQ(c->verdict, Verdict::kDifferent);
  ASSERT_EQ(c->difference->witness->inputs.size(), 1u);
  EXPECT_EQ(c->difference->witness->inputs[0].buffer, "");
  EXPECT_EQ(c->difference->witness->inputs[0].byte_offset, 1u);
}

TEST(WitnessTest, IsBoundedAndDeterministic) {
  const char* a = LOAD3 "add.rn.f32 %f2, %f0, %f1;\nadd.rn.f32 %f2, %f2, %f3;\n" FSTORE;
  const char* b = LOAD3 "add.rn.f32 %f2, %f1, %f3;\nadd.rn.f32 %f2, %f0, %f2;\n" FSTORE;
  Options options;
  options.limits.max_witness_operations = 1;
  EXPECT_EQ(ExplainBodies(a, b, options).verdict, Verdict::kDistinct);
  options.limits = {};
  options.limits.max_witness_time = absl::ZeroDuration();
  EXPECT_EQ(ExplainBodies(a, b, options).verdict, Verdict::kDistinct);
  const Comparison first = ExplainBodies(a, b), second = ExplainBodies(a, b);
  ASSERT_TRUE(first.difference->witness && second.difference->witness);
  EXPECT_EQ(first.difference->witness->bits_a, second.difference->witness->bits_a);
  ASSERT_EQ(first.difference->witness->inputs.size(), second.difference->witness->inputs.size());
  for (size_t i = 0; i < first.difference->witness->inputs.size(); ++i)
    EXPECT_EQ(first.difference->witness->inputs[i].bits, second.difference->witness->inputs[i].bits);
}

}  // namespace
}  // namespace samebits::checker
