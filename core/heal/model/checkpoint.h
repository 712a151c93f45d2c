#ifndef SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_
#define SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_

// Weights on the CPU: BF16 patterns, row-major, a matrix as (outputs x inputs). Whatever a file holds is rounded once
// to BF16 when read, and that is the checkpoint.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/model/model_shape.h"

namespace samebits::heal {

// The tensors of one layer, and what is around the layers. Q, K and V are joined by rows, and so are gate and up.
enum class TensorId : uint8_t {
  kInputNorm,  // hidden
  kQkv,        // qkv_width x hidden
  kQkvBias,    // qkv_width; qkv_bias only
  kQueryNorm,  // head_dim; qk_norm only
  kKeyNorm,    // head_dim; qk_norm only
  kOutput,     // hidden x query_width
  kMlpNorm,    // hidden
  kGateUp,     // 2 * intermediate x hidden: gate's rows first
  kDown,       // hidden x intermediate
  kEmbedding,  // vocabulary x hidden; layer 0
  kFinalNorm,  // hidden; layer 0
  kHead,       // vocabulary x hidden; layer 0; the embedding where tied
};
int64_t RowsOf(const ModelShape& shape, TensorId id);
int64_t ColumnsOf(const ModelShape& shape, TensorId id);  // 1 for vectors
bool Has(const ModelShape& shape, TensorId id);

bool IsNorm(TensorId id);
bool IsOfLayer(TensorId id);  // false: one for the model, asked for with layer 0

// Value number `index` (row-major) of a synthetic tensor as BF16, so made that every backend makes the same bits. All
// integers are modulo 2^64; Mix is the output function of splitmix64:
//   Mix(z):  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;  z = (z ^ z >> 27) * 0x94d049bb133111eb;  z ^ z >> 31
//   key   = Mix(seed + 0x9e3779b97f4a7c15 * (16 * layer + id + 1))        SyntheticKey
//   bits  = Mix(key + 0x9e3779b97f4a7c15 * (index + 1))
//   n     = the sum of the four 16-bit fields of bits, minus 131070       -131070 .. 131070, exact in FP32
//   value = n * scale in FP32; for norms (IsNorm) 1 + that, rounded to FP32 once more (no fused multiply-add)
// and the value is rounded to BF16, ties to even.
uint64_t SyntheticKey(uint64_t seed, int layer, TensorId id);
uint16_t SyntheticValue(uint64_t seed, int layer, TensorId id, int64_t index, float scale);
// FP32, computed on the CPU: gives products the deviation that keeps activations of order one through all layers.
float SyntheticScale(const ModelShape& shape, TensorId id);

// Immutable and thread-safe.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const ModelShape& shape() const = 0;
  // RowsOf * ColumnsOf patterns, valid as long as the checkpoint; none where the shape lacks the tensor (Has).
  virtual std::span<const uint16_t> Tensor(int layer, TensorId id) const = 0;
  // Synthetic ones can be made elsewhere without the CPU's copy; nullopt for others.
  virtual std::optional<uint64_t> synthetic_seed() const { return std::nullopt; }
};

// A folder with config.json and *.safetensors (several files with an index, or one; F32, F16, BF16), or a GGUF file
// (little-endian, version 2 or 3; F32, F16, BF16, Q4_0, Q4_1, Q8_0), whose rows of Q and K are brought from the
// interleaved rotary layout of Llama models to NeoX's. All tensors are read and checked before this returns. The
// name is the folder's or the one in the GGUF file. NOT_FOUND,
// INVALID_ARGUMENT with file, tensor and what is wrong: truncated, of the wrong shape or type, missing, not finite, or
// without a place in the model.
absl::StatusOr<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const std::string& path);

// Tensors are made when first asked for and kept.
std::shared_ptr<const Checkpoint> MakeSyntheticCheckpoint(const ModelShape& shape, uint64_t seed);

// "synthetic:NAME[:SEED]" with a published shape's name (seed 1 unless given), or a path.
absl::StatusOr<std::shared_ptr<const Checkpoint>> OpenCheckpoint(const std::string& text);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_
