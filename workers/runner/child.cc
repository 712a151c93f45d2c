#include "workers/runner/child.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/status.pb.h"
#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/executor/rocm/hip_errors.h"
#include "workers/runner/frames.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

// With the device's own number, where it has one: an ordinal may have come to mean another since the worker started.
std::string ChildArgument(const DeviceHandle& device) {
  return device.info.uuid.empty() ? device.argument : absl::StrCat(device.argument, "/", device.info.uuid);
}

// One request on its way through processes.
class Run {
 public:
  Run(const DeviceHandle& device, const v1::VerifyKernelsRequest& request, const ChildLimits& limits,
      absl::Time deadline, const std::atomic<bool>& cancelled,
      const std::function<void(uint64_t, uint64_t)>& on_progress)
      : device_(device), limits_(limits), deadline_(deadline), cancelled_(cancelled), on_progress_(on_progress),
        bytes_(request.SerializeAsString()), request_(request),
        steps_a_launch_(static_cast<uint64_t>(request.distributions_size()) * static_cast<uint64_t>(request.runs())) {}

  absl::StatusOr<worker::v1::VerifyTaskResult> Go() {
    Report();
    while (result_.outcomes_size() < request_.launches_size()) {
      const int before = result_.outcomes_size();
      absl::Status status = OneProcess();
      if (cancelled_) return absl::CancelledError("the task was stopped");
      if (absl::IsUnavailable(status) || absl::Now() > deadline_) return status;
      if (result_.outcomes_size() > before && status.ok()) continue;
      if (status.ok()) status = absl::InternalError("the task's process ended without an outcome");
      AddFailure(status);
    }
    return std::move(result_);
  }

 private:
  void Report() {
    on_progress_(static_cast<uint64_t>(result_.outcomes_size()) * steps_a_launch_ + steps_,
                 static_cast<uint64_t>(request_.launches_size()) * steps_a_launch_);
  }

  void AddFailure(const absl::Status& status) {
    v1::LaunchOutcome* outcome = result_.add_outcomes();
    outcome->set_id(request_.launches(result_.outcomes_size() - 1).id());
    outcome->mutable_error()->set_code(static_cast<int>(status.code()));
    proto::SetText({status.message().data(), status.message().size()}, outcome->mutable_error()->mutable_message());
    steps_ = 0;
    launch_end_ = absl::Now() + limits_.launch_timeout;
    Report();
  }

  // Runs launches until the process has ended. An error is that of the launch after the last outcome; UNAVAILABLE is
  // one of the whole task.
  absl::Status OneProcess();
  absl::Status Take(Frame kind, const std::string& body);
  absl::Status Drain(Process& process, bool* open);

  const DeviceHandle& device_;
  const ChildLimits& limits_;
  const absl::Time deadline_;
  const std::atomic<bool>& cancelled_;
  const std::function<void(uint64_t, uint64_t)>& on_progress_;
  const std::string bytes_;
  const v1::VerifyKernelsRequest& request_;
  const uint64_t steps_a_launch_;
  worker::v1::VerifyTaskResult result_;
  uint64_t steps_ = 0;  // of the launch that runs
  absl::Time launch_end_;
  std::string buffer_;
  bool ended_ = false;
};

absl::Status Run::Take(Frame kind, const std::string& body) {
  switch (kind) {
    case Frame::kStep:
      ++steps_;
      Report();
      return absl::OkStatus();
    case Frame::kOutcome: {
      v1::LaunchOutcome outcome;
      if (!outcome.ParseFromString(body) || result_.outcomes_size() == request_.launches_size())
        return absl::InternalError("the task's process sent a bad outcome");
      *result_.add_outcomes() = std::move(outcome);
      steps_ = 0;
      launch_end_ = absl::Now() + limits_.launch_timeout;
      Report();
      return absl::OkStatus();
    }
    case Frame::kError: {
      google::rpc::Status error;
      if (!error.ParseFromString(body)) return absl::InternalError("the task's process sent a bad error");
      return absl::UnavailableError(error.message());
    }
    case Frame::kEnd:
      ended_ = true;
      return absl::OkStatus();
    case Frame::kUnit:
    case Frame::kProgress:
    case Frame::kResult:
      return absl::InternalError("the task's process sent a frame that verification has not");
  }
  return absl::OkStatus();
}

// Reads what is there; *open: more may come.
absl::Status Run::Drain(Process& process, bool* open) {
  *open = process.Read(&buffer_);
  bool bad = false;
  while (const auto frame = TakeFrame(&buffer_, &bad))
    if (absl::Status status = Take(frame->first, frame->second); !status.ok()) return status;
  return bad ? absl::InternalError("the task's process sent bytes that are no frame") : absl::OkStatus();
}

absl::Status Run::OneProcess() {
  Process process;
  std::vector<std::string> arguments = {kChildCommand, ChildArgument(device_), absl::StrCat(result_.outcomes_size()),
                                        absl::StrCat(limits_.memory_bytes)};
  if (!device_.assembler.empty()) arguments.push_back(device_.assembler);
  absl::Status status = process.Start(limits_.program, arguments);
  if (!status.ok()) return status;
  buffer_.clear();
  ended_ = false;
  steps_ = 0;
  launch_end_ = absl::Now() + limits_.launch_timeout;
  size_t sent = 0;
  for (bool open = true; open && !ended_;) {
    process.Wait(kPollInterval);
    process.Feed(bytes_, &sent);
    if (status = Drain(process, &open); !status.ok()) return status;
    const absl::Time now = absl::Now();
    if (cancelled_) return absl::CancelledError("");
    if (now > deadline_) return absl::DeadlineExceededError("the operation's deadline passed");
    if (now > launch_end_)
      return absl::DeadlineExceededError(
          absl::StrCat("the launch ran longer than ", absl::FormatDuration(limits_.launch_timeout)));
  }
  if (ended_) return absl::OkStatus();
  status = process.Death("launch");
  return device_.info.backend == "rocm" ? FromRuntimeAbort(status) : status;
}

}  // namespace

absl::StatusOr<worker::v1::VerifyTaskResult> RunInChildren(const DeviceHandle& device,
                                                           const v1::VerifyKernelsRequest& request,
                                                           const ChildLimits& limits, absl::Time deadline,
                                                           const std::atomic<bool>& cancelled,
                                                           const std::function<void(uint64_t, uint64_t)>& on_progress) {
  return Run(device, request, limits, deadline, cancelled, on_progress).Go();
}

}  // namespace samebits::workers
