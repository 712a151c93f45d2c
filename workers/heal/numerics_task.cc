#include "workers/heal/numerics_task.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/heal/instruction_mix/modules.h"
#include "google/rpc/status.pb.h"
#include "workers/runner/frames.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

using worker::v1::NumericsTaskResult;
using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

class Task {
 public:
  Task(const NumericsLimits& limits, const NumericsEvents& events) : limits_(limits), events_(events) {}

  absl::Status Run(Process& process, const std::string& input, absl::Time deadline, const std::atomic<bool>& cancelled) {
    size_t sent = 0;
    heard_ = absl::Now();
    for (bool open = true; open && !ended_;) {
      process.Wait(kPollInterval);
      process.Feed(input, &sent);
      open = process.Read(&buffer_);
      if (absl::Status status = TakeFrames(); !status.ok()) return status;
      const absl::Time now = absl::Now();
      if (cancelled) return absl::CancelledError("the task was stopped");
      if (now > deadline) return absl::DeadlineExceededError("the operation's deadline passed");
      if (now - heard_ > limits_.silence)
        return absl::AbortedError(absl::StrCat("the task made no progress for ", absl::FormatDuration(limits_.silence)));
    }
    if (ended_) return has_result_ ? absl::OkStatus() : absl::InternalError("the task's process gave no result");
    const absl::Status death = process.Death("task");
    return absl::IsResourceExhausted(death) ? death : absl::AbortedError(death.message());
  }
  NumericsTaskResult TakeResult() { return std::move(result_); }

 private:
  absl::Status TakeFrames() {
    bool bad = false;
    while (const auto frame = TakeFrame(&buffer_, &bad)) {
      heard_ = absl::Now();
      if (absl::Status status = Take(frame->first, frame->second); !status.ok()) return status;
    }
    return bad ? Bad() : absl::OkStatus();
  }

  absl::Status Take(Frame kind, const std::string& body) {
    switch (kind) {
      case Frame::kUnit: {
        worker::v1::TaskUnit unit;
        if (!unit.ParseFromString(body)) return Bad();
        events_.on_unit(std::move(unit));
        return absl::OkStatus();
      }
      case Frame::kProgress: {
        worker::v1::TaskProgress progress;
        if (!progress.ParseFromString(body)) return Bad();
        events_.on_progress(progress.done(), progress.total());
        return absl::OkStatus();
      }
      case Frame::kResult:
        has_result_ = result_.mutable_result()->ParseFromString(body);
        return has_result_ ? absl::OkStatus() : Bad();
      case Frame::kError: {
        google::rpc::Status error;
        if (!error.ParseFromString(body) || error.code() < 1 || error.code() > 16) return Bad();
        return absl::Status(static_cast<absl::StatusCode>(error.code()), error.message());
      }
      case Frame::kEnd:
        ended_ = true;
        return absl::OkStatus();
      case Frame::kStep:
      case Frame::kOutcome:
        break;
    }
    return Bad();
  }
  static absl::Status Bad() { return absl::AbortedError("the task's process sent bytes that are no frame"); }

  const NumericsLimits& limits_;
  const NumericsEvents& events_;
  std::string buffer_;
  NumericsTaskResult result_;
  absl::Time heard_;
  bool has_result_ = false, ended_ = false;
};

}  // namespace

absl::StatusOr<NumericsTaskResult> RunNumericsTask(const std::string& device, const std::string& model,
                                                   const Leased& lease, const NumericsLimits& limits,
                                                   absl::Time deadline, const std::atomic<bool>& cancelled,
                                                   const NumericsEvents& events) {
  std::vector<std::string> tools;  // variables by which they are found as the worker found them
  std::string on = device;
  std::optional<heal::TemporaryFolder> folder;  // outlives the child, which may be killed
  if (lease.numerics().request().has_instruction_mix()) {
    absl::StatusOr<heal::TemporaryFolder> made = heal::TemporaryFolder::Make();
    if (!made.ok()) return made.status();
    folder.emplace(*std::move(made));
    on = kToolsDevice;
    tools = {"PATH", "HOME", "CUDA_HOME", "CUDA_PATH", "NVDISASM_PATH", "ROCM_PATH", "VIRTUAL_ENV",
             absl::StrCat("TMPDIR=", folder->path())};
  }
  Process process;
  absl::Status status =
      process.Start(limits.program, {kNumericsChildCommand, on, absl::StrCat(limits.memory_bytes), model}, tools);
  if (!status.ok()) return status;
  Task task(limits, events);
  if (status = task.Run(process, lease.SerializeAsString(), deadline, cancelled); !status.ok()) return status;
  return task.TakeResult();
}

}  // namespace samebits::workers
