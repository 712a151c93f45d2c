#include "workers/rocm/runtime/hip_runtime.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {

absl::StatusOr<std::shared_ptr<const HipRuntime>> HipRuntime::Load() {
  auto runtime = std::make_shared<HipRuntime>();
  if (absl::Status status = runtime->LoadRuntime(); !status.ok()) return status;
  return runtime;
}

#define SAMEBITS_FIND(function) finder.Find(#function, &function)

absl::Status HipRuntime::LoadRuntime() {
  constexpr char kVariable[] = "SAMEBITS_HIP";
  const absl::StatusOr<void*> library = OpenSharedLibrary(
      kVariable, {"libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so", "libamdhip64.so"});
  if (!library.ok())
    return std::getenv(kVariable) == nullptr ? absl::NotFoundError(library.status().message()) : library.status();
  FunctionFinder finder(*library);
  SAMEBITS_FIND(hipInit);
  SAMEBITS_FIND(hipGetDeviceCount);
  SAMEBITS_FIND(hipSetDevice);
  SAMEBITS_FIND(hipDeviceGetName);
  SAMEBITS_FIND(hipDeviceGetAttribute);
  SAMEBITS_FIND(hipMalloc);
  SAMEBITS_FIND(hipFree);
  SAMEBITS_FIND(hipMemset);
  SAMEBITS_FIND(hipMemcpy);
  SAMEBITS_FIND(hipMemcpy2D);
  SAMEBITS_FIND(hipDeviceSynchronize);
  SAMEBITS_FIND(hipGetLastError);
  SAMEBITS_FIND(hipGetErrorString);
  SAMEBITS_FIND(hipDeviceTotalMem);
  SAMEBITS_FIND(hipDeviceGetUuid);
  SAMEBITS_FIND(hipDeviceGetPCIBusId);
  SAMEBITS_FIND(hipGetDevicePropertiesR0600);
  SAMEBITS_FIND(hipRuntimeGetVersion);
  SAMEBITS_FIND(hipModuleLoadData);
  SAMEBITS_FIND(hipModuleUnload);
  SAMEBITS_FIND(hipModuleGetFunction);
  SAMEBITS_FIND(hipModuleLaunchKernel);
  return finder.status();
}

absl::Status HipRuntime::Hip(int error, const char* what) const {
  if (error == hip::kSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", hipGetErrorString(error));
  return error == hip::kErrorOutOfMemory ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

}  // namespace samebits::workers
