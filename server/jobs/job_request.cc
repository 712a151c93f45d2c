#include "server/jobs/job_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/duration.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"

namespace samebits::server {

absl::StatusOr<absl::Duration> TimeoutOf(const google::protobuf::Duration& stated, absl::Duration longest,
                                         std::string_view longest_text, std::string_view field) {
  const absl::Duration timeout = absl::Seconds(stated.seconds()) + absl::Nanoseconds(stated.nanos());
  if (timeout > absl::ZeroDuration() && timeout <= longest) return timeout;
  return InvalidField(field, "must be positive and at most " + std::string(longest_text));
}

void ForEachDevice(const std::vector<storage::WorkerRecord>& workers,
                   const std::function<void(const worker::v1::CreateWorkerSessionRequest&, const v1::Device&)>& use) {
  for (const storage::WorkerRecord& worker : workers) {
    worker::v1::CreateWorkerSessionRequest about;
    if (!about.ParseFromString(worker.description)) continue;
    about.set_worker(worker.id);
    for (const v1::Device& device : about.devices()) use(about, device);
  }
}

Submission NewSubmission(std::string kind, std::string request_id, const google::protobuf::MessageLite& anonymous,
                         int32_t priority, absl::Duration timeout) {
  Submission submission;
  submission.kind = std::move(kind);
  submission.request_id = std::move(request_id);
  submission.request_digest = ContentDigest(anonymous.SerializeAsString());
  submission.priority = priority;
  submission.timeout = timeout;
  return submission;
}

}  // namespace samebits::server
