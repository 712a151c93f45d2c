#include "core/gemm/survey.h"

#include <gtest/gtest.h>

#include "core/gemm/profile_report.h"
#include "core/gemm/simulated_cost_model.h"
#include "core/gemm/simulated_library.h"

namespace samebits::gemm {
namespace {

GemmProblem Small(int64_t index) {
  constexpr FormatId kInputs[] = {FormatId::kF16, FormatId::kBf16, FormatId::kE4m3};
  GemmProblem p;
  p.a_type = p.b_type = kInputs[index % 3];
  p.output_type = index % 2 == 0 ? FormatId::kF32 : p.a_type == FormatId::kBf16 ? FormatId::kBf16 : FormatId::kF16;
  if (p.a_type != FormatId::kE4m3) p.layout = static_cast<Layout>(index / 3 % 2);
  p = DrawShape(p, 77 + index);
  p.k = std::min<int64_t>(p.k, p.a_type == FormatId::kE4m3 ? 2048 : 1 + p.k % 2500);
  return p;
}

class SurveyTest : public ::testing::Test {
 protected:
  // A profile of the simulated library.
  ArchProfile Study(int64_t count, int version = 1) {
    ArchProfile identity;
    identity.device = "simulated device";
    identity.sm = 90;
    ProfileBuilder builder(identity);
    SurveyOptions options;
    options.sample_side = 8;
    options.threads = 2;
    const auto next = [&](int64_t index) { return index < count ? std::optional(Small(index)) : std::nullopt; };
    const auto open = [&]() -> absl::StatusOr<std::unique_ptr<BlackBox>> { return std::make_unique<SimulatedCostModel>(version); };
    EXPECT_TRUE(Survey(open, next, &book_, options, [&](int64_t, const SurveyedShape& shape) {
                  shapes_.push_back(shape);
                  builder.AddShape(shape, options.draws);
                }).ok());
    SimulatedCostModel model(version);
    GemmProblem p;
    p.n = 64, p.k = 2048;
    std::vector<Algorithm> answers;
    for (p.m = 1; p.m <= 400; ++p.m) answers.push_back(*model.Choose(p));
    builder.AddScan(p, answers);
    return std::move(builder).Build(book_);
  }

  RuleBook book_;
  std::vector<SurveyedShape> shapes_;
};

// Answers nothing.
class BrokenLibrary : public BlackBox {
 public:
  int sm() const override { return 90; }
  bool tells_algorithm() const override { return false; }
  absl::StatusOr<CallProfile> Profile(const GemmProblem&) override { return absl::InternalError("the bus is gone"); }
  absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem&, const SparseRows&, const SparseRows&,
                                                 std::span<const Output>) override {
    return absl::InternalError("the bus is gone");
  }
};

TEST_F(SurveyTest, AFailureOfTheLibraryIsSaidInItsWords) {
  SurveyOptions options;
  options.threads = 1;
  std::vector<SurveyedShape> shapes;
  const auto next = [](int64_t index) { return index < 2 ? std::optional(GemmProblem{.m = 4, .n = 4, .k = 32}) : std::nullopt; };
  const auto open = []() -> absl::StatusOr<std::unique_ptr<BlackBox>> { return std::make_unique<BrokenLibrary>(); };
  EXPECT_TRUE(Survey(open, next, &book_, options, [&](int64_t, const SurveyedShape& shape) { shapes.push_back(shape); }).ok());
  ASSERT_EQ(shapes.size(), 2);
  EXPECT_EQ(shapes[0].reason, "the library failed: the bus is gone");
}

TEST_F(SurveyTest, EveryShapeIsExplainedMostByRules) {
  const ArchProfile profile = Study(120);
  SimulatedCostModel model;
  int64_t predicted = 0;
  for (const SurveyedShape& s : shapes_) {
    ASSERT_TRUE(s.explained) << ToText(s.algorithm) << " " << s.problem.k << " " << s.reason;
    const auto truth = model.Truth(s.problem);
    ASSERT_TRUE(truth.ok());
    EXPECT_EQ(s.summed_k, SimulatedCostModel::SummedK(s.problem, s.algorithm));
    const auto own = CompileDefective(s.desc, s.problem.k, s.summed_k, 90);
    EXPECT_EQ(DigestOf(*own), DigestOf(*CompileDefective(*truth, s.problem.k, s.summed_k, 90)));
    predicted += s.predicted;
    const auto described = Describe(profile, s.problem);
    ASSERT_TRUE(described.ok()) << described.status();
    EXPECT_TRUE(described->studied);
    EXPECT_EQ(NormalForm(described->desc, s.summed_k), NormalForm(*truth, s.summed_k));
  }
  EXPECT_EQ(shapes_.size(), 120);
  EXPECT_GT(predicted, 50);
}

TEST_F(SurveyTest, ADroppedTailIsADefectOfTheShape) {
  GemmProblem p;
  p.m = 40, p.n = 64, p.k = 7 * 1024 + 8;  // nine splits
  SimulatedCostModel model;
  SurveyOptions options;
  options.sample_side = 8;
  const auto shape = StudyShape(&model, &book_, p, options);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->explained) << shape->reason;
  EXPECT_TRUE(shape->defect());
  EXPECT_EQ(shape->summed_k, p.k - 8);
  EXPECT_TRUE(book_.Entries().empty());
  ArchProfile identity;
  identity.sm = 90;
  ProfileBuilder builder(identity);
  builder.AddShape(*shape, 10);
  const ArchProfile profile = std::move(builder).Build(book_);
  const auto described = Describe(profile, p);
  ASSERT_TRUE(described.ok());
  EXPECT_EQ(described->summed_k, p.k - 8);
  const std::string summary = Summarise(profile);
  EXPECT_NE(summary.find("elements 7168 to 7175 are not summed"), std::string::npos) << summary;
  EXPECT_NE(summary.find("samebits gemm probe --types f16,f16,f32,f16 --layout TN --m 40 --n 64 --k 7176"), std::string::npos);
}

TEST_F(SurveyTest, ProfilesParseBack) {
  const ArchProfile profile = Study(24);
  const std::string text = ToText(profile);
  const auto again = ParseArchProfile(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToText(*again), text);
  EXPECT_EQ(Digest(*again), Digest(profile));
  for (const SurveyedShape& s : shapes_) EXPECT_EQ(Describe(*again, s.problem)->desc, Describe(profile, s.problem)->desc);
}

TEST_F(SurveyTest, WhatWasNotAskedIsNotDescribed) {
  const ArchProfile profile = Study(24);
  GemmProblem p;
  p.m = 40, p.n = 64, p.k = 2048;
  EXPECT_TRUE(Describe(profile, p).ok() || absl::IsFailedPrecondition(Describe(profile, p).status()) ||
              absl::IsNotFound(Describe(profile, p).status()));
  p.n = 4321;
  EXPECT_EQ(Describe(profile, p).status().code(), absl::StatusCode::kNotFound);
  p.n = 64, p.m = 401;
  EXPECT_EQ(Describe(profile, p).status().code(), absl::StatusCode::kNotFound);
  p.a_type = p.b_type = FormatId::kE5m2;
  EXPECT_EQ(Describe(profile, p).status().code(), absl::StatusCode::kNotFound);
}

TEST(ProfileTextTest, BadLinesAreNamed) {
  const std::string head = "samebits-profile/1\narch 90 132\nalgorithm id=1\nsection types=f16,f16,f32,f16 layout=TN\n";
  ASSERT_TRUE(ParseArchProfile(head).ok());
  for (const char* line : {"shape 1 2 3 1", "shape 1 2 0 0", "shape 1 2", "scan 4 4 10 2:0", "scan 4 4 10 1:0 1:0", "scan 4 4 10 1:7",
                           "special 1 2 3 0 4 explained gemm/1", "special 1 2 3 0 3 maybe gemm/1", "tally shapes=-1", "rule gemm/1",
                           "entry x y", "nonsense", "shape 2 2 2 0\nshape 2 2 2 0", "section types=f16 layout=TN"}) {
    const auto profile = ParseArchProfile(head + line);
    ASSERT_FALSE(profile.ok()) << line;
    EXPECT_EQ(profile.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(profile.status().message().find("line "), std::string::npos) << profile.status();
  }
  EXPECT_FALSE(ParseArchProfile("").ok());
  EXPECT_FALSE(ParseArchProfile("samebits-profile/2\n").ok());
}

TEST_F(SurveyTest, ALibraryThatTellsNoAlgorithmGivesAProfileOfItsShapes) {
  HiddenGemm hidden;
  hidden.problem = {.m = 12, .n = 10, .k = 640};
  hidden.summed_k = 640;
  hidden.desc = *ParseGemmDesc("gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16 family=split_k cuts=contiguous:320x2");
  SimulatedLibrary library(hidden);
  ASSERT_FALSE(library.tells_algorithm());
  const auto shape = StudyShape(&library, &book_, hidden.problem, {});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->explained) << shape->reason;
  EXPECT_FALSE(shape->predicted);
  EXPECT_TRUE(book_.Entries().empty());  // a rule would be one for shapes that nothing is known of
  ArchProfile identity;
  identity.device = "simulated device", identity.library = "silent", identity.sm = 90;
  ProfileBuilder builder(identity);
  builder.AddShape(*shape, 10);
  const auto profile = ParseArchProfile(ToText(std::move(builder).Build(book_)));
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto described = Describe(*profile, hidden.problem);
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(DigestOf(*Compile(described->desc, 640, 90)), DigestOf(*Compile(hidden.desc, 640, 90)));
  GemmProblem other = hidden.problem;
  other.k = 656;
  EXPECT_FALSE(Describe(*profile, other).ok());
}

}  // namespace
}  // namespace samebits::gemm
