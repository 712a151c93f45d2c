#ifndef SAMEBITS_TESTS_UNIT_SERVER_REGISTRY_REGISTRY_FIXTURE_H_
#define SAMEBITS_TESTS_UNIT_SERVER_REGISTRY_REGISTRY_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "server/registry/digest.h"
#include "server/registry/registry.h"
#include "storage/memory/memory_kernel_store.h"
#include "tests/support/fake_checker.h"

namespace samebits::server {

// Receives one answer of a Done, and fails the test on a second.
template <typename T>
class Reply {
 public:
  Done<T> done() {
    return [state = state_](absl::StatusOr<T> answer) {
      ASSERT_FALSE(state->answer.has_value()) << "answered twice";
      state->answer = std::move(answer);
      state->arrived.Notify();
    };
  }
  bool arrived() const { return state_->arrived.HasBeenNotified(); }
  const absl::StatusOr<T>& Get() const {
    if (!state_->arrived.WaitForNotificationWithTimeout(absl::Seconds(20))) {
      static const auto* const kLate = new absl::StatusOr<T>(absl::DeadlineExceededError("no answer"));
      return *kLate;
    }
    return *state_->answer;
  }

 private:
  struct State {
    std::optional<absl::StatusOr<T>> answer;
    absl::Notification arrived;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline std::string ReasonOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail ? detail->reason : "";
}
inline std::string MetadataOf(const absl::Status& status, const std::string& key) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail && detail->metadata.count(key) ? detail->metadata.at(key) : "";
}

// A registry with a fake checker and a store in memory.
class RegistryTest : public testing::Test {
 protected:
  ~RegistryTest() override { checker_->Release(); }

  Registry& registry() {
    if (registry_ == nullptr) {
      config_.checker = checker_;
      auto store = std::make_unique<storage::MemoryKernelStore>();
      store_ = store.get();
      config_.store = std::move(store);
      config_.metrics = &metrics_;
      registry_ = std::make_unique<Registry>(std::move(config_));
    }
    return *registry_;
  }
  // A launch of a text; `text` must outlive it.
  static KernelLaunch Inline(std::string_view text) {
    KernelLaunch launch;
    launch.text = text;
    return launch;
  }
  static KernelLaunch Named(std::string_view name) {
    KernelLaunch launch;
    launch.name = name;
    launch.has_name = true;
    return launch;
  }
  std::string Register(std::string_view text) {
    Reply<Kernel> answer;
    registry().Register(text, answer.done());
    EXPECT_TRUE(answer.Get().ok()) << answer.Get().status();
    return KernelName(ContentDigest(text));
  }
  absl::Status Delete(std::string_view name) {
    Reply<absl::monostate> answer;
    registry().DeleteKernel(name, answer.done());
    return answer.Get().status();
  }
  absl::StatusOr<SignatureAnswer> Signature(const KernelLaunch& launch, CheckOptions options = {}) {
    Reply<SignatureAnswer> answer;
    registry().ComputeSignature(launch, options, TaskPool::Admission::kQueue, answer.done());
    return answer.Get();
  }
  absl::StatusOr<ComparisonAnswer> Compare(const KernelLaunch& a, const KernelLaunch& b) {
    Reply<ComparisonAnswer> answer;
    registry().Compare(a, b, {}, answer.done());
    return answer.Get();
  }
  // Waits until the pool has nothing to do.
  void Settle() {
    while (true) {
      const Levels levels = registry().ReadLevels();
      if (levels.queued_checks + levels.running_checks == 0) return;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  const std::shared_ptr<FakeChecker> checker_ = std::make_shared<FakeChecker>();
  Metrics metrics_;
  Registry::Config config_;
  storage::KernelStore* store_ = nullptr;  // the registry's

 private:
  std::unique_ptr<Registry> registry_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_TESTS_UNIT_SERVER_REGISTRY_REGISTRY_FIXTURE_H_
