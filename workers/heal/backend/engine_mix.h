#ifndef SAMEBITS_WORKERS_HEAL_BACKEND_ENGINE_MIX_H_
#define SAMEBITS_WORKERS_HEAL_BACKEND_ENGINE_MIX_H_

// The kernels of our own engine, as sources of instruction mixes. They are compiled (NVRTC); no device is needed.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "core/heal/model/model_shape.h"

namespace samebits::workers {

// What compiles them: "NVRTC 13.0". UNAVAILABLE where the library is not found, with where to get it; UNIMPLEMENTED where
// this program was built without the CUDA engine.
absl::StatusOr<std::string> EngineCompiler();

// A source for each configuration, in order, named by it. `target`: "sm_90". INVALID_ARGUMENT "FIELD: ..." for
// configurations (they must be of the shape, each once) and for the target; errors of EngineCompiler.
absl::StatusOr<std::vector<heal::MixSource>> EngineSources(const std::vector<std::string>& configurations,
                                                           const heal::ModelShape& shape, const std::string& target);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_HEAL_BACKEND_ENGINE_MIX_H_
