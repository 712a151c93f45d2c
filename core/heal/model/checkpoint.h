#ifndef SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_
#define SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_

// Weights on the CPU: BF16 patterns, row-major, a matrix as (outputs x inputs). Whatever a file holds is rounded once to
// BF16 when read, and that is the checkpoint.

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
  kInputNorm,   // hidden
  kQkv,         // qkv_width x hidden
  kQkvBias,     // qkv_width; qkv_bias only
  kQueryNorm,   // head_dim; qk_norm only
  kKeyNorm,     // head_dim; qk_norm only
  kOutput,      // hidden x query_width
  kMlpNorm,     // hidden
  kGateUp,      // 2 * intermediate x hidden: gate's rows first
  kDown,        // hidden x intermediate
  kEmbedding,   // vocabulary x hidden; layer 0
  kFinalNorm,   // hidden; layer 0
  kHead,        // vocabulary x hidden; layer 0; the embedding where tied
};
int64_t RowsOf(const ModelShape& shape, TensorId id);
int64_t ColumnsOf(const ModelShape& shape, TensorId id);  // 1 for vectors
bool Has(const ModelShape& shape, TensorId id);

// Value number `index` of a synthetic tensor, as BF16: the sum of four 16-bit uniforms of a counter-based generator
// (splitmix64 of seed, layer, id, index), minus 131070, times `SyntheticScale`, rounded once. Norms are 1 + that. Exact
// integers and one FP32 product, so that every backend makes the same bits.
uint16_t SyntheticValue(uint64_t seed, int layer, TensorId id, int64_t index, float scale);
float SyntheticScale(const ModelShape& shape, TensorId id);  // keeps activations of order one through all layers

// Immutable and thread-safe.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const ModelShape& shape() const = 0;
  // RowsOf * ColumnsOf patterns, valid as long as the checkpoint.
  virtual std::span<const uint16_t> Tensor(int layer, TensorId id) const = 0;
  // Synthetic ones can be made elsewhere without the CPU's copy; nullopt for others.
  virtual std::optional<uint64_t> synthetic_seed() const { return std::nullopt; }
};

// A folder with config.json and *.safetensors (several files with an index, or one), or a GGUF file (F32, F16, BF16, Q4_1,
// Q4_0, Q8_0). NOT_FOUND, INVALID_ARGUMENT with file, tensor and what is wrong: truncated, of the wrong shape or type,
// missing, not finite.
absl::StatusOr<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const std::string& path);

// Tensors are made when first asked for and kept.
std::shared_ptr<const Checkpoint> MakeSyntheticCheckpoint(const ModelShape& shape, uint64_t seed);

// "synthetic:NAME[:SEED]" or a path.
absl::StatusOr<std::shared_ptr<const Checkpoint>> OpenCheckpoint(const std::string& text);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_CHECKPOINT_H_
