#include "workers/cuda/kernel_module.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

absl::StatusOr<std::string> CompileCuda(const NvrtcApi& nvrtc, const char* name, const std::string& text,
                                        const std::vector<std::string>& options) {
  nvrtcProgram program = nullptr;
  if (nvrtc.nvrtcCreateProgram(&program, text.c_str(), name, 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return absl::InternalError("nvrtcCreateProgram failed");
  }
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
  absl::StatusOr<std::string> compiled;
  size_t size = 0;
  if (result == NVRTC_SUCCESS && nvrtc.nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS) {
    compiled = std::string(size, '\0');
    nvrtc.nvrtcGetCUBIN(program, compiled->data());
  } else {
    nvrtc.nvrtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    nvrtc.nvrtcGetProgramLog(program, log.data());
    compiled = absl::InternalError(absl::StrCat("kernels do not compile: ", nvrtc.nvrtcGetErrorString(result), "\n", log));
  }
  nvrtc.nvrtcDestroyProgram(&program);
  return compiled;
}

absl::StatusOr<std::unique_ptr<KernelModule>> KernelModule::Load(const CudaApi& api, std::string cubin) {
  std::unique_ptr<KernelModule> loaded(new KernelModule(&api, std::move(cubin)));
  SAMEBITS_RETURN_IF(CudaApi::Driver(api.cuModuleLoadData(&loaded->module_, loaded->cubin_.data()), "kernels"));
  return loaded;
}

KernelModule::~KernelModule() {
  if (module_ != nullptr) api_->cuModuleUnload(module_);
}

absl::Status KernelModule::LaunchWith(const char* kernel, const Grid& grid, cudaStream_t stream, void** arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return absl::OkStatus();
  auto found = functions_.find(kernel);
  if (found == functions_.end()) {
    CUfunction function = nullptr;
    SAMEBITS_RETURN_IF(CudaApi::Driver(api_->cuModuleGetFunction(&function, module_, kernel), kernel));
    found = functions_.emplace(kernel, function).first;
  }
  return CudaApi::Driver(api_->cuLaunchKernel(found->second, grid.x, grid.y, grid.z, grid.threads, 1, 1, grid.shared_bytes,
                                              stream, arguments, nullptr),
                         kernel);
}

}  // namespace samebits::workers
