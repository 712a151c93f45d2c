#include "workers/runner/unit_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/status.pb.h"
#include "workers/runner/child_streams.h"
#include "workers/runner/frames.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(50), kReportInterval = absl::Milliseconds(100);

class Task {
 public:
  Task(const UnitTaskLimits& limits, const UnitTaskEvents& events) : limits_(limits), events_(events) {}

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
  std::string TakeResult() { return std::move(result_); }

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
        result_ = body;
        has_result_ = true;
        return absl::OkStatus();
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

  const UnitTaskLimits& limits_;
  const UnitTaskEvents& events_;
  std::string buffer_;
  std::string result_;
  absl::Time heard_;
  bool has_result_ = false, ended_ = false;
};

}  // namespace

absl::StatusOr<std::string> RunUnitTask(const std::vector<std::string>& arguments, const std::string& input,
                                        const UnitTaskLimits& limits, absl::Time deadline,
                                        const std::atomic<bool>& cancelled, const UnitTaskEvents& events,
                                        const std::vector<std::string>& variables) {
  Process process;
  absl::Status status = process.Start(limits.program, arguments, variables);
  if (!status.ok()) return status;
  Task task(limits, events);
  if (status = task.Run(process, input, deadline, cancelled); !status.ok()) return status;
  return task.TakeResult();
}

void UnitReporter::Unit(int64_t index, std::string body) {
  worker::v1::TaskUnit unit;
  unit.set_index(static_cast<uint32_t>(index));
  unit.set_body(std::move(body));
  Send(Frame::kUnit, unit.SerializeAsString());
}

void UnitReporter::Progress(int64_t done, int64_t total) {
  const absl::Time now = absl::Now();
  if (done == done_ || (now - last_ < kReportInterval && done != total)) return;
  done_ = done;
  last_ = now;
  worker::v1::TaskProgress progress;
  progress.set_done(static_cast<uint64_t>(done));
  progress.set_total(static_cast<uint64_t>(total));
  Send(Frame::kProgress, progress.SerializeAsString());
}

}  // namespace samebits::workers
