#include "server/rpc/operation_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/convert/convert.h"
#include "samebits/v1/fleet_service.pb.h"
#include "samebits/v1/operations.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/numerics/numerics.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/registry/errors.h"
#include "server/verify/verify.h"

namespace samebits::server {
namespace {

using storage::JobState;
using storage::TaskState;
using v1::Operation;

void SetError(int code, std::string_view message, google::rpc::Status* out) {
  out->set_code(code);
  proto::SetText(message, out->mutable_message());
}

Operation::State StateOf(const storage::JobRecord& job) {
  switch (job.state) {
    case JobState::kOpen:
      return job.start_time == storage::kNever ? Operation::QUEUED : Operation::RUNNING;
    case JobState::kSucceeded:
      return Operation::SUCCEEDED;
    case JobState::kFailed:
      return Operation::FAILED;
    case JobState::kCancelled:
      return Operation::CANCELLED;
  }
  return Operation::STATE_UNSPECIFIED;
}

Operation::State StateOf(TaskState state) {
  switch (state) {
    case TaskState::kQueued:
      return Operation::QUEUED;
    case TaskState::kLeased:
      return Operation::RUNNING;
    case TaskState::kDone:
      return Operation::SUCCEEDED;
    case TaskState::kFailed:
      return Operation::FAILED;
    case TaskState::kCancelled:
      return Operation::CANCELLED;
  }
  return Operation::STATE_UNSPECIFIED;
}

void AddTask(const JobView& view, size_t i, Operation* out) {
  const storage::TaskRecord& task = view.tasks[i];
  Operation::Task* to = out->add_tasks();
  to->set_target(task.target);
  to->set_state(StateOf(task.state));
  to->set_worker(task.worker);
  to->set_attempt(task.attempt);
  to->set_done(view.progress[i].done);
  to->set_total(view.progress[i].total);
  for (const storage::AttemptRecord& attempt : view.attempts)
    if (attempt.task == task.index) SetError(attempt.error_code, attempt.error, to->add_attempt_errors());
}

}  // namespace

void ToMessage(const storage::JobRecord& job, Operation* out) {
  out->set_name(absl::StrCat("operations/", job.id));
  out->set_method(job.kind);
  out->set_state(StateOf(job));
  out->set_principal(job.principal);
  out->set_priority(job.priority);
  ToMessage(job.create_time, out->mutable_create_time());
  if (job.start_time != storage::kNever) ToMessage(job.start_time, out->mutable_start_time());
  if (job.end_time != storage::kNever) ToMessage(job.end_time, out->mutable_end_time());
  if (job.deadline != storage::kNever) ToMessage(job.deadline, out->mutable_deadline());
  if (job.state == JobState::kFailed || job.state == JobState::kCancelled)
    SetError(job.error_code, job.error, out->mutable_error());
}

void ToMessage(const JobView& view, Operation* out) {
  ToMessage(view.job, out);
  for (size_t i = 0; i < view.tasks.size(); ++i) AddTask(view, i, out);
  if (view.job.state != JobState::kSucceeded) return;
  bool readable = true;
  if (view.job.kind == kVerifyKind) readable = out->mutable_verify_kernels()->ParseFromString(view.job.result);
  if (view.job.kind == kReconstructKind) readable = out->mutable_arch_profile()->ParseFromString(view.job.result);
  if (view.job.kind == kRecoverGemmsKind) readable = out->mutable_recover_gemms()->ParseFromString(view.job.result);
  if (view.job.kind == kEmulateGemmKind) readable = out->mutable_emulate_gemm()->ParseFromString(view.job.result);
  if (IsNumericsKind(view.job.kind)) readable = out->mutable_numerics()->ParseFromString(view.job.result);
  if (!readable)
    SetError(static_cast<int>(absl::StatusCode::kDataLoss), "the stored result cannot be read", out->mutable_error());
}

absl::Status ToMessage(const storage::ReproducerRecord& record, v1::Reproducer* out) {
  if (!out->ParseFromString(record.body)) return absl::DataLossError("a stored reproducer cannot be read");
  out->set_name(absl::StrCat("reproducers/", record.id));
  out->set_operation(absl::StrCat("operations/", record.job));
  ToMessage(record.create_time, out->mutable_create_time());
  return absl::OkStatus();
}

void ToMessage(const storage::WorkerRecord& worker, bool online, v1::Worker* out) {
  out->set_name(absl::StrCat("workers/", worker.id));
  out->set_state(online ? v1::Worker::ONLINE : v1::Worker::OFFLINE);
  out->set_draining(worker.draining);
  ToMessage(worker.create_time, out->mutable_create_time());
  ToMessage(worker.last_seen, out->mutable_last_seen_time());
  worker::v1::CreateWorkerSessionRequest about;
  if (!about.ParseFromString(worker.description)) return;
  out->set_version(about.version());
  out->set_runs_submitted_kernels(about.runs_submitted_kernels());
  out->set_runs_numerics(about.runs_numerics());
  for (const auto& library : about.gemm_libraries()) out->add_gemm_libraries(library.library());
  out->set_emulates_gemms(about.emulates_gemms());
  out->mutable_models()->Swap(about.mutable_models());
  out->mutable_instruction_sources()->Swap(about.mutable_instruction_sources());
  out->mutable_devices()->Swap(about.mutable_devices());
}

absl::StatusOr<std::string> IdOf(std::string_view name, std::string_view collection) {
  const bool fits = name.size() > collection.size() + 1 && name.starts_with(collection) &&
                    name[collection.size()] == '/' && name.size() <= 200;
  if (fits) return std::string(name.substr(collection.size() + 1));
  return InvalidField("name", absl::StrCat("must be ", std::string(collection), "/ and an id"));
}

absl::Duration FromMessage(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void ToMessage(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t micros = absl::ToUnixMicros(time);
  out->set_seconds(micros / 1'000'000);
  out->set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
}

void ToMessage(absl::Duration duration, google::protobuf::Duration* out) {
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  out->set_seconds(nanos / 1'000'000'000);
  out->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

}  // namespace samebits::server
