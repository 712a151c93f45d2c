// What a signature depends on, and what it does not.

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/checker/checker.h"
#include "core/isa/ptx/rename.h"
#include "gtest/gtest.h"
#include "tests/support/pairs/golden.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

// The test vectors of core/checker/FORMAT.md: bodies in the frame of tests/support/pairs, one block of 32 lanes.
struct Vector {
  const char* name;
  const char* body;
  const char* digest;
};

std::vector<Vector> Vectors() {
  return {
      {"constant", "st.global.u32 [%rd6], 7;\n", "fb5e88c8bd65ad546777d332831619eb"},
      {"copy", "ld.global.f32 %f0, [%rd4];\nst.global.f32 [%rd6], %f0;\n", "ab5a80153082be41853e36c48c2ee217"},
      {"lane", "st.global.u32 [%rd6], %r0;\n", "f3eb3d8b70165e620fe76d9c191e1868"},
      {"sum", "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd5];\nadd.rn.f32 %f2, %f0, %f1;\nst.global.f32 [%rd6], %f2;\n", "7bf50872fd64c62deee0e72e0c33c531"},
      {"maximum", "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd5];\nmax.f32 %f2, %f0, %f1;\nmax.f32 %f2, %f2, 0f00000000;\n"
                  "st.global.f32 [%rd6], %f2;\n", "037b321fa34dc4be5c5e8249a225cc4c"},
      {"linear form", "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd4+64];\nfma.rn.f32 %f2, %f0, %f0, %f1;\n"
                      "st.global.f32 [%rd6], %f2;\n", "81f3ebcd885a25d418a2203d25002ca0"},
  };
}

TEST(SignatureTest, TestVectors) {
  ASSERT_EQ(SignatureVersion(), 5) << "a new version needs new vectors, here and in FORMAT.md";
  for (const Vector& v : Vectors()) EXPECT_EQ(SignatureOf(v.body, FrameLaunch()).digest, v.digest) << v.name;
}

TEST(SignatureTest, GoldenKernelsAreStableOverRunsNamesAndThreads) {
  const auto kernels = ReadGoldenKernels(SAMEBITS_SOURCE_DIR);
  std::vector<std::string> expected;
  for (const GoldenKernel& k : kernels) {
    const auto first = ComputeSignature(k.text, k.launch);
    ASSERT_TRUE(first.ok()) << k.name << " " << first.status();
    expected.push_back(first->digest);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const auto renamed = ComputeSignature(isa::ptx::RenameRegistersAndLabels(k.text, seed), k.launch);
      ASSERT_TRUE(renamed.ok()) << k.name << " " << renamed.status();
      EXPECT_EQ(renamed->digest, first->digest) << k.name;
      EXPECT_EQ(renamed->status, first->status) << k.name;
    }
  }
  std::atomic<size_t> next = 0;
  std::vector<std::string> got(8 * kernels.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < got.size();) {
        const auto s = ComputeSignature(kernels[i % kernels.size()].text, kernels[i % kernels.size()].launch);
        if (s.ok()) got[i] = s->digest;
      }
    });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected[i % kernels.size()]) << kernels[i % kernels.size()].name;
}

constexpr const char* kCopy = "ld.global.f32 %f0, [%rd4];\nst.global.f32 [%rd6], %f0;\n";

Launch NamedLaunch(const std::string& a, const std::string& b, const std::string& o) {
  Launch launch = FrameLaunch();
  launch.args.emplace(3);
  const std::string names[] = {a, b, o};
  for (size_t i = 0; i < 3; ++i) {
    (*launch.args)[i].kind = Argument::Kind::kPointer;
    (*launch.args)[i].buffer = names[i];
  }
  return launch;
}

TEST(SignatureTest, BuffersAreTheirNamesOrElseTheirPositions) {
  const std::string from_b = "ld.global.f32 %f0, [%rd5];\nst.global.f32 [%rd6], %f0;\n";
  EXPECT_NE(SignatureOf(kCopy, FrameLaunch()).digest, SignatureOf(from_b, FrameLaunch()).digest);
  EXPECT_EQ(SignatureOf(kCopy, NamedLaunch("x", "y", "out")).digest, SignatureOf(from_b, NamedLaunch("y", "x", "out")).digest);
  EXPECT_NE(SignatureOf(kCopy, NamedLaunch("x", "y", "out")).digest, SignatureOf(kCopy, NamedLaunch("z", "y", "out")).digest);
  EXPECT_EQ(SignatureOf(kCopy, NamedLaunch("", "", "")).digest, SignatureOf(kCopy, FrameLaunch()).digest);
}

TEST(SignatureTest, TwoArgumentsOfOneNameAreOneBuffer) {
  const Signature s = SignatureOf("ld.global.f32 %f0, [%rd4+128];\nst.global.f32 [%rd6], %f0;\n", NamedLaunch("x", "y", "x"));
  EXPECT_EQ(s.status, SignatureStatus::kOk) << s.reason;
  const Signature race = SignatureOf("ld.global.f32 %f0, [%rd4+4];\nst.global.f32 [%rd6], %f0;\n", NamedLaunch("x", "y", "x"));
  EXPECT_EQ(race.status, SignatureStatus::kNondeterministic);
}

TEST(SignatureTest, ScratchAndUnnamedOutputsDoNotCount) {
  const std::string two = "st.global.u32 [%rd6], %r0;\nst.global.u32 [%rd5], 1;\n", other = "st.global.u32 [%rd6], %r0;\nst.global.u32 [%rd5], 2;\n";
  Launch launch = NamedLaunch("a", "b", "o");
  EXPECT_NE(SignatureOf(two, launch).digest, SignatureOf(other, launch).digest);
  launch.outputs = {"o"};
  EXPECT_EQ(SignatureOf(two, launch).digest, SignatureOf(other, launch).digest);
  launch = NamedLaunch("a", "b", "o");
  (*launch.args)[1].kind = Argument::Kind::kScratch;
  EXPECT_EQ(SignatureOf(two, launch).digest, SignatureOf(other, launch).digest);
}

TEST(SignatureTest, OptionsThatChangeTheQuestionChangeTheDigest) {
  Options strict, relaxed;
  relaxed.ignore_signed_zero = true;
  const auto a = ComputeSignature(Kernel(kCopy), FrameLaunch(), strict), b = ComputeSignature(Kernel(kCopy), FrameLaunch(), relaxed);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->digest, b->digest);
}

TEST(SignatureTest, StrictContractionIsUnknown) {
  const std::string open = "ld.global.f32 %f0, [%rd4];\nmul.f32 %f1, %f0, %f0;\nadd.f32 %f1, %f1, %f0;\nst.global.f32 [%rd6], %f1;\n";
  const auto lenient = ComputeSignature(Kernel(open), FrameLaunch());
  ASSERT_TRUE(lenient.ok());
  EXPECT_EQ(lenient->status, SignatureStatus::kOk);
  EXPECT_EQ(lenient->assumptions.size(), 2u);
  Options options;
  options.strict_contraction = true;
  const auto strict = ComputeSignature(Kernel(open), FrameLaunch(), options);
  ASSERT_TRUE(strict.ok());
  EXPECT_EQ(strict->reason_code, "CONTRACTIBLE");
  const auto closed = ComputeSignature(Kernel(kCopy), FrameLaunch(), options);
  EXPECT_EQ(closed->status, SignatureStatus::kOk);
}

struct LimitCase {
  const char* name;
  void (*set)(Limits*);
  const char* code;
};

TEST(SignatureTest, EachLimitStopsWithItsName) {
  std::string body = "mov.u32 %r3, 0;\nld.global.f32 %f0, [%rd4];\nLOOP:\nadd.rn.f32 %f0, %f0, %f0;\nadd.u32 %r3, %r3, 1;\n"
                     "setp.lt.u32 %p0, %r3, 100000;\n@%p0 bra LOOP;\nst.global.f32 [%rd6], %f0;\n";
  const std::vector<LimitCase> cases = {
      {"max_steps", [](Limits* l) { l->max_steps = 10'000; }, "STEP_LIMIT"},
      {"max_nodes", [](Limits* l) { l->max_nodes = 1'000; }, "NODE_LIMIT"},
      {"max_memory_bytes", [](Limits* l) { l->max_memory_bytes = 100'000; }, "MEMORY_LIMIT"},
      {"max_time", [](Limits* l) { l->max_time = absl::ZeroDuration(); }, "TIME_LIMIT"},
      {"max_grid_blocks", [](Limits* l) { l->max_grid_blocks = 1; }, "GRID_LIMIT"},
  };
  for (const LimitCase& c : cases) {
    Options options;
    c.set(&options.limits);
    const auto s = ComputeSignature(Kernel(body), FrameLaunch(32, 2), options);
    ASSERT_TRUE(s.ok()) << c.name;
    EXPECT_EQ(s->status, SignatureStatus::kUnknown) << c.name;
    EXPECT_EQ(s->reason_code, c.code) << s->reason;
    EXPECT_NE(s->reason.find(c.name), std::string::npos) << s->reason;
  }
  Options classes;
  classes.limits.max_grid_classes = 3;
  const auto s = ComputeSignature(
      Kernel("mov.u32 %r3, %ctaid.x;\nshl.b32 %r3, %r3, 2;\nmov.u32 %r4, s;\nadd.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r0;\n"),
      FrameLaunch(1, 8), classes);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->reason_code, "GRID_CLASS_LIMIT");
  Options text;
  text.limits.max_text_bytes = 100;
  EXPECT_EQ(ComputeSignature(Kernel(body), FrameLaunch(), text).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SignatureTest, CancellationStops) {
  std::atomic<bool> cancelled = true;
  Options options;
  options.cancelled = &cancelled;
  const auto s = ComputeSignature(Kernel("mov.u32 %r3, 0;\nLOOP:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p0, %r3, 100000;\n@%p0 bra LOOP;\n"),
                                  FrameLaunch(), options);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->reason_code, "CANCELLED");
}

TEST(SignatureTest, IllegalLaunchesAreErrors) {
  Launch launch = FrameLaunch();
  launch.grid = Dim3{1, 1u << 16, 1};
  EXPECT_EQ(ComputeSignature(Kernel(kCopy), launch).status().code(), absl::StatusCode::kInvalidArgument);
  launch.grid = Dim3{0, 1, 1};
  EXPECT_EQ(ComputeSignature(Kernel(kCopy), launch).status().code(), absl::StatusCode::kInvalidArgument);
  launch = FrameLaunch(2048);
  EXPECT_EQ(ComputeSignature(Kernel(kCopy), launch).status().code(), absl::StatusCode::kInvalidArgument);
  launch = FrameLaunch();
  launch.args.emplace(2);
  EXPECT_EQ(ComputeSignature(Kernel(kCopy), launch).status().code(), absl::StatusCode::kInvalidArgument);
  launch = FrameLaunch();
  launch.entry = "absent";
  EXPECT_EQ(ComputeSignature(Kernel(kCopy), launch).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExplainTest, NamesTheFirstPartingElementAndNode) {
  const auto c = Explain(Kernel("ld.global.f32 %f0, [%rd4];\nadd.rn.f32 %f1, %f0, %f0;\nst.global.f32 [%rd6], %f1;\n"), FrameLaunch(),
                         Kernel("ld.global.f32 %f0, [%rd4];\nmul.rn.f32 %f1, %f0, %f0;\nst.global.f32 [%rd6], %f1;\n"), FrameLaunch());
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->verdict, Verdict::kDifferent);
  ASSERT_TRUE(c->difference.has_value());
  EXPECT_EQ(c->difference->byte_offset, 0u);
  EXPECT_EQ(c->difference->a.place.instruction, "add.rn.f32 %f1, %f0, %f0");
  EXPECT_EQ(c->difference->b.place.instruction, "mul.rn.f32 %f1, %f0, %f0");
}

TEST(ExplainTest, ASightOfContractionStaysWithItsKernel) {
  Options strict;
  strict.strict_contraction = true;
  const std::string open = "ld.global.f32 %f0, [%rd4];\nmul.f32 %f1, %f0, %f0;\nadd.f32 %f1, %f1, %f0;\nst.global.f32 [%rd6], %f1;\n";
  const auto c = Explain(Kernel(open), FrameLaunch(), Kernel(kCopy), FrameLaunch(), strict);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->a.status, SignatureStatus::kUnknown);
  EXPECT_EQ(c->b.status, SignatureStatus::kOk);
}

}  // namespace
}  // namespace samebits::checker
