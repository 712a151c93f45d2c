#include "server/registry/task_pool.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

using Admission = TaskPool::Admission;

// A pool of one thread whose thread is busy until Free.
class BusyPool {
 public:
  explicit BusyPool(uint32_t limit) : pool(1, limit, "max_test") {
    EXPECT_TRUE(pool.Submit([this](bool) {
      started_.Notify();
      free_.WaitForNotification();
    }, Admission::kQueue).ok());
    started_.WaitForNotification();
  }
  ~BusyPool() { Free(); }
  void Free() {
    if (!free_.HasBeenNotified()) free_.Notify();
  }

  TaskPool pool;

 private:
  absl::Notification started_, free_;
};

TEST(TaskPoolTest, RunsEveryTaskOnce) {
  TaskPool pool(3, 1000, "max_test");
  absl::BlockingCounter left(200);
  std::atomic<int> runs{0};
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(pool.Submit([&](bool run) {
      runs += run;
      left.DecrementCount();
    }, Admission::kQueue).ok());
  }
  left.Wait();
  EXPECT_EQ(runs, 200);
}

TEST(TaskPoolTest, RunsAsManyAtOnceAsThreads) {
  TaskPool pool(3, 10, "max_test");
  absl::Barrier* barrier = new absl::Barrier(3);
  absl::BlockingCounter left(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pool.Submit([&, barrier](bool) {
      if (barrier->Block()) delete barrier;  // passes only if all three run at the same time
      left.DecrementCount();
    }, Admission::kQueue).ok());
  }
  left.Wait();
}

TEST(TaskPoolTest, KeepsTheOrder) {
  BusyPool busy(10);
  std::string order;
  absl::BlockingCounter left(3);
  for (const char c : {'a', 'b', 'c'}) {
    ASSERT_TRUE(busy.pool.Submit([&, c](bool) {
      order.push_back(c);
      left.DecrementCount();
    }, Admission::kQueue).ok());
  }
  busy.Free();
  left.Wait();
  EXPECT_EQ(order, "abc");
}

TEST(TaskPoolTest, RefusesOverTheLimitByName) {
  std::atomic<int> runs{0};
  BusyPool busy(2);
  EXPECT_TRUE(busy.pool.Submit([&](bool) { ++runs; }, Admission::kQueue).ok());
  EXPECT_TRUE(busy.pool.Submit([&](bool) { ++runs; }, Admission::kQueue).ok());
  const absl::Status status = busy.pool.Submit([&](bool) { ++runs; }, Admission::kQueue);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "QUEUE_FULL");
  EXPECT_EQ(detail->metadata.at("limit"), "max_test");
  EXPECT_EQ(detail->metadata.at("maximum"), "2");
  EXPECT_EQ(busy.pool.load().queued, 2);
  EXPECT_EQ(busy.pool.load().running, 1);
}

TEST(TaskPoolTest, AcceptsReservedTasksOverTheLimit) {
  BusyPool busy(1);
  EXPECT_TRUE(busy.pool.Submit([](bool) {}, Admission::kQueue).ok());
  EXPECT_TRUE(busy.pool.Submit([](bool) {}, Admission::kReserved).ok());
  EXPECT_FALSE(busy.pool.Submit([](bool) {}, Admission::kQueue).ok());
}

TEST(TaskPoolTest, ReservedTasksDoNotFillTheQueue) {
  BusyPool busy(1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(busy.pool.Submit([](bool) {}, Admission::kReserved).ok());
  EXPECT_TRUE(busy.pool.Submit([](bool) {}, Admission::kQueue).ok());
}

TEST(TaskPoolTest, StopDropsWhatWaitsAndEndsWhatRuns) {
  std::atomic<int> ran{0}, dropped{0};
  BusyPool busy(10);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(busy.pool.Submit([&](bool run) { run ? ++ran : ++dropped; }, Admission::kQueue).ok());
  std::thread stopper([&] { busy.pool.Stop(); });
  while (dropped < 3) std::this_thread::yield();
  busy.Free();
  stopper.join();
  EXPECT_EQ(ran, 0);
  const absl::Status status = busy.pool.Submit([&](bool) { ++ran; }, Admission::kReserved);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(GetErrorDetail(status)->reason, "SHUTTING_DOWN");
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace samebits::server
