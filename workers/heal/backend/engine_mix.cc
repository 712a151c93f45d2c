#include "workers/heal/backend/engine_mix.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/heal/numerics/configuration.h"
#ifdef SAMEBITS_HAS_CUDA_HEAL
#include "workers/cuda/heal/cuda_backend.h"
#endif

namespace samebits::workers {
namespace {

absl::StatusOr<std::vector<std::string>> Compile([[maybe_unused]] const heal::Configuration& configuration,
                                                 [[maybe_unused]] const heal::ModelShape& shape, [[maybe_unused]] int sm) {
#ifdef SAMEBITS_HAS_CUDA_HEAL
  absl::StatusOr<std::vector<std::string>> cubins = CompileEngineKernels(configuration, shape, sm);
  if (cubins.ok()) return cubins;
  return absl::Status(cubins.status().code(), absl::StrCat(configuration.name, ": ", cubins.status().message()));
#else
  return EngineCompiler().status();
#endif
}

}  // namespace

absl::StatusOr<std::string> EngineCompiler() {
#ifdef SAMEBITS_HAS_CUDA_HEAL
  absl::StatusOr<std::string> version = EngineCompilerVersion();
  if (version.ok()) return absl::StrCat("NVRTC ", *version);
  return absl::Status(version.status().code(), absl::StrCat("the engine's kernels are compiled with NVRTC: ", version.status().message(),
                                                            ". It comes with the CUDA toolkit, and with "
                                                            "`pip install nvidia-cuda-nvrtc`, whose libnvrtc.so.13 SAMEBITS_NVRTC may name"));
#else
  return absl::UnimplementedError("this program was built without the CUDA engine, whose kernels these are; build it where CUDA's headers are");
#endif
}

absl::StatusOr<std::vector<heal::MixSource>> EngineSources(const std::vector<std::string>& configurations,
                                                           const heal::ModelShape& shape, const std::string& target) {
  const absl::StatusOr<std::vector<heal::Configuration>> parsed = heal::ParseConfigurations(configurations, shape.layers);
  if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat("configurations: ", parsed.status().message()));
  int sm = 0;
  if (!target.starts_with("sm_") || !absl::SimpleAtoi(target.substr(3), &sm) || sm < 50 || sm > 200)
    return absl::InvalidArgumentError(absl::StrCat("target: '", target, "' is no architecture; give sm_90, sm_100, ..."));
  const absl::StatusOr<std::string> compiler = EngineCompiler();
  if (!compiler.ok()) return compiler.status();
  std::vector<heal::MixSource> sources;
  for (const heal::Configuration& configuration : *parsed) {
    heal::MixSource source;
    source.name = configuration.name;
    source.make = [configuration, shape, sm] { return Compile(configuration, shape, sm); };
    source.mark = absl::StrCat(configuration.name, " for ", target, ", ", *compiler);
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace samebits::workers
