// What every JobStore does.

#include "storage/job_store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "storage/memory/memory_job_store.h"
#include "storage/sqlite/sqlite_job_store.h"

namespace samebits::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);

class JobStoreTest : public testing::TestWithParam<bool> {
 protected:
  JobStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_jobs_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Open();
  }
  ~JobStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  bool persistent() const { return GetParam(); }
  void Open() {
    store_.reset();
    if (!persistent()) {
      store_ = std::make_unique<MemoryJobStore>();
      return;
    }
    SqliteOptions options;
    options.path = (folder_ / "store.db").string();
    auto database = sqlite::SharedDatabase::Open(options);
    ASSERT_TRUE(database.ok()) << database.status();
    store_ = MakeSqliteJobStore(*std::move(database));
  }

  absl::Time At(int seconds) const { return start_ + seconds * kSecond; }
  JobRecord Job(const std::string& id, const std::string& principal = "alice") const {
    JobRecord job;
    job.id = id;
    job.kind = "verify";
    job.principal = principal;
    job.create_time = start_;
    job.spec = std::string("spec of \0", 9) + id;
    return job;
  }
  static std::vector<TaskRecord> Tasks(const std::vector<std::string>& targets, uint32_t attempts = 2) {
    std::vector<TaskRecord> tasks;
    for (const std::string& target : targets) {
      tasks.emplace_back().target = target;
      tasks.back().max_attempts = attempts;
    }
    return tasks;
  }
  void Create(const JobRecord& job, const std::vector<std::string>& targets = {"cpu"}, uint32_t attempts = 2) {
    const auto created = store_->CreateJob(job, Tasks(targets, attempts), {});
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(created->created);
  }
  std::vector<Lease> Take(const std::vector<std::string>& targets, uint32_t count = 1, int now = 1,
                          const std::string& worker = "w") {
    auto leases = store_->LeaseTasks({worker, targets, count, At(now), At(now + 10)});
    EXPECT_TRUE(leases.ok()) << leases.status();
    return leases.ok() ? *std::move(leases) : std::vector<Lease>();
  }
  static LeaseKey Key(const Lease& lease) {
    return {lease.task.job, lease.task.index, lease.task.token, lease.task.worker};
  }
  TaskRecord Task(const std::string& job, size_t index = 0) { return store_->GetTasks(job)->at(index); }

  const absl::Time start_ = absl::FromUnixMicros(1'700'000'000'123'456);
  std::filesystem::path folder_;
  std::unique_ptr<JobStore> store_;
};

TEST_P(JobStoreTest, ReturnsWhatWasAccepted) {
  JobRecord job = Job("j");
  job.deadline = At(60) + absl::Nanoseconds(17);
  job.priority = -3;
  Create(job, {"cpu", "cuda"});
  const auto stored = store_->GetJob("j");
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->kind, "verify");
  EXPECT_EQ(stored->principal, "alice");
  EXPECT_EQ(stored->priority, -3);
  EXPECT_EQ(stored->create_time, start_);
  EXPECT_EQ(stored->deadline, At(60));
  EXPECT_EQ(stored->spec, job.spec);
  EXPECT_EQ(stored->state, JobState::kOpen);
  EXPECT_EQ(stored->start_time, kNever);
  EXPECT_EQ(stored->end_time, kNever);
  EXPECT_EQ(stored->open_tasks, 2);
  EXPECT_EQ(stored->sequence, 1);
  const auto tasks = store_->GetTasks("j");
  ASSERT_EQ(tasks->size(), 2);
  EXPECT_EQ((*tasks)[1].index, 1);
  EXPECT_EQ((*tasks)[1].target, "cuda");
  EXPECT_EQ((*tasks)[1].max_attempts, 2);
  EXPECT_EQ((*tasks)[1].state, TaskState::kQueued);
  EXPECT_EQ((*tasks)[1].lease_deadline, kNever);
}

TEST_P(JobStoreTest, ReportsMissingJobs) {
  EXPECT_TRUE(absl::IsNotFound(store_->GetJob("none").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetTasks("none").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetAttempts("none").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->FinishJob("none", {}).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteJob("none")));
  EXPECT_TRUE(absl::IsNotFound(store_->GetReproducer("none").status()));
  EXPECT_EQ(store_->CompleteTask({"none", 0, 1}, "")->outcome, Outcome::kStale);
  EXPECT_THAT(*store_->RenewLeases({{"none", 0, 1}}, At(1)), ElementsAre(false));
}

TEST_P(JobStoreTest, RefusesAJobWithoutTasks) {
  EXPECT_TRUE(absl::IsInvalidArgument(store_->CreateJob(Job("j"), {}, {}).status()));
}

TEST_P(JobStoreTest, OneRequestIdMakesOneJob) {
  JobRecord job = Job("j");
  job.request_id = "r";
  job.request_digest = Sha256("request");
  Create(job);
  JobRecord again = job;
  again.id = "k";
  const auto repeated = store_->CreateJob(again, Tasks({"cpu"}), {});
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_FALSE(repeated->created);
  EXPECT_EQ(repeated->job.id, "j");
  again.request_digest = Sha256("another");
  EXPECT_TRUE(absl::IsAlreadyExists(store_->CreateJob(again, Tasks({"cpu"}), {}).status()));
  again.principal = "bob";
  EXPECT_TRUE(store_->CreateJob(again, Tasks({"cpu"}), {})->created);
  EXPECT_EQ(store_->Stats()->open_jobs, 2);
}

TEST_P(JobStoreTest, LimitsOpenJobs) {
  const OpenLimits limits{3, 2};
  const auto create = [&](const std::string& id, const std::string& principal) {
    return store_->CreateJob(Job(id, principal), Tasks({"cpu"}), limits).status();
  };
  EXPECT_TRUE(create("a1", "alice").ok());
  EXPECT_TRUE(create("a2", "alice").ok());
  EXPECT_EQ(create("a3", "alice"), absl::ResourceExhaustedError("open_jobs_of_principal"));
  EXPECT_TRUE(create("b1", "bob").ok());
  EXPECT_EQ(create("c1", "carol"), absl::ResourceExhaustedError("open_jobs"));
  ASSERT_TRUE(store_->FinishJob("a1", {}).ok());
  EXPECT_TRUE(create("a3", "alice").ok());
  EXPECT_EQ(create("b2", "bob"), absl::ResourceExhaustedError("open_jobs"));
  if (persistent()) Open();  // counts anew
  ASSERT_FALSE(persistent() && create("a4", "alice").ok());
  ASSERT_TRUE(store_->FinishJob("a3", {}).ok());
  ASSERT_FALSE(*store_->FinishJob("a3", {}));  // ended once, counted once
  EXPECT_TRUE(create("a4", "alice").ok());
  EXPECT_EQ(create("b2", "bob"), absl::ResourceExhaustedError("open_jobs"));
}

TEST_P(JobStoreTest, DeletesFirstWhatEndedFirst) {
  for (const int i : {3, 1, 2, 0}) {
    Create(Job(absl::StrCat("j", i)));
    ASSERT_TRUE(*store_->FinishJob(absl::StrCat("j", i), {JobState::kSucceeded, At(i)}));
  }
  Create(Job("open"));
  EXPECT_EQ(*store_->DeleteFinished(absl::InfiniteFuture(), 2), 2);
  EXPECT_TRUE(absl::IsNotFound(store_->GetJob("j0").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetJob("j1").status()));
  EXPECT_TRUE(store_->GetJob("j2").ok());
  EXPECT_EQ(*store_->DeleteFinished(absl::InfiniteFuture(), 10), 2);
  EXPECT_TRUE(store_->GetJob("open").ok());
}

TEST_P(JobStoreTest, LeasesByPriorityThenAge) {
  Create(Job("low"));
  JobRecord high = Job("high");
  high.priority = 5;
  Create(high, {"cpu", "cuda", "cpu"});
  Create(Job("late"));
  std::vector<std::string> order;
  for (const Lease& lease : Take({"cpu"}, 10)) order.push_back(absl::StrCat(lease.task.job, lease.task.index));
  EXPECT_THAT(order, ElementsAre("high0", "high2", "low0", "late0"));
  EXPECT_THAT(Take({"cpu"}), IsEmpty());
  const auto rest = Take({"rocm", "cuda"}, 10);
  ASSERT_EQ(rest.size(), 1);
  EXPECT_EQ(rest[0].task.target, "cuda");
}

TEST_P(JobStoreTest, ALeaseSaysWhatToDo) {
  JobRecord job = Job("j");
  job.deadline = At(100);
  Create(job);
  const auto leases = Take({"cpu"}, 1, 3, "w7");
  ASSERT_EQ(leases.size(), 1);
  EXPECT_EQ(leases[0].kind, "verify");
  EXPECT_EQ(leases[0].spec, job.spec);
  EXPECT_EQ(leases[0].deadline, At(100));
  EXPECT_EQ(leases[0].task.state, TaskState::kLeased);
  EXPECT_EQ(leases[0].task.attempt, 1);
  EXPECT_GT(leases[0].task.token, 0);
  EXPECT_EQ(leases[0].task.worker, "w7");
  EXPECT_EQ(leases[0].task.lease_deadline, At(13));
  EXPECT_EQ(store_->GetJob("j")->start_time, At(3));
}

TEST_P(JobStoreTest, AResultCountsOnce) {
  Create(Job("j"), {"cpu", "cpu"});
  const auto leases = Take({"cpu"}, 2);
  ASSERT_EQ(leases.size(), 2);
  const auto first = store_->CompleteTask(Key(leases[0]), std::string_view("r\0", 2));
  EXPECT_EQ(first->outcome, Outcome::kAccepted);
  EXPECT_FALSE(first->last);
  EXPECT_EQ(store_->CompleteTask(Key(leases[0]), "other")->outcome, Outcome::kRepeated);
  EXPECT_EQ(Task("j").result, std::string_view("r\0", 2));
  EXPECT_EQ(store_->GetJob("j")->open_tasks, 1);
  EXPECT_EQ(store_->FailTask(Key(leases[0]), absl::InternalError("late"), true, At(2), At(2))->outcome,
            Outcome::kStale);
  const auto second = store_->CompleteTask(Key(leases[1]), "");
  EXPECT_TRUE(second->last);
  EXPECT_THAT(*store_->ListFinishable(10), ElementsAre("j"));
}

TEST_P(JobStoreTest, UnitsGoToTheNextLeaseAndEndWithTheJob) {
  Create(Job("j"), {"cpu", "cpu"});
  const auto leases = Take({"cpu"}, 2);
  ASSERT_EQ(leases.size(), 2);
  EXPECT_THAT(leases[0].units, IsEmpty());
  const std::string body("b\0y", 3);
  EXPECT_TRUE(*store_->AddUnits(Key(leases[0]), {{7, "seven"}, {2, body}}, {}));
  EXPECT_TRUE(*store_->AddUnits(Key(leases[0]), {{2, "other"}, {3, ""}}, {}));  // the first one stays
  EXPECT_TRUE(*store_->AddUnits(Key(leases[1]), {{0, "of the second task"}}, {}));
  LeaseKey stale = Key(leases[0]);
  stale.worker = "x";
  EXPECT_FALSE(*store_->AddUnits(stale, {{9, "x"}}, {}));
  EXPECT_FALSE(*store_->AddUnits({"none", 0, 1, "w"}, {{9, "x"}}, {}));
  store_->FailTask(Key(leases[0]), absl::UnavailableError("gone"), true, At(2), At(2)).IgnoreError();
  EXPECT_FALSE(*store_->AddUnits(Key(leases[0]), {{9, "late"}}, {}));
  if (persistent()) Open();
  const auto again = Take({"cpu"}, 1, 3, "w2");
  ASSERT_EQ(again.size(), 1);
  ASSERT_EQ(again[0].units.size(), 3);
  EXPECT_EQ(again[0].units[0].index, 2);
  EXPECT_EQ(again[0].units[0].body, body);
  EXPECT_EQ(again[0].units[1].body, "");
  EXPECT_EQ(again[0].units[2].body, "seven");
  ASSERT_TRUE(*store_->FinishJob("j", {JobState::kCancelled, At(4), 1, "cancelled"}));
  EXPECT_FALSE(*store_->AddUnits(Key(again[0]), {{9, "x"}}, {}));
}

TEST_P(JobStoreTest, UnitsOfATaskAreBounded) {
  Create(Job("j"), {"cpu"}, 5);
  const auto lease = Take({"cpu"})[0];
  EXPECT_TRUE(*store_->AddUnits(Key(lease), {{0, "12345"}, {1, "12345"}}, {2, 10}));
  EXPECT_TRUE(*store_->AddUnits(Key(lease), {{0, "12345"}}, {2, 10}));
  const auto many = store_->AddUnits(Key(lease), {{2, ""}}, {2, 10});
  EXPECT_TRUE(absl::IsResourceExhausted(many.status()));
  EXPECT_EQ(many.status().message(), "task_units");
  EXPECT_EQ(store_->AddUnits(Key(lease), {{2, "x"}}, {3, 10}).status().message(), "task_unit_bytes");
  store_->FailTask(Key(lease), absl::UnavailableError("gone"), true, At(2), At(2)).IgnoreError();
  EXPECT_EQ(Take({"cpu"}, 1, 3)[0].units.size(), 2);  // nothing of what was refused
}

TEST_P(JobStoreTest, AFailedAttemptIsRepeatedAsLongAsAttemptsAreLeft) {
  Create(Job("j"), {"cpu"}, 2);
  auto lease = Take({"cpu"})[0];
  const absl::Status error = absl::UnavailableError("the device went away");
  auto end = store_->FailTask(Key(lease), error, true, At(2), At(5));
  EXPECT_EQ(end->outcome, Outcome::kAccepted);
  EXPECT_FALSE(end->last);
  EXPECT_EQ(store_->FailTask(Key(lease), error, true, At(2), At(5))->outcome, Outcome::kRepeated);
  EXPECT_EQ(store_->CompleteTask(Key(lease), "r")->outcome, Outcome::kStale);
  EXPECT_THAT(Take({"cpu"}, 1, 4), IsEmpty());
  const auto again = Take({"cpu"}, 1, 5, "w2");
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].task.attempt, 2);
  EXPECT_GT(again[0].task.token, lease.task.token);
  end = store_->FailTask(Key(again[0]), absl::InternalError("again"), true, At(6), At(7));
  EXPECT_TRUE(end->last);
  EXPECT_EQ(Task("j").state, TaskState::kFailed);
  EXPECT_EQ(Task("j").error, "again");
  const auto attempts = store_->GetAttempts("j");
  ASSERT_EQ(attempts->size(), 2);
  EXPECT_EQ((*attempts)[0].error, "the device went away");
  EXPECT_EQ((*attempts)[0].error_code, static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ((*attempts)[0].worker, "w");
  EXPECT_EQ((*attempts)[0].end_time, At(2));
  EXPECT_EQ((*attempts)[1].attempt, 2);
}

TEST_P(JobStoreTest, AFinalErrorIsNotRepeated) {
  Create(Job("j"), {"cpu"}, 5);
  const auto end = store_->FailTask(Key(Take({"cpu"})[0]), absl::InvalidArgumentError("no entry"), false, At(2), At(2));
  EXPECT_TRUE(end->last);
  EXPECT_THAT(Take({"cpu"}), IsEmpty());
}

TEST_P(JobStoreTest, AnExpiredLeaseGoesToAnotherAndTheFirstHolderIsTooLate) {
  Create(Job("j"));
  const auto first = Take({"cpu"}, 1, 1)[0];  // until 11
  const absl::Status cause = absl::DeadlineExceededError("lease expired");
  EXPECT_THAT(*store_->ExpireLeases(At(11), cause, At(11), 10), IsEmpty());
  const auto expired = store_->ExpireLeases(At(12), cause, At(12), 10);
  ASSERT_EQ(expired->size(), 1);
  EXPECT_EQ((*expired)[0].token, first.task.token);
  EXPECT_THAT(*store_->RenewLeases({Key(first)}, At(30)), ElementsAre(false));
  const auto second = Take({"cpu"}, 1, 12, "w2");
  ASSERT_EQ(second.size(), 1);
  EXPECT_EQ(store_->CompleteTask(Key(first), "late")->outcome, Outcome::kStale);
  EXPECT_EQ(store_->CompleteTask(Key(second[0]), "good")->outcome, Outcome::kAccepted);
  EXPECT_EQ(Task("j").result, "good");
  EXPECT_EQ(store_->GetAttempts("j")->size(), 1);
}

TEST_P(JobStoreTest, ExpiryUsesUpAttempts) {
  Create(Job("j"), {"cpu"}, 1);
  Take({"cpu"});
  EXPECT_EQ(store_->ExpireLeases(At(100), absl::DeadlineExceededError("x"), At(100), 10)->size(), 1);
  EXPECT_EQ(Task("j").state, TaskState::kFailed);
  EXPECT_THAT(*store_->ListFinishable(10), ElementsAre("j"));
}

TEST_P(JobStoreTest, RenewalKeepsALease) {
  Create(Job("j"));
  const auto lease = Take({"cpu"})[0];
  EXPECT_THAT(*store_->RenewLeases({Key(lease), {"j", 0, lease.task.token + 1, "w"}, {"j", 9, 1, "w"}}, At(50)),
              ElementsAre(true, false, false));
  EXPECT_THAT(*store_->ExpireLeases(At(49), absl::InternalError("x"), At(49), 10), IsEmpty());
  EXPECT_EQ(Task("j").lease_deadline, At(50));
}

TEST_P(JobStoreTest, ALeaseIsItsHoldersAlone) {
  Create(Job("j"));
  LeaseKey key = Key(Take({"cpu"})[0]);
  for (const char* other : {"v", "", "W", "w "}) {
    key.worker = other;
    EXPECT_THAT(*store_->RenewLeases({key}, At(50)), ElementsAre(false)) << other;
    EXPECT_EQ(store_->CompleteTask(key, "forged")->outcome, Outcome::kStale) << other;
    EXPECT_EQ(store_->FailTask(key, absl::InternalError("x"), false, At(2), At(2))->outcome, Outcome::kStale) << other;
  }
  key.worker = "w";
  EXPECT_EQ(store_->CompleteTask(key, "good")->outcome, Outcome::kAccepted);
  EXPECT_EQ(Task("j").result, "good");
}

TEST_P(JobStoreTest, ReleasesTheLeasesOfOneWorker) {
  Create(Job("j"), {"cpu", "cpu", "cpu"}, 2);
  const auto own = Take({"cpu"}, 2, 1, "w");
  const auto other = Take({"cpu"}, 1, 1, "v");
  const absl::Status cause = absl::UnavailableError("restarted");
  const auto released = store_->ReleaseLeases("w", At(3), cause);
  ASSERT_EQ(released->size(), 2);
  EXPECT_EQ((*released)[0].worker, "w");
  EXPECT_EQ(store_->CompleteTask(Key(own[0]), "late")->outcome, Outcome::kStale);
  EXPECT_THAT(*store_->RenewLeases({Key(other[0])}, At(50)), ElementsAre(true));
  EXPECT_EQ(store_->GetAttempts("j")->at(0).error, "restarted");
  EXPECT_THAT(*store_->ReleaseLeases("w", At(3), cause), IsEmpty());
  EXPECT_EQ(Take({"cpu"}, 5, 3, "v").size(), 2);  // at once
  EXPECT_EQ(store_->ReleaseLeases("v", At(4), cause)->size(), 3);
  EXPECT_EQ(Task("j", 0).state, TaskState::kFailed);  // attempts are used up
  EXPECT_EQ(Task("j", 2).state, TaskState::kQueued);
}

TEST_P(JobStoreTest, LeasesStartAnewAndNobodyWaitsTooLong) {
  Create(Job("j"), {"cpu", "cpu", "gpu"}, 5);
  const auto held = Take({"cpu"}, 1, 1)[0];
  const auto failed = Take({"cpu"}, 1, 1)[0];
  ASSERT_TRUE(store_->FailTask(Key(failed), absl::UnavailableError("x"), true, At(2), At(900)).ok());
  ASSERT_TRUE(store_->RestartLeases(At(40), At(30)).ok());
  EXPECT_EQ(Task("j", 0).lease_deadline, At(40));
  EXPECT_EQ(Task("j", 0).token, held.task.token);
  EXPECT_EQ(Task("j", 1).not_before, At(30));
  EXPECT_LT(Task("j", 2).not_before, At(30));  // as it was
  EXPECT_EQ(Task("j", 1).lease_deadline, kNever);
  EXPECT_THAT(*store_->ExpireLeases(At(39), absl::InternalError("x"), At(39), 10), IsEmpty());
  EXPECT_EQ(store_->CompleteTask(Key(held), "good")->outcome, Outcome::kAccepted);
}

TEST_P(JobStoreTest, AJobEndsOnce) {
  Create(Job("j"), {"cpu", "cpu"});
  const auto lease = Take({"cpu"})[0];
  JobEnd end;
  end.state = JobState::kCancelled;
  end.time = At(4);
  end.error_code = 1;
  end.error = "by alice";
  EXPECT_TRUE(*store_->FinishJob("j", end));
  end.state = JobState::kSucceeded;
  EXPECT_FALSE(*store_->FinishJob("j", end));
  const auto job = store_->GetJob("j");
  EXPECT_EQ(job->state, JobState::kCancelled);
  EXPECT_EQ(job->end_time, At(4));
  EXPECT_EQ(job->error, "by alice");
  EXPECT_EQ(job->error_code, 1);
  EXPECT_EQ(job->open_tasks, 0);
  EXPECT_EQ(Task("j", 0).state, TaskState::kCancelled);
  EXPECT_EQ(Task("j", 1).state, TaskState::kCancelled);
  EXPECT_EQ(store_->CompleteTask(Key(lease), "r")->outcome, Outcome::kStale);
  EXPECT_THAT(*store_->RenewLeases({Key(lease)}, At(50)), ElementsAre(false));
  EXPECT_THAT(Take({"cpu"}, 5), IsEmpty());
  EXPECT_THAT(*store_->ListFinishable(10), IsEmpty());
}

TEST_P(JobStoreTest, KeepsResultAndReproducersWithTheEnd) {
  Create(Job("j"));
  JobEnd end;
  end.result = std::string("result\0", 7);
  end.reproducers = {{"r1", "j", At(3), "body 1"}, {"r2", "j", At(4), "body 2"}};
  ASSERT_TRUE(*store_->FinishJob("j", end));
  EXPECT_EQ(store_->GetJob("j")->result, end.result);
  ASSERT_TRUE(store_->DeleteJob("j").ok());
  EXPECT_EQ(store_->GetReproducer("r1")->body, "body 1");
  EXPECT_EQ(store_->GetReproducer("r1")->create_time, At(3));
  const auto listed = store_->ListReproducers(0, 1);
  ASSERT_EQ(listed->reproducers.size(), 1);
  EXPECT_EQ(listed->reproducers[0].id, "r2");
  EXPECT_EQ(listed->reproducers[0].body, "");
  EXPECT_TRUE(listed->more);
  const auto rest = store_->ListReproducers(listed->reproducers[0].sequence, 1);
  ASSERT_EQ(rest->reproducers.size(), 1);
  EXPECT_EQ(rest->reproducers[0].id, "r1");
  EXPECT_FALSE(rest->more);
  EXPECT_EQ(store_->Stats()->reproducers, 2);
  EXPECT_TRUE(store_->DeleteReproducer("r1").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteReproducer("r1")));
  EXPECT_TRUE(absl::IsNotFound(store_->GetReproducer("r1").status()));
  EXPECT_EQ(store_->Stats()->reproducers, 1);
}

TEST_P(JobStoreTest, ListsTheLatestFirstInPages) {
  for (int i = 0; i < 5; ++i) Create(Job(absl::StrCat("j", i), i % 2 == 0 ? "alice" : "bob"));
  ASSERT_TRUE(store_->FinishJob("j2", {}).ok());
  const auto ids = [&](const JobFilter& filter, int64_t before, int limit, bool more) {
    const auto page = store_->ListJobs(filter, before, limit);
    EXPECT_EQ(page->more, more);
    std::vector<std::string> listed;
    for (const JobRecord& job : page->jobs) {
      EXPECT_EQ(job.spec, "");
      listed.push_back(job.id);
    }
    return listed;
  };
  EXPECT_THAT(ids({}, 0, 2, true), ElementsAre("j4", "j3"));
  EXPECT_THAT(ids({}, store_->GetJob("j3")->sequence, 3, false), ElementsAre("j2", "j1", "j0"));
  EXPECT_THAT(ids({"alice", false}, 0, 10, false), ElementsAre("j4", "j2", "j0"));
  EXPECT_THAT(ids({"alice", true}, 0, 10, false), ElementsAre("j4", "j0"));
}

TEST_P(JobStoreTest, FindsOverdueJobs) {
  JobRecord job = Job("j");
  job.deadline = At(5);
  Create(job);
  Create(Job("k"));
  EXPECT_THAT(*store_->ListOverdue(At(5), 10), IsEmpty());
  EXPECT_THAT(*store_->ListOverdue(At(6), 10), ElementsAre("j"));
}

TEST_P(JobStoreTest, DeletesOnlyWhatHasEnded) {
  for (const char* id : {"a", "b", "c"}) Create(Job(id));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->DeleteJob("a")));
  JobEnd end;
  end.time = At(1);
  ASSERT_TRUE(*store_->FinishJob("a", end));
  end.time = At(2);
  ASSERT_TRUE(*store_->FinishJob("b", end));
  EXPECT_EQ(*store_->DeleteFinished(At(1), 10), 0);
  EXPECT_EQ(*store_->DeleteFinished(At(9), 1), 1);
  EXPECT_TRUE(absl::IsNotFound(store_->GetJob("a").status()));
  EXPECT_EQ(store_->Stats()->finished_jobs, 1);
  EXPECT_EQ(*store_->DeleteFinished(At(9), 10), 1);
  EXPECT_TRUE(store_->GetJob("c").ok());
  EXPECT_EQ(store_->Stats()->finished_jobs, 0);
}

TEST_P(JobStoreTest, CountsWhatItHolds) {
  EXPECT_EQ(store_->Stats()->oldest_queued, kNever);
  Create(Job("a"), {"cpu", "cpu"});
  JobRecord later = Job("b");
  later.create_time = At(5);
  Create(later);
  Take({"cpu"});
  const auto stats = store_->Stats();
  EXPECT_EQ(stats->open_jobs, 2);
  EXPECT_EQ(stats->queued_tasks, 2);
  EXPECT_EQ(stats->leased_tasks, 1);
  EXPECT_EQ(stats->oldest_queued, start_);
}

TEST_P(JobStoreTest, GivesEachTaskToOneOfManyThreads) {
  constexpr int kThreads = 6, kJobs = 40;
  for (int i = 0; i < kJobs; ++i) Create(Job(absl::StrCat("j", i)));
  std::vector<std::vector<std::string>> taken(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (true) {
        const auto leases = store_->LeaseTasks({absl::StrCat("w", t), {"cpu"}, 2, At(1), At(10)});
        if (!leases.ok() || leases->empty()) return;
        for (const Lease& lease : *leases) {
          taken[t].push_back(lease.task.job);
          EXPECT_EQ(store_->CompleteTask(Key(lease), "r")->outcome, Outcome::kAccepted);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<std::string> all;
  for (const auto& own : taken) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), kJobs);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), kJobs);
  EXPECT_EQ(store_->ListFinishable(100)->size(), kJobs);
}

TEST_P(JobStoreTest, KeepsJobsAndTokensAcrossOpenings) {
  if (!persistent()) return;
  Create(Job("j"));
  const auto lease = Take({"cpu"})[0];
  Open();
  EXPECT_EQ(store_->GetJob("j")->spec, Job("j").spec);
  EXPECT_EQ(store_->CompleteTask(Key(lease), "r")->outcome, Outcome::kAccepted);
  Create(Job("k"));
  EXPECT_GT(Take({"cpu"})[0].task.token, lease.task.token);
}

INSTANTIATE_TEST_SUITE_P(All, JobStoreTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "sqlite" : "memory"; });

}  // namespace
}  // namespace samebits::storage
