// A job that was killed and goes on from its records gives the records, and so the result, of one that ran through.

#include "core/heal/jobs/job.h"
#include "core/heal/numerics/rounding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/heal/jobs/fake_engine.h"

namespace samebits::heal {
namespace {

using testing::FakeBackend;
using testing::FakePrompts;
using testing::FakeShape;
using testing::Keeper;
using ::testing::HasSubstr;

void Plant(FakeBackend& backend) {
  backend.planted.odd_pass = 0.01;
  backend.planted.flip = [](const Configuration& c) { return c.boundary == Boundary::kBf16 ? 0.1 : 0.0; };
  backend.planted.hidden_error = [](const Configuration& c) {
    return c.name == "fp32" ? 0.0 : 0.3 + 0.1 * static_cast<double>(c.unprotected_layers.size());
  };
  const auto plain = backend.planted.tap;
  backend.planted.tap = [plain](const Configuration& c, TapPoint point, int layer, uint64_t state, int position,
                                int index) {
    const float x = plain(c, point, layer, state, position, index);
    return c.name == "fp32" ? x : FromBf16(ToBf16(x));
  };
  backend.planted.apply = [](const Configuration& c, const OperatorInstance&, const OperatorInput& input) {
    std::vector<float> y;
    const auto round = [&](float x) { return c.name == "fp32" ? x : FromBf16(ToBf16(x)); };
    for (const float x : input.x) y.push_back(round(round(x) * 1.1f));
    return y;
  };
}

std::vector<JobSpec> AllJobs() {
  EvaluateSpec evaluate;
  evaluate.configurations = {"bf16", "fp32"};
  AttributeSpec attribute;
  attribute.configurations = {"bf16"};
  SweepSpec sweep;
  sweep.least_bits = 20;
  sweep.baselines = {"bf16"};
  QkvSpec qkv;
  DecomposeSpec decompose;
  PolicySpec policy;
  const auto with = [](auto job) {
    job.trajectory.max_new_tokens = 7;
    JobSpec spec;
    spec.prompts = FakePrompts(5, true);
    spec.batching = {.slots = 2, .rows = 6};
    spec.job = job;
    return spec;
  };
  return {with(evaluate), with(attribute), with(decompose), with(sweep), with(qkv), with(policy)};
}

TEST(Resume, GivesTheSameRecordsWhereverItWasKilled) {
  for (const JobSpec& spec : AllJobs()) {
    FakeBackend backend(FakeShape());
    Plant(backend);
    Keeper through;
    ASSERT_TRUE(RunJob(spec, backend, {}, through).ok()) << NameOf(spec);
    const std::vector<std::string> units = *PlanJob(spec, FakeShape());
    ASSERT_EQ(through.records.size(), units.size());
    ASSERT_GT(units.size(), 2u) << NameOf(spec);
    for (int64_t kill = 1; kill < through.units; ++kill) {
      FakeBackend other(FakeShape());
      Plant(other);
      Keeper first, second;
      first.stop_after = kill;
      EXPECT_TRUE(absl::IsUnavailable(RunJob(spec, other, {}, first).status()));
      EXPECT_EQ(static_cast<int64_t>(first.records.size()), kill);
      second.records = first.records;
      ASSERT_TRUE(RunJob(spec, other, first.records, second).ok());
      EXPECT_EQ(second.units, through.units - kill);
      EXPECT_EQ(second.records, through.records) << NameOf(spec) << " killed after " << kill;
    }
  }
}

TEST(Resume, ALostRecordIsMeasuredAnew) {
  const JobSpec spec = AllJobs()[0];
  FakeBackend backend(FakeShape());
  Plant(backend);
  Keeper through, again;
  ASSERT_TRUE(RunJob(spec, backend, {}, through).ok());
  again.records = through.records;
  again.records.erase(3);
  ASSERT_TRUE(RunJob(spec, backend, Records(again.records), again).ok());
  EXPECT_EQ(again.units, 1);
  EXPECT_EQ(again.records, through.records);
}

TEST(Resume, CancelledWithinAUnit) {
  const JobSpec spec = AllJobs()[0];
  FakeBackend backend(FakeShape());
  Plant(backend);
  Keeper through, cancelled;
  ASSERT_TRUE(RunJob(spec, backend, {}, through).ok());
  EXPECT_GT(through.reports, through.units);
  cancelled.cancel_at = through.questions / 2;
  EXPECT_TRUE(absl::IsCancelled(RunJob(spec, backend, {}, cancelled).status()));
  EXPECT_EQ(backend.open, 0);
  ASSERT_TRUE(RunJob(spec, backend, Records(cancelled.records), cancelled).ok());
  EXPECT_EQ(cancelled.records, through.records);
}

TEST(Summarize, NeedsNoBackendAndGivesTheSame) {
  const JobSpec spec = AllJobs()[0];
  FakeBackend backend(FakeShape());
  Plant(backend);
  Keeper keeper;
  const absl::StatusOr<JobResult> ran = RunJob(spec, backend, {}, keeper);
  const absl::StatusOr<JobResult> summed = SummarizeJob(spec, FakeShape(), keeper.records);
  ASSERT_TRUE(ran.ok() && summed.ok());
  const EvaluateResult& a = std::get<EvaluateResult>(*ran);
  const EvaluateResult& b = std::get<EvaluateResult>(*summed);
  EXPECT_GT(a.configurations[0].mse.mean, 0);
  EXPECT_EQ(a.configurations[0].mse.mean, b.configurations[0].mse.mean);
  EXPECT_EQ(a.configurations[0].mse.sem, b.configurations[0].mse.sem);
  EXPECT_EQ(a.configurations[0].flip_rate.mean, b.configurations[0].flip_rate.mean);
  EXPECT_EQ(a.anchor.answers, b.anchor.answers);
  Records some = keeper.records;
  some.erase(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(SummarizeJob(spec, FakeShape(), some).status()));
}

TEST(Records, ThatAreNotTheJobsAreRefused) {
  const JobSpec spec = AllJobs()[0];
  FakeBackend backend(FakeShape());
  Keeper keeper;
  ASSERT_TRUE(RunJob(spec, backend, {}, keeper).ok());
  const auto refuse = [&](Records records, const char* why) {
    Keeper ignored;
    const absl::Status status = RunJob(spec, backend, records, ignored).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  const Records& good = keeper.records;
  refuse({{0, good.at(1)}}, "not of unit");
  refuse({{99, good.at(1)}}, "units");
  refuse({{-1, good.at(1)}}, "units");
  refuse({{0, "{"}}, "JSON");
  refuse({{0, "[]"}}, "JSON");
  Records cut = good;
  cut[1] = R"({"unit":"evaluate bf16 fixed 0-4","mse":[],"answers":"","first":[]})";
  refuse(cut, "length");
  cut[1] = R"({"unit":"evaluate bf16 fixed 0-4","mse":[[1,2],[1],3,4,5],"answers":"AAAAA","first":[1,2,3,4,5]})";
  refuse(cut, "moments");
  cut = good;
  cut[0] = R"({"unit":"anchor fp32 0-4","tokens":[[1],[2],[3],[4],[64]]})";
  refuse(cut, "vocabulary");
  cut[0] = R"({"unit":"anchor fp32 0-4","tokens":[[1],[2],[3],[4],[]]})";
  refuse(cut, "empty");
  cut[0] = R"({"unit":"anchor fp32 0-4"})";
  refuse(cut, "tokens");
}

TEST(Validate, SaysWhatIsWrong) {
  const auto refuse = [](const JobSpec& spec, const char* what) {
    const absl::Status status = Validate(spec, FakeShape());
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  };
  JobSpec spec = AllJobs()[0];
  EXPECT_TRUE(Validate(spec, FakeShape()).ok());
  spec.batching.rows = 1;
  refuse(spec, "rows");
  spec = AllJobs()[0];
  std::get<EvaluateSpec>(spec.job).configurations = {"bf17"};
  refuse(spec, "bf17");
  std::get<EvaluateSpec>(spec.job).configurations = {"bf16", "BF16"};
  refuse(spec, "twice");
  std::get<EvaluateSpec>(spec.job).configurations = {"heal++:3"};  // of two layers
  refuse(spec, "configurations");
  std::get<EvaluateSpec>(spec.job) = {.schedules = {}};
  refuse(spec, "schedules");
  std::get<EvaluateSpec>(spec.job) = {.measure_mse = false, .measure_flips = false};
  refuse(spec, "nothing");
  spec.job = EvaluateSpec{.trajectory = {.max_new_tokens = 0}};
  refuse(spec, "max_new_tokens");
  spec.job = EvaluateSpec{.trajectory = {.anchor = "x"}};
  refuse(spec, "anchor");
  spec.job = DecomposeSpec{.configuration = "heal+"};
  refuse(spec, "boundary");
  spec.job = SweepSpec{.least_bits = 2};
  refuse(spec, "least_bits");
  spec.job = SweepSpec{.least_bits = 9, .most_bits = 8};
  refuse(spec, "most_bits");
  spec.job = AttributeSpec{.fitted_rows = 1};
  refuse(spec, "fitted_rows");
  spec.job = PolicySpec{.variant = "heal+"};
  refuse(spec, "variant");
  spec.job = PolicySpec{.most_skipped = 3};
  refuse(spec, "most_skipped");
  spec.job = ServeCostSpec{.batches = {0}};
  refuse(spec, "batches");
  spec.prompts.prompts.clear();
  spec.job = QkvSpec{};
  refuse(spec, "prompts");
}

TEST(Plan, NamesUnits) {
  const std::vector<std::string> units = *PlanJob(AllJobs()[0], FakeShape());
  EXPECT_THAT(units, ::testing::ElementsAre("anchor fp32 0-4", "evaluate bf16 fixed 0-4", "evaluate bf16 original 0-4",
                                            "evaluate bf16 reversed 0-4", "evaluate fp32 fixed 0-4",
                                            "evaluate fp32 original 0-4", "evaluate fp32 reversed 0-4"));
}

TEST(Plan, ManyTokensAreTakenInGroups) {
  JobSpec spec = AllJobs()[0];
  spec.prompts = MakeSyntheticPrompts(FakeShape(), 100, 3, 1);
  std::get<EvaluateSpec>(spec.job).trajectory.max_new_tokens = 8000;
  const std::vector<std::string> units = *PlanJob(spec, FakeShape());
  EXPECT_EQ(units.size(), 2u + 2 * 6);
  EXPECT_EQ(units[1], "anchor fp32 50-99");
}

}  // namespace
}  // namespace samebits::heal
