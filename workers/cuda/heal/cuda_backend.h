#ifndef SAMEBITS_WORKERS_CUDA_HEAL_CUDA_BACKEND_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_CUDA_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/model/checkpoint.h"

namespace samebits::workers {

// The forward pass on a CUDA device of compute capability 9.0 or later (earlier ones: compiles, never executed). Products
// by cuBLASLt (16-bit in, FP32 accumulation; the first answer of its cost model, except in TimeDecode, which picks by
// time), own kernels for the rest. Heads of 64 or 128 values, at most 8 query heads of a key head: UNIMPLEMENTED
// otherwise. Where a kernel's output goes straight into a product, taps and Apply give it as the product reads it. UNAVAILABLE where a library or the device is missing. Engines share weights; the backend must outlive them.
absl::StatusOr<std::unique_ptr<heal::Backend>> OpenCudaBackend(std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                               int device);

// The machine code (cubin) of the kernels that an engine of the configuration runs beside cuBLASLt's, for compute
// capability `sm` (90 for 9.0): one for each kind of attention among its layers. Needs no device. UNIMPLEMENTED for a shape
// that the engine does not have, UNAVAILABLE without NVRTC, INTERNAL with the compiler's words.
absl::StatusOr<std::vector<std::string>> CompileEngineKernels(const heal::Configuration& configuration,
                                                              const heal::ModelShape& shape, int sm);
// What compiles them, "13.0". UNAVAILABLE without NVRTC.
absl::StatusOr<std::string> EngineCompilerVersion();

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_CUDA_BACKEND_H_
