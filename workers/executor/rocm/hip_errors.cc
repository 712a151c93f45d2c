#include "workers/executor/rocm/hip_errors.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace samebits::workers {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case hip::kErrorInvalidValue:
    case hip::kErrorInvalidConfiguration:
    case hip::kErrorInvalidDeviceFunction:
    case hip::kErrorInvalidImage:
    case hip::kErrorNoBinaryForGpu:
    case hip::kErrorInvalidKernelFile:
    case hip::kErrorSharedObjectInitFailed:
    case hip::kErrorNotFound:
      return absl::StatusCode::kInvalidArgument;
    case hip::kErrorOutOfMemory:
    case hip::kErrorLaunchOutOfResources:
    case hip::kErrorRuntimeMemory:
      return absl::StatusCode::kResourceExhausted;
    case hip::kErrorIllegalAddress:
      return absl::StatusCode::kOutOfRange;
    case hip::kErrorLaunchTimeOut:
    case hip::kErrorAssert:
    case hip::kErrorLaunchFailure:
      return absl::StatusCode::kFailedPrecondition;
    case hip::kErrorNotSupported:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// As the HSA runtime spells them.
constexpr std::pair<const char*, absl::StatusCode> kWords[] = {
    {"Memory access fault by GPU", absl::StatusCode::kOutOfRange},
    {"HSA_STATUS_ERROR_MEMORY_FAULT", absl::StatusCode::kOutOfRange},
    {"HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", absl::StatusCode::kOutOfRange},
    {"HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", absl::StatusCode::kFailedPrecondition},
    {"HSA_STATUS_ERROR_EXCEPTION", absl::StatusCode::kFailedPrecondition},
    {"HSA_STATUS_ERROR_OUT_OF_RESOURCES", absl::StatusCode::kResourceExhausted},
};

}  // namespace

absl::Status ToStatus(const HipRuntime& hip, int error, const char* call) {
  if (error == hip::kSuccess) return absl::OkStatus();
  hip.hipGetLastError();  // else later calls report it again
  return absl::Status(CodeOf(error), absl::StrCat(call, ": ", hip.hipGetErrorString(error), " (", error, ")"));
}

absl::Status FromRuntimeAbort(absl::Status death) {
  for (const auto& [words, code] : kWords)
    if (absl::StrContains(death.message(), words)) return absl::Status(code, death.message());
  return death;
}

}  // namespace samebits::workers
