// The life of jobs, without RPC: a clock that tests set, a store in memory, workers that are function calls.

#include "server/dispatch/dispatcher.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/registry/errors.h"
#include "storage/memory/memory_fleet_store.h"
#include "storage/memory/memory_job_store.h"

namespace samebits::server {
namespace {

using storage::JobState;
using storage::TaskState;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Joins the results of the tasks; fails where one has none.
class Joiner : public JobFinisher {
 public:
  storage::JobEnd Finish(const storage::JobRecord& job, const std::vector<storage::TaskRecord>& tasks) override {
    storage::JobEnd end;
    for (const storage::TaskRecord& task : tasks) {
      if (task.state == TaskState::kDone) {
        absl::StrAppend(&end.result, task.result, ";");
        continue;
      }
      end.state = JobState::kFailed;
      end.error_code = task.error_code;
      end.error = task.error;
    }
    if (job.spec == "contradiction") end.reproducers.push_back({"r-" + job.id, job.id, {}, "body"});
    return end;
  }
};

class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() {
    config_.clock = [this] { return now_; };
    config_.limits = {5, 3};
    config_.max_attempts = 2;
    config_.max_finished = 4;
    std::map<std::string, std::unique_ptr<JobFinisher>> finishers;
    finishers["join"] = std::make_unique<Joiner>();
    dispatcher_ = std::make_unique<Dispatcher>(config_, jobs_, fleet_, std::move(finishers), metrics_);
  }

  static Submission Request(std::vector<std::string> targets = {"cpu"}) {
    Submission submission;
    submission.kind = "join";
    submission.principal = "alice";
    submission.targets = std::move(targets);
    return submission;
  }
  std::string Submit(const Submission& submission) {
    const auto job = dispatcher_->Submit(submission);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->id : "";
  }
  int64_t Session(const std::string& worker) { return dispatcher_->OpenSession(worker, "about me")->session; }
  // A call of a worker with one free device, if `free`.
  WorkerOrders Call(const std::string& worker, int64_t session, bool free = true,
                    std::vector<WorkerReport::Running> running = {},
                    std::vector<WorkerReport::Finished> finished = {}) {
    WorkerReport report{worker, session, std::move(running), std::move(finished), {}};
    if (free) report.free.push_back({7, {"cpu", "workers/" + worker + "/devices/7"}});
    auto orders = dispatcher_->Update(report);
    EXPECT_TRUE(orders.ok()) << orders.status();
    return orders.ok() ? *std::move(orders) : WorkerOrders();
  }
  static storage::LeaseKey Key(const storage::Lease& lease) {
    return {lease.task.job, lease.task.index, lease.task.token};
  }
  // Lets the time pass as a server sees it that is there all along.
  void Pass(absl::Duration time) {
    dispatcher_->Tick();
    for (const absl::Duration step = config_.lease_duration / 3; time > absl::ZeroDuration(); time -= step) {
      now_ += std::min(time, step);
      dispatcher_->Tick();
    }
  }
  JobView Get(const std::string& id) { return *dispatcher_->Get(id); }
  static std::string Reason(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail ? detail->reason : "";
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  DispatchConfig config_;
  storage::MemoryJobStore jobs_;
  storage::MemoryFleetStore fleet_;
  Metrics metrics_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, AJobGoesFromQueueToResult) {
  const std::string id = Submit(Request({"cpu", "cpu"}));
  const int64_t session = Session("w");
  const WorkerOrders first = Call("w", session);
  ASSERT_THAT(first.leased, SizeIs(1));
  EXPECT_EQ(first.leased[0].first, 7);
  Call("w", session, false, {{Key(first.leased[0].second), {3, 10}}});
  EXPECT_EQ(Get(id).progress[0].done, 3);
  EXPECT_EQ(Get(id).progress[0].total, 10);
  const WorkerOrders second = Call("w", session, true, {}, {{Key(first.leased[0].second), {}, "a"}});
  ASSERT_THAT(second.leased, SizeIs(1));
  Call("w", session, false, {}, {{Key(second.leased[0].second), {}, "b"}});
  EXPECT_EQ(Get(id).job.state, JobState::kOpen);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.state, JobState::kSucceeded);
  EXPECT_EQ(Get(id).job.result, "a;b;");
}

TEST_F(DispatcherTest, AResultReportedTwiceCountsOnce) {
  const std::string id = Submit(Request());
  const int64_t session = Session("w");
  const storage::LeaseKey lease = Key(Call("w", session).leased[0].second);
  for (int i = 0; i < 3; ++i) {
    Call("w", session, false, {}, {{lease, {}, absl::StrCat("result ", i)}});
    dispatcher_->Tick();
  }
  EXPECT_EQ(Get(id).job.result, "result 0;");
}

TEST_F(DispatcherTest, ARestartedWorkersTasksAreQueuedAtOnce) {
  const std::string id = Submit(Request());
  const int64_t before = Session("w");
  const storage::LeaseKey lease = Key(Call("w", before).leased[0].second);
  const int64_t after = Session("w");
  EXPECT_EQ(Get(id).tasks[0].state, TaskState::kQueued);
  EXPECT_EQ(Get(id).attempts[0].error, "the worker has started anew");
  const WorkerOrders again = Call("w", after, true, {}, {{lease, {}, "late"}});
  ASSERT_THAT(again.leased, SizeIs(1));
  Session("v");  // another worker's session releases nothing
  EXPECT_EQ(Get(id).tasks[0].state, TaskState::kLeased);
  Session("w");  // the last attempt
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.state, JobState::kFailed);
}

TEST_F(DispatcherTest, AResultOfAnothersLeaseCountsNothing) {
  const std::string id = Submit(Request());
  const int64_t holder = Session("w"), other = Session("v");
  const storage::LeaseKey lease = Key(Call("w", holder).leased[0].second);
  EXPECT_THAT(Call("v", other, false, {{lease, {9, 9}}}, {{lease, {}, "forged"}}).revoked, SizeIs(1));
  Call("v", other, false, {}, {{lease, absl::InternalError("forged"), ""}});
  EXPECT_EQ(Get(id).tasks[0].state, TaskState::kLeased);
  EXPECT_EQ(Get(id).progress[0].total, 0);
  Call("w", holder, false, {}, {{lease, {}, "own"}});
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.result, "own;");
}

TEST_F(DispatcherTest, LeasesGetTheirFullTimeAfterAnAbsence) {
  for (const absl::Duration jump : {absl::Hours(10), -absl::Hours(10), config_.lease_duration}) {
    Submission submission = Request();
    submission.timeout = absl::Hours(100);
    const std::string id = Submit(submission);
    const int64_t session = Session("w");
    const storage::LeaseKey lease = Key(Call("w", session).leased[0].second);
    Pass(absl::Seconds(1));
    now_ += jump;
    Pass(config_.lease_duration - absl::Seconds(1));
    EXPECT_EQ(Get(id).tasks[0].state, TaskState::kLeased) << jump;
    Pass(absl::Seconds(2));
    EXPECT_EQ(Get(id).tasks[0].state, TaskState::kQueued) << jump;
    Call("w", session, false, {}, {{lease, {}, "late"}});
    Pass(config_.retry_delay);
    const WorkerOrders again = Call("w", session);
    ASSERT_THAT(again.leased, SizeIs(1)) << jump;
    Call("w", session, false, {}, {{Key(again.leased[0].second), {}, "good"}});
    dispatcher_->Tick();
    EXPECT_EQ(Get(id).job.result, "good;") << jump;
  }
}

TEST_F(DispatcherTest, ATaskDoesNotWaitForAClockThatWasSetBack) {
  const std::string id = Submit(Request());
  const int64_t session = Session("w");
  const storage::LeaseKey lease = Key(Call("w", session).leased[0].second);
  Pass(absl::Seconds(1));
  Call("w", session, false, {}, {{lease, absl::UnavailableError("busy"), ""}});
  now_ -= absl::Hours(10);
  Pass(config_.retry_delay);
  EXPECT_THAT(Call("w", session).leased, SizeIs(1));
}

TEST_F(DispatcherTest, ALostWorkersTaskGoesToAnother) {
  const std::string id = Submit(Request());
  const int64_t lost = Session("lost"), other = Session("other");
  const storage::LeaseKey lease = Key(Call("lost", lost).leased[0].second);
  Pass(config_.lease_duration - absl::Seconds(1));
  Call("lost", lost, false, {{lease, {}}});  // renews
  Pass(config_.lease_duration - absl::Seconds(1));
  EXPECT_EQ(Get(id).tasks[0].state, TaskState::kLeased);
  Pass(absl::Seconds(2));
  EXPECT_THAT(Call("other", other).leased, IsEmpty());  // not at once
  now_ += config_.retry_delay;
  const WorkerOrders orders = Call("other", other);
  ASSERT_THAT(orders.leased, SizeIs(1));
  EXPECT_EQ(Get(id).attempts[0].worker, "lost");
  const WorkerOrders late = Call("lost", lost, false, {{lease, {}}}, {{lease, {}, "late"}});
  EXPECT_THAT(late.revoked, SizeIs(1));
  Call("other", other, false, {}, {{Key(orders.leased[0].second), {}, "good"}});
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.result, "good;");
}

TEST_F(DispatcherTest, PassingErrorsAreRetriedAndOthersAreNot) {
  const int64_t session = Session("w");
  const std::string passing = Submit(Request());
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), absl::UnavailableError("device lost"), ""}});
  EXPECT_EQ(Get(passing).tasks[0].state, TaskState::kQueued);
  EXPECT_EQ(Get(passing).attempts[0].error, "device lost");
  now_ += absl::Seconds(2);
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), absl::UnavailableError("again"), ""}});
  dispatcher_->Tick();
  EXPECT_EQ(Get(passing).job.state, JobState::kFailed);
  EXPECT_EQ(Get(passing).job.error, "again");
  const std::string final = Submit(Request());
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), absl::InvalidArgumentError("bad"), ""}});
  dispatcher_->Tick();
  EXPECT_EQ(Get(final).job.state, JobState::kFailed);
  EXPECT_THAT(Get(final).attempts, SizeIs(1));
}

TEST_F(DispatcherTest, CancellingEndsAtOnceAndReachesTheWorker) {
  const std::string id = Submit(Request());
  const int64_t session = Session("w");
  const storage::LeaseKey lease = Key(Call("w", session).leased[0].second);
  const auto cancelled = dispatcher_->Cancel(id, "bob");
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->job.state, JobState::kCancelled);
  EXPECT_EQ(cancelled->job.error, "cancelled by bob");
  EXPECT_THAT(Call("w", session, false, {{lease, {}}}).revoked, SizeIs(1));
  Call("w", session, false, {}, {{lease, {}, "late"}});
  dispatcher_->Tick();
  EXPECT_EQ(dispatcher_->Cancel(id, "carol")->job.error, "cancelled by bob");
  EXPECT_EQ(Get(id).job.state, JobState::kCancelled);
}

TEST_F(DispatcherTest, AJobEndsAtItsDeadline) {
  Submission submission = Request();
  submission.timeout = absl::Seconds(10);
  const std::string id = Submit(submission);
  now_ += absl::Seconds(11);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.state, JobState::kFailed);
  EXPECT_EQ(Get(id).job.error_code, static_cast<int>(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(DispatcherTest, LimitsAndRequestIds) {
  for (int i = 0; i < 3; ++i) Submit(Request());
  const auto over = dispatcher_->Submit(Request());
  EXPECT_EQ(Reason(over.status()), "QUEUE_FULL");
  EXPECT_EQ(GetErrorDetail(over.status())->metadata.at("limit"), "max_open_jobs_of_principal");
  Submission submission = Request();
  submission.principal = "bob";
  submission.request_id = "r";
  const std::string id = Submit(submission);
  EXPECT_EQ(Submit(submission), id);
  submission.request_digest[0] = 1;
  EXPECT_EQ(Reason(dispatcher_->Submit(submission).status()), "REQUEST_ID_REUSED");
}

TEST_F(DispatcherTest, ADrainingWorkerGetsNothingNew) {
  Submit(Request());
  const int64_t session = Session("w");
  ASSERT_TRUE(dispatcher_->SetDraining("w", true).ok());
  EXPECT_THAT(Call("w", session).leased, IsEmpty());
  ASSERT_TRUE(dispatcher_->SetDraining("w", false).ok());
  EXPECT_THAT(Call("w", session).leased, SizeIs(1));
}

TEST_F(DispatcherTest, AnOldSessionIsRefused) {
  const int64_t old = Session("w");
  Session("w");
  EXPECT_EQ(Reason(dispatcher_->Update({"w", old, {}, {}, {}}).status()), "SESSION_LOST");
  EXPECT_EQ(Reason(dispatcher_->Update({"nobody", 1, {}, {}, {}}).status()), "RESOURCE_NOT_FOUND");
}

TEST_F(DispatcherTest, WorkersGoOffline) {
  Session("w");
  EXPECT_TRUE(dispatcher_->IsOnline(*dispatcher_->GetWorker("w")));
  now_ += config_.offline_after;
  EXPECT_FALSE(dispatcher_->IsOnline(*dispatcher_->GetWorker("w")));
}

TEST_F(DispatcherTest, SubscribersHearOfEachChange) {
  const std::string id = Submit(Request()), other = Submit(Request());
  std::atomic<int> calls{0};
  const uint64_t subscription = dispatcher_->Subscribe(id, [&] { ++calls; });
  const int64_t session = Session("w");
  const storage::LeaseKey lease = Key(Call("w", session).leased[0].second);
  EXPECT_EQ(calls, 1);
  Call("w", session, false, {{lease, {1, 2}}});
  Call("w", session, false, {{lease, {1, 2}}});  // nothing new
  EXPECT_EQ(calls, 2);
  ASSERT_TRUE(dispatcher_->Cancel(other, "alice").ok());
  EXPECT_EQ(calls, 2);
  dispatcher_->Unsubscribe(subscription);
  ASSERT_TRUE(dispatcher_->Cancel(id, "alice").ok());
  EXPECT_EQ(calls, 2);
}

TEST_F(DispatcherTest, EndedJobsAreDeletedByHandAndByAge) {
  const std::string id = Submit(Request());
  EXPECT_EQ(Reason(dispatcher_->Delete(id)), "NOT_ENDED");
  ASSERT_TRUE(dispatcher_->Cancel(id, "alice").ok());
  EXPECT_TRUE(dispatcher_->Delete(id).ok());
  EXPECT_EQ(Reason(dispatcher_->Get(id).status()), "RESOURCE_NOT_FOUND");
  const std::string old = Submit(Request());
  ASSERT_TRUE(dispatcher_->Cancel(old, "alice").ok());
  dispatcher_->Tick();
  EXPECT_TRUE(dispatcher_->Get(old).ok());
  now_ += config_.keep_finished + absl::Minutes(2);
  dispatcher_->Tick();
  EXPECT_FALSE(dispatcher_->Get(old).ok());
}

TEST_F(DispatcherTest, MoreEndedJobsThanAreKeptGoTheOldestFirst) {
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) {
    ids.push_back(Submit(Request()));
    now_ += absl::Seconds(1);
    ASSERT_TRUE(dispatcher_->Cancel(ids.back(), "alice").ok());
  }
  now_ += absl::Minutes(2);
  dispatcher_->Tick();
  for (int i = 0; i < 7; ++i) EXPECT_EQ(dispatcher_->Get(ids[i]).ok(), i >= 3) << i;  // max_finished is 4
}

TEST_F(DispatcherTest, AllOldJobsGoHoweverManyThereAre) {
  for (int i = 0; i < 1200; ++i) ASSERT_TRUE(dispatcher_->Cancel(Submit(Request()), "alice").ok());
  now_ += config_.keep_finished + absl::Minutes(2);
  int ticks = 0;
  while (jobs_.Stats()->finished_jobs != 0) {
    dispatcher_->Tick();  // the clock stands: nothing waits for the next collection
    ASSERT_LT(++ticks, 10);
  }
}

TEST_F(DispatcherTest, UnknownKindsEndWithAnError) {
  Submission submission = Request();
  submission.kind = "unheard of";
  const std::string id = Submit(submission);
  const int64_t session = Session("w");
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), {}, "r"}});
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.state, JobState::kFailed);
}

TEST_F(DispatcherTest, ReproducersGetTheTimeOfTheEnd) {
  Submission submission = Request();
  submission.spec = "contradiction";
  const std::string id = Submit(submission);
  const int64_t session = Session("w");
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), {}, "r"}});
  dispatcher_->Tick();
  EXPECT_EQ(jobs_.GetReproducer("r-" + id)->create_time, now_);
}

TEST_F(DispatcherTest, WhatWasReadyBeforeARestartIsFinishedAfterIt) {
  const std::string id = Submit(Request());
  const int64_t session = Session("w");
  Call("w", session, false, {}, {{Key(Call("w", session).leased[0].second), {}, "r"}});
  std::map<std::string, std::unique_ptr<JobFinisher>> finishers;
  finishers["join"] = std::make_unique<Joiner>();
  dispatcher_ = std::make_unique<Dispatcher>(config_, jobs_, fleet_, std::move(finishers), metrics_);
  dispatcher_->Tick();
  EXPECT_EQ(Get(id).job.result, "r;");
}

}  // namespace
}  // namespace samebits::server
