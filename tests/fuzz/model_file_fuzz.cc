// Any bytes as a GGUF file and as a safetensors file: a checkpoint of a valid shape whose tensors have its sizes, or an
// error with a message.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/heal/model/checkpoint.h"

namespace samebits::heal {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void Write(const std::string& path, const void* data, size_t size) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void CheckLoading(const std::string& path) {
  const auto loaded = LoadCheckpoint(path);
  if (!loaded.ok()) return Require(!loaded.status().message().empty(), "an error without a message");
  const ModelShape& shape = (*loaded)->shape();
  Require(Validate(shape).ok(), "a loaded shape is not valid");
  for (int layer = 0; layer < shape.layers; ++layer) {
    for (int number = 0; number <= static_cast<int>(TensorId::kHead); ++number) {
      const TensorId id = static_cast<TensorId>(number);
      const size_t size = (*loaded)->Tensor(layer, id).size();
      Require(size == (Has(shape, id) ? static_cast<size_t>(RowsOf(shape, id) * ColumnsOf(shape, id)) : 0),
              "a tensor's size");
    }
  }
}

constexpr char kConfig[] =
    R"({"model_type": "llama", "hidden_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 2,
        "intermediate_size": 2, "vocab_size": 2, "tie_word_embeddings": true})";

// Removed when the process ends.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("model_file_fuzz" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
    Write(path + "/config.json", kConfig, sizeof(kConfig) - 1);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  const std::string path;
};

}  // namespace
}  // namespace samebits::heal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace samebits::heal;
  static const Folder folder;
  const std::string gguf = folder.path + "/model.gguf";
  Write(gguf, data, size);
  CheckLoading(gguf);
  // Every other input gets a header's length that fits, so that mutation need not find one.
  std::string file(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0) {
    const uint64_t length = size / 2;
    file.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  }
  Write(folder.path + "/model.safetensors", file.data(), file.size());
  CheckLoading(folder.path);
  return 0;
}
