#include "server/jobs/job_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/duration.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

class ForwardingFinisher : public JobFinisher {
 public:
  explicit ForwardingFinisher(std::function<bool(const std::string&)> usable) : usable_(std::move(usable)) {}

  storage::JobEnd Finish(const storage::JobRecord&, const std::vector<storage::TaskRecord>& tasks) override {
    storage::JobEnd end;
    const storage::TaskRecord& task = tasks[0];
    if (task.state == storage::TaskState::kDone && usable_(task.result)) {
      end.result = task.result;
      return end;
    }
    end.state = storage::JobState::kFailed;
    end.error_code = task.error_code != 0 ? task.error_code : static_cast<int>(absl::StatusCode::kInternal);
    end.error = task.error.empty() ? "the worker sent no usable result" : task.error;
    return end;
  }

 private:
  const std::function<bool(const std::string&)> usable_;
};

}  // namespace

absl::Status CheckName(std::string_view text, std::string_view field) {
  return text.size() <= kLongestName ? absl::OkStatus() : InvalidField(field, "must have at most 256 bytes");
}

absl::Status CheckPriority(int32_t priority, std::string_view field) {
  const bool within = priority >= -kMostPriority && priority <= kMostPriority;
  return within ? absl::OkStatus() : InvalidField(field, "must be from -100 to 100");
}

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

std::optional<std::string> FirstOffered(std::string_view what, const std::string& device, const std::vector<std::string>& offered) {
  std::vector<std::string> wanted = {device};
  if (device.empty()) wanted = {"cuda", "rocm", "cpu"};
  for (const std::string& on : wanted) {
    std::string target = absl::StrCat(std::string(what), "@", on);
    if (std::find(offered.begin(), offered.end(), target) != offered.end()) return target;
  }
  return std::nullopt;
}

absl::Status NoDevice(std::string target, std::string_view problem) {
  return WithDetail(absl::FailedPreconditionError(std::string(problem)), "NO_DEVICE", {{"target", std::move(target)}});
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

std::unique_ptr<JobFinisher> MakeForwardingFinisher(std::function<bool(const std::string& result)> usable) {
  return std::make_unique<ForwardingFinisher>(std::move(usable));
}

}  // namespace samebits::server
