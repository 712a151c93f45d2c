#ifndef SAMEBITS_CORE_HEAL_MODEL_TENSOR_NAMES_H_
#define SAMEBITS_CORE_HEAL_MODEL_TENSOR_NAMES_H_

#include <string>
#include <vector>

#include "core/heal/model/checkpoint.h"

namespace samebits::heal {

enum class Naming : uint8_t { kHuggingFace, kGguf };

// A tensor of a file that makes some rows of ours.
struct TensorPart {
  std::string name;
  int64_t rows = 0;
  int rotated_heads = 0;  // Q and K: their heads, whose rows depend on the rotary layout
};

// The parts of one tensor, top to bottom.
std::vector<TensorPart> PartsOf(const ModelShape& shape, Naming naming, int layer, TensorId id);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_TENSOR_NAMES_H_
