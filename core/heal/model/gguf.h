#ifndef SAMEBITS_CORE_HEAL_MODEL_GGUF_H_
#define SAMEBITS_CORE_HEAL_MODEL_GGUF_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/heal/model/model_shape.h"
#include "core/heal/model/stored_tensor.h"

namespace samebits::heal {

struct GgufModel {
  ModelShape shape;
  StoredTensors tensors;
  bool interleaved = false;  // rows of Q and K pair neighbours for the rotation, instead of halves
};

// Little-endian, version 2 or 3; architectures llama, qwen2 and qwen3. INVALID_ARGUMENT with file and place.
absl::StatusOr<GgufModel> ReadGguf(const std::string& path);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_GGUF_H_
