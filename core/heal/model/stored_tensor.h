#ifndef SAMEBITS_CORE_HEAL_MODEL_STORED_TENSOR_H_
#define SAMEBITS_CORE_HEAL_MODEL_STORED_TENSOR_H_

// Tensors as files hold them, and their conversion to BF16.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/heal/model/mapped_file.h"

namespace samebits::heal {

// kQ4_0, kQ4_1, kQ8_0: blocks of 32 values with an FP16 scale (and minimum), as GGUF defines them.
enum class ElementType : uint8_t { kF32, kF16, kBf16, kQ4_0, kQ4_1, kQ8_0 };

struct StoredTensor {
  std::optional<ElementType> type;  // nullopt: one that is not read; type_name says which
  std::string type_name;
  std::vector<int64_t> shape;      // outermost first
  std::span<const uint8_t> bytes;  // as long as shape and type say; empty without a type
  std::shared_ptr<const MappedFile> file;
};
using StoredTensors = std::map<std::string, StoredTensor>;

// Bytes of `columns` values; nullopt where a row does not fill whole blocks.
std::optional<int64_t> RowBytes(ElementType type, int64_t columns);

// The product, or nullopt where it is beyond 2^40 or a size is negative.
std::optional<int64_t> ElementsOf(const std::vector<int64_t>& shape);

// One row of `bf16.size()` values, each brought to FP32 (FP32 product and sum for blocks) and rounded to BF16.
void ReadRow(ElementType type, const uint8_t* row, std::span<uint16_t> bf16);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_STORED_TENSOR_H_
