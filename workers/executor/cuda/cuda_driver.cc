#include "workers/executor/cuda/cuda_driver.h"

#include "absl/strings/str_cat.h"
#include "workers/loading/cuda_libraries.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {
namespace {

// Of enum CUresult.
enum : CudaDriver::Result {
  kInvalidValue = 1, kOutOfMemory = 2, kInvalidPtx = 218, kUnsupportedPtxVersion = 222, kInvalidImage = 200,
  kNoBinaryForGpu = 209, kNotFound = 500, kIllegalAddress = 700, kOutOfResources = 701, kTimeout = 702,
  kAssert = 710, kHardwareStackError = 714, kIllegalInstruction = 715, kMisalignedAddress = 716,
  kInvalidAddressSpace = 717, kInvalidPc = 718, kLaunchFailed = 719,
};

absl::StatusCode CodeOf(CudaDriver::Result result) {
  switch (result) {
    case kInvalidValue:
    case kInvalidPtx:
    case kUnsupportedPtxVersion:
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kNotFound:
      return absl::StatusCode::kInvalidArgument;
    case kOutOfMemory:
    case kOutOfResources:
      return absl::StatusCode::kResourceExhausted;
    case kIllegalAddress:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
      return absl::StatusCode::kOutOfRange;
    case kTimeout:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kInvalidPc:
    case kLaunchFailed:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CudaDriver>> CudaDriver::Load() {
  std::shared_ptr<CudaDriver> driver(new CudaDriver());
  const absl::StatusOr<void*> library = OpenCudaDriver();
  if (!library.ok()) return absl::NotFoundError(absl::StrCat("no NVIDIA driver: ", library.status().message()));
  FunctionFinder finder(*library);
  const auto find = [&](auto& function, const char* name) { finder.Find(name, &function); };
  find(driver->init, "cuInit");
  find(driver->driver_version, "cuDriverGetVersion");
  find(driver->device_count, "cuDeviceGetCount");
  find(driver->device_get, "cuDeviceGet");
  find(driver->device_name, "cuDeviceGetName");
  find(driver->device_uuid, "cuDeviceGetUuid");
  find(driver->device_memory, "cuDeviceTotalMem_v2");
  find(driver->device_attribute, "cuDeviceGetAttribute");
  find(driver->retain_context, "cuDevicePrimaryCtxRetain");
  find(driver->release_context, "cuDevicePrimaryCtxRelease_v2");
  find(driver->set_context, "cuCtxSetCurrent");
  find(driver->load_module, "cuModuleLoadDataEx");
  find(driver->unload_module, "cuModuleUnload");
  find(driver->get_function, "cuModuleGetFunction");
  find(driver->set_function_attribute, "cuFuncSetAttribute");
  find(driver->allocate, "cuMemAlloc_v2");
  find(driver->free, "cuMemFree_v2");
  find(driver->set_bytes, "cuMemsetD8_v2");
  find(driver->upload, "cuMemcpyHtoD_v2");
  find(driver->download, "cuMemcpyDtoH_v2");
  find(driver->launch, "cuLaunchKernel");
  find(driver->synchronize, "cuCtxSynchronize");
  find(driver->error_name, "cuGetErrorName");
  if (const absl::Status found = finder.status(); !found.ok())
    return absl::UnavailableError(absl::StrCat("the NVIDIA driver is too old: ", found.message()));
  if (absl::Status status = driver->ToStatus(driver->init(0), "cuInit"); !status.ok()) return status;
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

absl::Status CudaDriver::ToStatus(Result result, const char* call) const {
  if (result == 0) return absl::OkStatus();
  const char* name = nullptr;
  if (error_name == nullptr || error_name(result, &name) != 0 || name == nullptr) name = "unknown error";
  return absl::Status(CodeOf(result), absl::StrCat(call, ": ", name, " (", result, ")"));
}

}  // namespace samebits::workers
