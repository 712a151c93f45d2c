#include "workers/cuda/cublas_api.h"

#include "workers/cuda/return_if.h"
#include "workers/loading/cuda_libraries.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {

absl::StatusOr<std::shared_ptr<const CublasApi>> CublasApi::Load() {
  const absl::StatusOr<void*> library = OpenCublas();
  if (!library.ok()) return library.status();
  auto api = std::make_shared<CublasApi>();
  FunctionFinder finder(*library);
#define SAMEBITS_FIND_CLASSIC(name) finder.Find(#name, &api->name);
  SAMEBITS_CLASSIC_FUNCTIONS(SAMEBITS_FIND_CLASSIC)
  finder.Find("cublasGemmEx", &api->cublasGemmEx);
  finder.FindOptional("cublasGemmEx_64", &api->cublasGemmEx_64);
  SAMEBITS_RETURN_IF(finder.status());
  return api;
}

}  // namespace samebits::workers
