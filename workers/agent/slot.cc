#include "workers/agent/slot.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/convert/convert.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"
#include "workers/agent/device_message.h"
#include "workers/gemm_jobs/gemm_task.h"

namespace samebits::workers {
namespace {

constexpr int kMostUnits = 1000;         // in one call
constexpr size_t kMostUnitBytes = 8 << 20;

bool Same(const worker::v1::TaskKey& a, const worker::v1::TaskKey& b) {
  return a.token() == b.token() && a.task() == b.task() && a.operation() == b.operation();
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

Slot::Slot(DeviceHandle device, const AgentConfig& config, std::function<void()> on_end)
    : device_(std::move(device)), config_(config), on_end_(std::move(on_end)), thread_([this] { Work(); }) {}

Slot::~Slot() {
  cancelled_ = true;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Slot::Start(worker::v1::UpdateWorkerSessionResponse::Leased lease) {
  absl::MutexLock lock(&mutex_);
  cancelled_ = false;
  progress_.Clear();
  units_.clear();
  *progress_.mutable_key() = lease.key();
  lease_ = std::move(lease);
}

void Slot::Cancel(const worker::v1::TaskKey& key) {
  absl::MutexLock lock(&mutex_);
  if (lease_ && Same(lease_->key(), key)) cancelled_ = true;
}

Slot::State Slot::state() const {
  absl::MutexLock lock(&mutex_);
  if (result_ && units_.empty()) return State::kEnded;
  return lease_ ? State::kRunning : State::kFree;
}

worker::v1::TaskProgress Slot::progress() const {
  absl::MutexLock lock(&mutex_);
  worker::v1::TaskProgress progress = progress_;
  size_t bytes = 0;
  for (const worker::v1::TaskUnit& unit : units_) {
    bytes += unit.body().size();
    if (progress.units_size() == kMostUnits || (bytes > kMostUnitBytes && progress.units_size() != 0)) break;
    *progress.add_units() = unit;
  }
  return progress;
}

void Slot::UnitsDelivered(const worker::v1::TaskKey& key, int number) {
  absl::MutexLock lock(&mutex_);
  if (lease_ && Same(lease_->key(), key))
    units_.erase(units_.begin(), units_.begin() + std::min<ptrdiff_t>(number, std::ssize(units_)));
}

worker::v1::TaskResult Slot::result() const {
  absl::MutexLock lock(&mutex_);
  return result_.value_or(worker::v1::TaskResult());
}

void Slot::Delivered(const worker::v1::TaskKey& key) {
  absl::MutexLock lock(&mutex_);
  if (!result_ || !Same(result_->key(), key)) return;
  result_.reset();
  lease_.reset();
}

void Slot::SetProgress(uint64_t done, uint64_t total) {
  absl::MutexLock lock(&mutex_);
  progress_.set_done(done);
  progress_.set_total(total);
}

absl::Status Slot::Verify(const Leased& lease, worker::v1::TaskResult* result) {
  if (!config_.runs_submitted_kernels)
    return absl::UnavailableError("the worker's operator does not let it run submitted kernels");
  absl::StatusOr<worker::v1::VerifyTaskResult> verified =
      RunInChildren(device_, lease.verify().request(), config_.limits, absl::Now() + ToDuration(lease.timeout()),
                    cancelled_, [this](uint64_t done, uint64_t total) { SetProgress(done, total); });
  if (!verified.ok()) return verified.status();
  SetDevice(device_.info, verified->mutable_device());
  *result->mutable_verify() = *std::move(verified);
  return absl::OkStatus();
}

UnitTaskEvents Slot::Events() {
  return {[this](uint64_t done, uint64_t total) { SetProgress(done, total); },
          [this](worker::v1::TaskUnit unit) {
            absl::MutexLock lock(&mutex_);
            units_.push_back(std::move(unit));
          }};
}

absl::Status Slot::CheckLibrary(const std::string& library) const {
  const auto at = config_.gemm_libraries.find(device_.info.backend);
  if (at != config_.gemm_libraries.end() && std::find(at->second.begin(), at->second.end(), library) != at->second.end())
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the worker does not have '", library, "' on this device"));
}

absl::Status Slot::RecoverGemms(const Leased& lease, worker::v1::TaskResult* result) {
  if (absl::Status status = CheckLibrary(lease.recover_gemms().library()); !status.ok()) return status;
  const absl::Status status = RunGemmTask(device_.argument, lease, config_.cpu_threads, config_.profile_limits,
                                          absl::Now() + ToDuration(lease.timeout()), cancelled_, Events(), result);
  if (!status.ok()) return status;
  v1::RecoverGemmsResponse& response = *result->mutable_recover_gemms();
  if (!device_.info.name.empty() && device_.info.backend != "cpu") proto::SetText(device_.info.name, response.mutable_device());
  proto::SetText(device_.info.driver_version, response.mutable_driver());
  return status;
}

absl::Status Slot::EmulateGemm(const Leased& lease, worker::v1::TaskResult* result) {
  if (!config_.emulates_gemms || device_.info.backend != "cpu") return absl::UnavailableError("the worker emulates no products on this device");
  return RunGemmTask(device_.argument, lease, config_.cpu_threads, config_.profile_limits,
                     absl::Now() + ToDuration(lease.timeout()), cancelled_, Events(), result);
}

absl::Status Slot::BuildProfile(const Leased& lease, worker::v1::TaskResult* result) {
  if (absl::Status status = CheckLibrary(lease.profile().request().library()); !status.ok()) return status;
  Leased named = lease;
  v1::ReconstructArchProfileRequest& request = *named.mutable_profile()->mutable_request();
  if (request.device_name().empty()) proto::SetText(device_.info.name, request.mutable_device_name());
  if (request.driver().empty()) proto::SetText(device_.info.driver_version, request.mutable_driver());
  absl::StatusOr<worker::v1::ProfileTaskResult> built =
      RunProfileTask(device_.argument, named, config_.profile_limits, absl::Now() + ToDuration(lease.timeout()), cancelled_, Events());
  if (!built.ok()) return built.status();
  *result->mutable_profile() = *std::move(built);
  return absl::OkStatus();
}

absl::Status Slot::RunNumerics(const Leased& lease, worker::v1::TaskResult* result) {
  if (!config_.runs_numerics) return absl::UnavailableError("the worker's operator does not let it run numerics");
  const v1::NumericsRun* run = proto::RunOf(lease.numerics().request());
  if (run == nullptr) return absl::InvalidArgumentError("the request holds no job");
  const v1::NumericsRequest& request = lease.numerics().request();
  std::string path;
  if (request.has_instruction_mix()) {
    const std::string source = proto::InstructionSourceOf(request.instruction_mix());
    const std::vector<std::string> met = proto::InstructionSourcesMet(config_.instruction_sources);
    if (std::find(met.begin(), met.end(), source) == met.end())
      return absl::UnavailableError(absl::StrCat("the worker cannot count instructions of ", source, ": it lacks the tools, or its operator "
                                                 "does not let it disassemble"));
  } else if (!run->model().starts_with("synthetic:")) {
    const auto at = config_.models.find(run->model());
    if (at == config_.models.end())
      return absl::UnavailableError(absl::StrCat("the worker has no model called '", run->model(), "'"));
    path = at->second;
  }
  absl::StatusOr<worker::v1::NumericsTaskResult> computed =
      RunNumericsTask(device_.argument, path, lease, config_.numerics_limits, absl::Now() + ToDuration(lease.timeout()),
                      cancelled_, Events());
  if (!computed.ok()) return computed.status();
  *result->mutable_numerics() = *std::move(computed);
  return absl::OkStatus();
}

worker::v1::TaskResult Slot::Execute(const Leased& lease) {
  worker::v1::TaskResult result;
  *result.mutable_key() = lease.key();
  absl::Status status = absl::UnimplementedError("the worker is too old for this task");
  if (lease.has_verify()) status = Verify(lease, &result);
  if (lease.has_numerics()) status = RunNumerics(lease, &result);
  if (lease.has_profile()) status = BuildProfile(lease, &result);
  if (lease.has_recover_gemms()) status = RecoverGemms(lease, &result);
  if (lease.has_emulate_gemm()) status = EmulateGemm(lease, &result);
  if (status.ok()) return result;
  // A task that was stopped here can be done elsewhere; where the server revoked it, nobody listens.
  const bool stopped = absl::IsCancelled(status);
  result.mutable_error()->set_code(static_cast<int>(stopped ? absl::StatusCode::kUnavailable : status.code()));
  const absl::string_view message = stopped ? "the worker is stopping" : status.message();
  proto::SetText({message.data(), message.size()}, result.mutable_error()->mutable_message());
  return result;
}

void Slot::Work() {
  while (true) {
    worker::v1::UpdateWorkerSessionResponse::Leased lease;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](Slot* slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(slot->mutex_) {
            return slot->stopping_ || (slot->lease_ && !slot->result_);
          },
          this));
      if (stopping_) return;
      lease = *lease_;
    }
    worker::v1::TaskResult result = Execute(lease);
    {
      absl::MutexLock lock(&mutex_);
      if (!result.has_error()) units_.clear();  // the result holds them
      result_ = std::move(result);
    }
    on_end_();
  }
}

}  // namespace samebits::workers
