#ifndef SAMEBITS_SERVER_VERIFY_BLOCKING_H_
#define SAMEBITS_SERVER_VERIFY_BLOCKING_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "server/registry/call.h"

namespace samebits::server {

// Calls `start(done)` and waits for the answer that `done` gets. Not on the registry's own threads.
template <typename T, typename Start>
absl::StatusOr<T> Await(Start start) {
  absl::Notification notification;
  absl::StatusOr<T> answer = absl::InternalError("no answer");
  [[maybe_unused]] const auto call = start(Done<T>([&](absl::StatusOr<T> got) {
    answer = std::move(got);
    notification.Notify();
  }));
  notification.WaitForNotification();
  return answer;
}

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_VERIFY_BLOCKING_H_
