#include "workers/profile/profile_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "workers/gemm/library.h"

namespace samebits::workers {

std::vector<std::string> ProfiledLibraries(const std::string& backend) {
  if (backend == "cpu") return {"simulated", "simulated-2"};
  std::vector<std::string> names, libraries;
  if (backend == "cuda") names = {"cublaslt", "cublas"};
  if (backend == "rocm") names = {"hipblaslt"};
  for (const std::string& name : names)
    if (HasGemmLibrary(name)) libraries.push_back(name);
  return libraries;
}

absl::StatusOr<worker::v1::ProfileTaskResult> RunProfileTask(const std::string& device,
                                                             const worker::v1::UpdateWorkerSessionResponse::Leased& lease,
                                                             const UnitTaskLimits& limits, absl::Time deadline,
                                                             const std::atomic<bool>& cancelled,
                                                             const UnitTaskEvents& events) {
  absl::StatusOr<std::string> text = RunUnitTask({kProfileChildCommand, device, absl::StrCat(limits.memory_bytes)},
                                                 lease.SerializeAsString(), limits, deadline, cancelled, events);
  if (!text.ok()) return text.status();
  worker::v1::ProfileTaskResult result;
  result.set_text(*std::move(text));
  return result;
}

}  // namespace samebits::workers
