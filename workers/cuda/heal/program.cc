#include "workers/cuda/heal/program.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "workers/cuda/heal/cuda_backend.h"
#include "workers/cuda/heal/kernel_texts.h"

namespace samebits::workers {
namespace {

using heal::AttentionMode;
using heal::Boundary;
using heal::GemmInput;

std::string TextFor(const ProgramKey& key) {
  return absl::StrCat(kText_numbers, kText_layer, kText_cache,
                      key.attention == static_cast<int>(AttentionMode::kF32) ? kText_attention_f32 : kText_attention,
                      kText_merge, kText_setup);
}

}  // namespace

absl::Status CheckSupported(const heal::ModelShape& shape) {
  if (shape.head_dim != 64 && shape.head_dim != 128) {
    return absl::UnimplementedError(absl::StrCat("heads of ", shape.head_dim, " values; 64 and 128 are supported on CUDA"));
  }
  if (shape.heads / shape.kv_heads > 8) {
    return absl::UnimplementedError(absl::StrCat(shape.heads / shape.kv_heads, " query heads of a key head; at most 8"));
  }
  if (shape.hidden % 8 != 0 || shape.intermediate % 8 != 0 || shape.vocabulary % 8 != 0) {
    return absl::UnimplementedError("hidden, intermediate and vocabulary sizes must be multiples of 8 on CUDA");
  }
  if (shape.hidden > 16384) {
    return absl::UnimplementedError(absl::StrCat("a hidden size of ", shape.hidden, "; at most 16,384 on CUDA"));
  }
  return absl::OkStatus();
}

ProgramKey KeyOf(const heal::Configuration& configuration, AttentionMode attention, const heal::ModelShape& shape) {
  ProgramKey key;
  key.boundary = static_cast<int>(configuration.boundary);
  switch (configuration.gemm) {
    case GemmInput::kBf16:
      key.gemm = 0;
      break;
    case GemmInput::kF16:
    case GemmInput::kF16Compensated:
      key.gemm = 1;
      break;
    case GemmInput::kTf32:
    case GemmInput::kF32:
      key.gemm = 2;
      break;
  }
  key.attention = static_cast<int>(attention);
  key.head_dim = shape.head_dim;
  key.group = shape.heads / shape.kv_heads;
  return key;
}

absl::StatusOr<std::string> CompileCubin(const NvrtcApi& nvrtc, int sm, const ProgramKey& key) {
  return CompileCuda(
      nvrtc, "samebits_heal.cu", TextFor(key),
      {absl::StrCat("-arch=sm_", sm), "-std=c++17", absl::StrCat("-DBOUNDARY=", key.boundary),
       absl::StrCat("-DGEMM=", key.gemm), absl::StrCat("-DATTENTION=", key.attention),
       absl::StrCat("-DHEAD_DIM=", key.head_dim), absl::StrCat("-DGROUP=", key.group),
       "-DINFINITY=__int_as_float(0x7f800000)"});
}

absl::StatusOr<std::vector<std::string>> CompileEngineKernels(const heal::Configuration& configuration,
                                                              const heal::ModelShape& shape, int sm) {
  if (absl::Status status = Validate(configuration, shape.layers); !status.ok()) return status;
  if (absl::Status status = CheckSupported(shape); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<const NvrtcApi>> nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) return nvrtc.status();
  std::set<ProgramKey> keys;
  for (int layer = 0; layer < shape.layers; ++layer) {
    keys.insert(KeyOf(configuration, configuration.AttentionOf(layer), shape));
  }
  std::vector<std::string> cubins;
  for (const ProgramKey& key : keys) {
    absl::StatusOr<std::string> cubin = CompileCubin(**nvrtc, sm, key);
    if (!cubin.ok()) return cubin.status();
    cubins.push_back(*std::move(cubin));
  }
  return cubins;
}

absl::StatusOr<std::string> EngineCompilerVersion() {
  const absl::StatusOr<std::shared_ptr<const NvrtcApi>> nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) return nvrtc.status();
  int major = 0, minor = 0;
  if ((*nvrtc)->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return absl::UnavailableError("nvrtcVersion failed");
  return absl::StrCat(major, ".", minor);
}

absl::StatusOr<std::unique_ptr<Program>> Program::Compile(const CudaApi& api, const NvrtcApi& nvrtc, int sm,
                                                          const ProgramKey& key) {
  absl::StatusOr<std::string> cubin = CompileCubin(nvrtc, sm, key);
  if (!cubin.ok()) return cubin.status();
  absl::StatusOr<std::unique_ptr<KernelModule>> module = KernelModule::Load(api, *std::move(cubin));
  if (!module.ok()) return module.status();
  return std::unique_ptr<Program>(new Program(*std::move(module)));
}

}  // namespace samebits::workers
