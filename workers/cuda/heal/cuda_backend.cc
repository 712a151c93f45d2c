#include "workers/cuda/heal/cuda_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "workers/cuda/heal/cuda_engine.h"
#include "workers/cuda/heal/device.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

HealDevice::~HealDevice() {
  weights.reset();
  programs.clear();
  if (stream != nullptr) api->cudaStreamDestroy(stream);
}

absl::StatusOr<Program*> HealDevice::ProgramFor(const ProgramKey& key) {
  std::unique_ptr<Program>& program = programs[key];
  if (program == nullptr) {
    absl::StatusOr<std::unique_ptr<Program>> compiled = Program::Compile(*api, *nvrtc, sm, key);
    if (!compiled.ok()) return compiled.status();
    program = *std::move(compiled);
  }
  return program.get();
}

namespace {

class CudaBackend : public heal::Backend {
 public:
  explicit CudaBackend(std::unique_ptr<HealDevice> device) : device_(std::move(device)) {}

  const heal::ModelShape& shape() const override { return device_->weights->shape(); }
  std::string Describe() const override {
    const size_t version = device_->api->cublasLtGetVersion();
    return absl::StrCat(device_->name, ", sm_", device_->sm, ", cuBLASLt ", version / 10000, ".", version / 100 % 100, ".",
                        version % 100);
  }
  absl::StatusOr<std::unique_ptr<heal::Engine>> Open(const heal::Configuration& configuration,
                                                     const heal::Capacity& capacity) override {
    SAMEBITS_RETURN_IF(device_->api->Cuda(device_->api->cudaSetDevice(device_->ordinal), "cudaSetDevice"));
    return OpenCudaEngine(device_.get(), configuration, capacity);
  }
  absl::StatusOr<double> CopyBandwidth() override;

 private:
  std::unique_ptr<HealDevice> device_;
};

absl::StatusOr<double> CudaBackend::CopyBandwidth() {
  constexpr int64_t kBytes = int64_t{4} << 30;
  const CudaApi& api = *device_->api;
  SAMEBITS_RETURN_IF(api.Cuda(api.cudaSetDevice(device_->ordinal), "cudaSetDevice"));
  CudaBuffer from(&api, false), to(&api, false);
  SAMEBITS_RETURN_IF(from.Reserve(kBytes));
  SAMEBITS_RETURN_IF(to.Reserve(kBytes));
  const absl::StatusOr<Program*> program = device_->ProgramFor(ProgramKey{});
  SAMEBITS_RETURN_IF(program.status());
  cudaEvent_t begin = nullptr, end = nullptr;
  SAMEBITS_RETURN_IF(api.Cuda(api.cudaEventCreateWithFlags(&begin, cudaEventDefault), "event"));
  SAMEBITS_RETURN_IF(api.Cuda(api.cudaEventCreateWithFlags(&end, cudaEventDefault), "event"));
  absl::Status status;
  float best = 0;
  for (int round = 0; round < 6 && status.ok(); ++round) {
    api.cudaEventRecord(begin, device_->stream);
    status = api.Cuda(api.cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, device_->stream), "copy");
    api.cudaEventRecord(end, device_->stream);
    if (status.ok()) status = api.Cuda(api.cudaEventSynchronize(end), "copy");
    float milliseconds = 0;
    if (status.ok()) status = api.Cuda(api.cudaEventElapsedTime(&milliseconds, begin, end), "copy");
    if (round > 0 && (best == 0 || milliseconds < best)) best = milliseconds;
  }
  api.cudaEventDestroy(begin);
  api.cudaEventDestroy(end);
  if (!status.ok()) return status;
  return 2.0 * kBytes / (best * 1e-3);  // read and written
}

}  // namespace

absl::StatusOr<std::unique_ptr<heal::Backend>> OpenCudaBackend(std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                               int device) {
  SAMEBITS_RETURN_IF(CheckSupported(checkpoint->shape()));
  auto shared = std::make_unique<HealDevice>();
  absl::StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::Load();
  if (!api.ok()) return api.status();
  shared->api = *std::move(api);
  absl::StatusOr<std::shared_ptr<const NvrtcApi>> nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) return nvrtc.status();
  shared->nvrtc = *std::move(nvrtc);
  shared->ordinal = device;
  const CudaApi& cuda = *shared->api;
  if (cuda.cudaSetDevice(device) != cudaSuccess) {
    return absl::UnavailableError(absl::StrCat("there is no CUDA device ", device));
  }
  int major = 0, minor = 0;
  SAMEBITS_RETURN_IF(cuda.Cuda(cuda.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "attribute"));
  SAMEBITS_RETURN_IF(cuda.Cuda(cuda.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "attribute"));
  SAMEBITS_RETURN_IF(cuda.Cuda(
      cuda.cudaDeviceGetAttribute(&shared->multiprocessors, cudaDevAttrMultiProcessorCount, device), "attribute"));
  shared->sm = 10 * major + minor;
  SAMEBITS_RETURN_IF(cuda.Cuda(cuda.cudaStreamCreateWithFlags(&shared->stream, cudaStreamNonBlocking), "stream"));
  char name[128] = {};
  CUdevice handle = 0;
  if (cuda.cuDeviceGet(&handle, device) == CUDA_SUCCESS) cuda.cuDeviceGetName(name, sizeof(name) - 1, handle);
  shared->name = name;
  const absl::StatusOr<Program*> setup = shared->ProgramFor(ProgramKey{});
  SAMEBITS_RETURN_IF(setup.status());
  absl::StatusOr<std::unique_ptr<Weights>> weights = Weights::Upload(&cuda, std::move(checkpoint), *setup, shared->stream);
  if (!weights.ok()) return weights.status();
  shared->weights = *std::move(weights);
  return std::make_unique<CudaBackend>(std::move(shared));
}

}  // namespace samebits::workers
