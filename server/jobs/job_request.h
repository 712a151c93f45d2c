#ifndef SAMEBITS_SERVER_JOBS_JOB_REQUEST_H_
#define SAMEBITS_SERVER_JOBS_JOB_REQUEST_H_

// What all requests for jobs have in common, whatever the job does.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/dispatch/dispatcher.h"
#include "storage/fleet_store.h"

namespace google::protobuf {
class Duration;
class MessageLite;
}  // namespace google::protobuf
namespace samebits::v1 {
class Device;
}  // namespace samebits::v1
namespace samebits::worker::v1 {
class CreateWorkerSessionRequest;
}  // namespace samebits::worker::v1

namespace samebits::server {

inline constexpr int kMostPriority = 100;     // and -100 the least
inline constexpr size_t kLongestName = 256;   // bytes of a request's id and of other names

// INVALID_FIELD where a text is longer than kLongestName, and where a priority is beyond kMostPriority.
absl::Status CheckName(std::string_view text, std::string_view field);
absl::Status CheckPriority(int32_t priority, std::string_view field);

// INVALID_FIELD where it is not positive or more than `longest`, which the error calls `longest_text`.
absl::StatusOr<absl::Duration> TimeoutOf(const google::protobuf::Duration& stated, absl::Duration longest,
                                         std::string_view longest_text, std::string_view field);

// The timeout that `message` states, as above, or `unless_stated` where it states none.
template <typename Message>
absl::StatusOr<absl::Duration> TimeoutOf(const Message& message, absl::Duration unless_stated, absl::Duration longest,
                                         std::string_view longest_text, std::string_view field) {
  if (!message.has_timeout()) return unless_stated;
  return TimeoutOf(message.timeout(), longest, longest_text, field);
}

// Calls `use` with each device of each worker and with what that worker said of itself, its id included. Workers whose
// description cannot be read are left out.
void ForEachDevice(const std::vector<storage::WorkerRecord>& workers,
                   const std::function<void(const worker::v1::CreateWorkerSessionRequest&, const v1::Device&)>& use);

// The first target "WHAT@DEVICE" among `offered`, for this device or, where none is named, a GPU before a CPU.
std::optional<std::string> FirstOffered(std::string_view what, const std::string& device, const std::vector<std::string>& offered);

// NO_DEVICE: no worker offers the target; `problem` says so, and what to do.
absl::Status NoDevice(std::string target, std::string_view problem);

// A submission but for its principal, spec and targets. `anonymous`: the request without its id, which tells equal
// requests.
Submission NewSubmission(std::string kind, std::string request_id, const google::protobuf::MessageLite& anonymous,
                         int32_t priority, absl::Duration timeout);

// The whole submission but for its principal, of a request that has its id and priority itself.
template <typename Request>
Submission NewSubmission(std::string kind, const Request& request, absl::Duration timeout, std::string spec,
                         std::vector<std::string> targets) {
  Request anonymous = request;
  anonymous.clear_request_id();
  Submission submission = NewSubmission(std::move(kind), request.request_id(), anonymous, request.priority(), timeout);
  submission.spec = std::move(spec);
  submission.targets = std::move(targets);
  return submission;
}

// For jobs of one task whose result is the operation's as it is, where it is `usable`.
std::unique_ptr<JobFinisher> MakeForwardingFinisher(std::function<bool(const std::string& result)> usable);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_JOBS_JOB_REQUEST_H_
