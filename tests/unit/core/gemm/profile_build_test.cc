#include "core/gemm/profile_build.h"

#include <gtest/gtest.h>

#include "core/gemm/shape_record.h"
#include "core/gemm/simulated_cost_model.h"

namespace samebits::gemm {
namespace {

const ArchProfile kIdentity{.device = "a device", .sm = 90, .library = "simulated", .library_version = 1};

absl::StatusOr<std::unique_ptr<BlackBox>> Open() { return std::make_unique<SimulatedCostModel>(); }

ProfileBuildOptions Options(int threads) {
  ProfileBuildOptions options;
  options.kinds = {GemmProblem{}, GemmProblem{.a_type = FormatId::kBf16, .b_type = FormatId::kBf16, .output_type = FormatId::kF32}};
  options.random_shapes = 40;
  options.models = false;
  options.most_k = 700;
  options.survey.threads = threads;
  return options;
}

// Builds from these parts on, until so many shapes are done, and says which parts came.
absl::StatusOr<std::string> Build(int threads, int64_t most, std::map<int64_t, std::string>* parts,
                                  const ArchProfile& identity = kIdentity) {
  RuleBook book;
  BuildParts own{*parts, [&](int64_t number, std::string record) { (*parts)[number] = std::move(record); }};
  const auto profile = BuildProfile(Open, identity, Options(threads), &book,
                                    [&](const BuildProgress& progress, const SurveyedShape&) { return progress.done < most; }, own);
  if (!profile.ok()) return profile.status();
  return ToText(*profile);
}

TEST(ProfileBuildTest, DependsNeitherOnThreadsNorOnInterruptions) {
  std::map<int64_t, std::string> whole, cut;
  const auto undisturbed = Build(1, 1000, &whole);
  ASSERT_TRUE(undisturbed.ok()) << undisturbed.status();
  EXPECT_EQ(whole.size(), 3);  // 80 shapes
  ASSERT_TRUE(Build(3, 50, &cut).ok());
  EXPECT_EQ(cut.size(), 1);
  const auto resumed = Build(3, 1000, &cut);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(*resumed, *undisturbed);
  EXPECT_EQ(cut, whole);
}

TEST(ProfileBuildTest, PartsOfAnotherLibraryOrDamagedOnesAreRefused) {
  std::map<int64_t, std::string> parts;
  ASSERT_TRUE(Build(2, 50, &parts).ok());
  ArchProfile other = kIdentity;
  other.library_version = 2;
  EXPECT_EQ(Build(2, 1000, &parts, other).status().code(), absl::StatusCode::kFailedPrecondition);
  for (const auto& [from, to] : {std::pair{"gemm/1", "gemm/9"}, {"id=", "od="}}) {
    std::map<int64_t, std::string> damaged = parts;
    damaged[0].replace(damaged[0].find(from), 6, to);
    EXPECT_EQ(Build(2, 1000, &damaged).status().code(), absl::StatusCode::kDataLoss) << from;
  }
  parts[0] += "\n";
  EXPECT_EQ(Build(2, 1000, &parts).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ShapeRecordTest, KeepsWhatProfilesNeed) {
  SurveyedShape shape{GemmProblem{.m = 3, .n = 5, .k = 7}};
  shape.algorithm = {.id = 66, .splits = 2};
  shape.reason = "because\tof\nthis";
  shape.summed_k = 6;
  shape.outputs = 15;
  const auto parsed = ParseShapeRecord(ToRecord(shape), shape.problem);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->algorithm, shape.algorithm);
  EXPECT_EQ(parsed->desc, shape.desc);
  EXPECT_EQ(parsed->reason, "because of this");
  EXPECT_EQ(parsed->summed_k, 6);
  EXPECT_EQ(parsed->outputs, 15);
  EXPECT_FALSE(parsed->explained);
  EXPECT_FALSE(ParseShapeRecord(ToRecord(shape), GemmProblem{}).ok());
}

}  // namespace
}  // namespace samebits::gemm
