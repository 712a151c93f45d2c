#ifndef SAMEBITS_CORE_HEAL_MODEL_GGUF_FILE_H_
#define SAMEBITS_CORE_HEAL_MODEL_GGUF_FILE_H_

// The container format alone: typed metadata and tensors.

#include <map>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "core/heal/model/stored_tensor.h"

namespace samebits::heal {

// Integers and booleans as int64_t; arrays as their length only.
struct GgufArray {
  uint64_t length = 0;
};
using GgufValue = std::variant<int64_t, double, std::string, GgufArray>;

struct GgufFile {
  std::map<std::string, GgufValue> metadata;
  StoredTensors tensors;
};

absl::StatusOr<GgufFile> ReadGgufFile(const std::string& path);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_GGUF_FILE_H_
