#include "workers/heal/backend/backend.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/heal/reference/reference_backend.h"
#ifdef SAMEBITS_HAS_CUDA_HEAL
#include "workers/cuda/heal/cuda_backend.h"
#endif

namespace samebits::workers {
namespace {

absl::StatusOr<std::unique_ptr<heal::Backend>> OpenCuda(std::shared_ptr<const heal::Checkpoint> checkpoint, int device) {
#ifdef SAMEBITS_HAS_CUDA_HEAL
  return OpenCudaBackend(std::move(checkpoint), device);
#else
  return absl::UnimplementedError(absl::StrCat("this program was built without the CUDA engine, so that it cannot run "
                                               "numerics on cuda:", device, checkpoint == nullptr ? "" : "; use the CPU"));
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<heal::Backend>> OpenBackend(std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                           const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  if (kind == "cpu") return heal::OpenReferenceBackend(std::move(checkpoint), /*threads=*/0);
  int number = 0;
  if (device == "cuda" || (kind == "cuda" && absl::SimpleAtoi(device.substr(kind.size() + 1), &number) && number >= 0))
    return OpenCuda(std::move(checkpoint), number);
  return absl::InvalidArgumentError(absl::StrCat("'", device, "' is no device; give cpu, cuda or cuda:N"));
}

}  // namespace samebits::workers
