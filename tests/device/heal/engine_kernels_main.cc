// Writes the machine code of the engine's own kernels, without a device:
//   samebits_engine_kernels MODEL SM FOLDER CONFIGURATION...
// FOLDER/CONFIGURATION.N.cubin; MODEL: a published shape ("qwen3-8b"), SM: 90.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"
#include "workers/cuda/heal/cuda_backend.h"

namespace samebits::workers {
namespace {

absl::Status Write(const heal::ModelShape& shape, int sm, const std::string& folder, const std::string& text) {
  const absl::StatusOr<heal::Configuration> configuration = heal::ParseConfiguration(text);
  if (!configuration.ok()) return configuration.status();
  const absl::StatusOr<std::vector<std::string>> images = CompileEngineKernels(*configuration, shape, sm);
  if (!images.ok()) return images.status();
  for (size_t i = 0; i < images->size(); ++i) {
    const std::string path = folder + "/" + text + "." + std::to_string(i) + ".cubin";
    std::ofstream file(path, std::ios::binary);
    file << (*images)[i];
    if (!file.flush()) return absl::UnavailableError(path + " cannot be written");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  absl::Status status = absl::InvalidArgumentError("usage: samebits_engine_kernels MODEL SM FOLDER CONFIGURATION...");
  if (argc > 4) {
    const absl::StatusOr<heal::ModelShape> shape = heal::PublishedShape(argv[1]);
    status = shape.status();
    for (int i = 4; i < argc && status.ok(); ++i) status = Write(*shape, std::atoi(argv[2]), argv[3], argv[i]);
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace samebits::workers

int main(int argc, char** argv) { return samebits::workers::Main(argc, argv); }
