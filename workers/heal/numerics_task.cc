#include "workers/heal/numerics_task.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/modules.h"

namespace samebits::workers {

absl::StatusOr<worker::v1::NumericsTaskResult> RunNumericsTask(
    const std::string& device, const std::string& model, const worker::v1::UpdateWorkerSessionResponse::Leased& lease,
    const NumericsLimits& limits, absl::Time deadline, const std::atomic<bool>& cancelled, const NumericsEvents& events) {
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
  const absl::StatusOr<std::string> bytes =
      RunUnitTask({kNumericsChildCommand, on, absl::StrCat(limits.memory_bytes), model}, lease.SerializeAsString(), limits,
                  deadline, cancelled, events, tools);
  if (!bytes.ok()) return bytes.status();
  worker::v1::NumericsTaskResult result;
  if (!result.mutable_result()->ParseFromString(*bytes)) return absl::AbortedError("the task's process sent no result");
  return result;
}

}  // namespace samebits::workers
