#include "workers/gemm_jobs/gemm_task.h"

#include "absl/strings/str_cat.h"

namespace samebits::workers {

absl::Status RunGemmTask(const std::string& device, const worker::v1::UpdateWorkerSessionResponse::Leased& lease, int cpu_threads,
                         const UnitTaskLimits& limits, absl::Time deadline, const std::atomic<bool>& cancelled,
                         const UnitTaskEvents& events, worker::v1::TaskResult* result) {
  const absl::StatusOr<std::string> bytes =
      RunUnitTask({kGemmChildCommand, device, absl::StrCat(limits.memory_bytes), absl::StrCat(cpu_threads)}, lease.SerializeAsString(),
                  limits, deadline, cancelled, events);
  if (!bytes.ok()) return bytes.status();
  const bool readable = lease.has_recover_gemms() ? result->mutable_recover_gemms()->ParseFromString(*bytes)
                                                  : result->mutable_emulate_gemm()->ParseFromString(*bytes);
  return readable ? absl::OkStatus() : absl::AbortedError("the task's process sent no result");
}

}  // namespace samebits::workers
