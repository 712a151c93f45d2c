#ifndef SAMEBITS_WORKERS_CUDA_HEAL_DEVICE_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_DEVICE_H_

#include <map>
#include <memory>
#include <string>

#include "workers/cuda/api.h"
#include "workers/cuda/heal/products.h"
#include "workers/cuda/heal/program.h"
#include "workers/cuda/heal/weights.h"

namespace samebits::workers {

// What the engines of one backend share. Not thread-safe.
struct HealDevice {
  std::shared_ptr<const CudaApi> api;
  std::shared_ptr<const NvrtcApi> nvrtc;
  int ordinal = 0, sm = 0, multiprocessors = 0;
  std::string name;
  cudaStream_t stream = nullptr;
  std::map<ProgramKey, std::unique_ptr<Program>> programs;
  std::unique_ptr<Weights> weights;

  ~HealDevice();
  absl::StatusOr<Program*> ProgramFor(const ProgramKey& key);  // compiled when first asked for
  absl::Status Synchronize(const char* what) const { return api->Cuda(api->cudaStreamSynchronize(stream), what); }
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_DEVICE_H_
