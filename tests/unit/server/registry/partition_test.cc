#include "server/registry/partition.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "tests/unit/server/registry/registry_fixture.h"

namespace samebits::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PartitionTest : public RegistryTest {
 protected:
  std::shared_ptr<PartitionSession> Open(const std::string& reference = "") {
    EXPECT_TRUE(registry().EnterPartition());
    return std::make_shared<PartitionSession>(registry(), CheckOptions(), reference, [this](PartitionItemAnswer a) {
      absl::MutexLock lock(&mutex_);
      answers_.push_back(std::move(a));
    });
  }
  void Await(size_t count) {
    const auto arrived = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return answers_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&arrived), absl::Seconds(20)));
  }
  std::vector<PartitionItemAnswer> answers() {
    absl::MutexLock lock(&mutex_);
    return answers_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<PartitionItemAnswer> answers_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PartitionTest, SortsLaunchesIntoClasses) {
  config_.check_threads = 1;  // answers come in the order of the items
  const auto session = Open();
  for (const auto& [id, text] : std::vector<std::pair<std::string, std::string>>{
           {"1", "a x"}, {"2", "b"}, {"3", "a y"}, {"4", "nondeterministic"}, {"5", "a unknown"}, {"6", "invalid"},
           {"7", "b z"}})
    ASSERT_TRUE(session->Add(id, Inline(text)).ok());
  ASSERT_TRUE(session->Add("8", absl::InvalidArgumentError("no launch")).ok());
  Await(8);
  const auto partition = session->Finish();
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->classes.size(), 2);
  EXPECT_THAT(partition->classes[0].ids, ElementsAre("1", "3"));
  EXPECT_THAT(partition->classes[1].ids, ElementsAre("2", "7"));
  EXPECT_THAT(partition->nondeterministic, ElementsAre("4"));
  EXPECT_THAT(partition->unknown, ElementsAre("5"));
  EXPECT_THAT(partition->errors, ElementsAre("6", "8"));
  EXPECT_THAT(partition->reference_verdicts, IsEmpty());
  for (const PartitionItemAnswer& answer : answers()) {
    const bool in_class = answer.id == "1" || answer.id == "2" || answer.id == "3" || answer.id == "7";
    EXPECT_EQ(answer.class_index >= 0, in_class) << answer.id;
    if (answer.id == "3") {
      EXPECT_EQ(answer.class_index, 0);
    }
  }
}

TEST_F(PartitionTest, NeverMergesUnknownOrNondeterministicOnes) {
  const auto session = Open();
  ASSERT_TRUE(session->Add("1", Inline("unknown")).ok());
  ASSERT_TRUE(session->Add("2", Inline("unknown")).ok());
  ASSERT_TRUE(session->Add("3", Inline("nondeterministic")).ok());
  ASSERT_TRUE(session->Add("4", Inline("nondeterministic")).ok());
  Await(4);
  const auto partition = session->Finish();
  ASSERT_TRUE(partition.ok());
  EXPECT_THAT(partition->classes, IsEmpty());
}

TEST_F(PartitionTest, ComparesWithAReference) {
  const auto session = Open("2");
  ASSERT_TRUE(session->Add("1", Inline("a x")).ok());
  ASSERT_TRUE(session->Add("2", Inline("a y")).ok());
  ASSERT_TRUE(session->Add("3", Inline("b")).ok());
  ASSERT_TRUE(session->Add("4", Inline("unknown")).ok());
  ASSERT_TRUE(session->Add("5", Inline("invalid")).ok());
  Await(5);
  const auto partition = session->Finish();
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->reference_verdicts.size(), 3);
  EXPECT_EQ(partition->reference_verdicts[0].id, "1");
  EXPECT_EQ(partition->reference_verdicts[0].verdict, checker::Verdict::kEquivalent);
  EXPECT_EQ(partition->reference_verdicts[1].verdict, checker::Verdict::kDistinct);
  EXPECT_EQ(partition->reference_verdicts[2].verdict, checker::Verdict::kUnknown);
  EXPECT_EQ(partition->reference_verdicts[2].reason, "unknown side");
}

TEST_F(PartitionTest, RequiresTheReference) {
  const auto session = Open("r");
  ASSERT_TRUE(session->Add("1", Inline("a")).ok());
  Await(1);
  EXPECT_EQ(MetadataOf(session->Finish().status(), "field"), "config.reference_id");
  const auto broken = Open("r");
  ASSERT_TRUE(broken->Add("r", Inline("invalid")).ok());
  Await(2);
  EXPECT_EQ(MetadataOf(broken->Finish().status(), "reference_id"), "r");
}

TEST_F(PartitionTest, RefusesBadIdsAndTooManyItems) {
  config_.limits.max_partition_items = 2;
  const auto session = Open();
  EXPECT_EQ(MetadataOf(session->Add("", Inline("a")), "field"), "item.id");
  EXPECT_EQ(MetadataOf(session->Add(std::string(257, 'x'), Inline("a")), "field"), "item.id");
  EXPECT_TRUE(session->Add("1", Inline("a")).ok());
  EXPECT_EQ(MetadataOf(session->Add("1", Inline("b")), "field"), "item.id");
  EXPECT_TRUE(session->Add(std::string(256, 'x'), Inline("a")).ok());
  EXPECT_EQ(MetadataOf(session->Add("3", Inline("a")), "limit"), "max_partition_items");
  Await(2);
}

TEST_F(PartitionTest, IsNotRefusedByAFullQueue) {
  config_.check_threads = 1;
  config_.limits.max_queued_checks = 0;
  const auto session = Open();
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(session->Add(std::to_string(i), Inline("text" + std::to_string(i))).ok());
  Await(10);
  for (const PartitionItemAnswer& answer : answers()) EXPECT_TRUE(answer.answer.ok()) << answer.answer.status();
}

TEST_F(PartitionTest, BoundsTheStreamsAtATime) {
  config_.limits.max_partition_streams = 2;
  auto first = Open(), second = Open();
  EXPECT_FALSE(registry().EnterPartition());
  first.reset();
  EXPECT_TRUE(registry().EnterPartition());
  registry().LeavePartition();
}

TEST_F(PartitionTest, CancelStopsTheChecks) {
  config_.check_threads = 2;
  auto session = Open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(session->Add(std::to_string(i), Inline("w wait" + std::to_string(i))).ok());
  ASSERT_TRUE(checker_->AwaitRuns(2));
  session->Cancel();
  Settle();  // hangs if the checks go on
  EXPECT_EQ(checker_->cancelled, 2);
  EXPECT_EQ(checker_->runs, 2);
  EXPECT_THAT(answers(), IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(session->Add("9", Inline("a"))));
}

}  // namespace
}  // namespace samebits::server
