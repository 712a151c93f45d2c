#ifndef SAMEBITS_CORE_HEAL_ENGINE_ENGINE_H_
#define SAMEBITS_CORE_HEAL_ENGINE_ENGINE_H_

// A forward pass under one configuration, whatever runs it. The CPU reference is in core/heal/reference, CUDA's in
// workers/cuda/heal.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {

struct Capacity {
  int slots = 1;       // sequences side by side
  int context = 2048;  // most positions of a slot
  int rows = 256;      // most rows of a Forward
};

// Rows of one pass, of any slots: token `token[i]` at `position[i]` of `slot[i]`. A slot's positions go up by one from
// row to row and from call to call (a call may go back to an earlier position, which forgets what came after). A row sees
// the positions of its slot up to its own, those written by this call included. So prefill, decode and replay (teacher
// forcing) are one thing.
struct Rows {
  std::span<const int32_t> slot, position, token;
};

// Where a value can be looked at, in the order of a layer. `rows` x width FP32 values, as the next operator reads them
// (rounded to the boundary's type and widened).
enum class TapPoint : uint8_t {
  kInput,          // H_i: hidden
  kAttentionNorm,  // normalised H_i: hidden
  kQkv,            // the product (and bias): qkv_width
  kQuery,          // after QK-norm and rotation, as attention uses it (INT16: what it stands for): query_width
  kKey,            // the same, as the cache holds it: kv_width
  kValue,          // as the cache holds it: kv_width
  kAttention,      // attention's output, which the output product reads: query_width
  kPostAttention,  // A_i: hidden
  kMlpNorm,        // normalised A_i: hidden
  kGateUp,         // the product: 2 * intermediate, gate first
  kActivation,     // SiLU(gate) * up: intermediate
  kOutput,         // H_{i+1}: hidden
};
int WidthOf(const ModelShape& shape, TapPoint point);

// Values are valid during the call.
using Tap = std::function<void(TapPoint point, int layer, std::span<const float> values)>;

struct Wanted {
  bool hidden = false;      // final normalised hidden states
  bool next_token = false;  // argmax of the logits, the lower token of equals
  Tap tap;                  // slow; may be empty
};

struct ForwardResult {
  std::vector<float> hidden;        // rows x hidden
  std::vector<int32_t> next_token;  // rows
};

// An operator alone, on given FP32 inputs, which are first rounded as its configuration's boundary does (equation 5).
enum class OperatorFamily : uint8_t { kRmsNorm, kRope, kGemm, kSwiGlu, kAttention };
struct OperatorInstance {
  OperatorFamily family = OperatorFamily::kGemm;
  int layer = 0;
  // The point whose values it reads: kInput, kPostAttention (kRmsNorm), kQkv (kRope, QK-norm included), kAttentionNorm,
  // kAttention, kMlpNorm, kActivation (kGemm), kGateUp (kSwiGlu), kQuery (kAttention).
  TapPoint reads = TapPoint::kAttentionNorm;
};
std::vector<OperatorInstance> OperatorsOf(const ModelShape& shape);  // of all layers, in order
const char* NameOf(OperatorFamily family);                            // "RMSNorm", "RoPE", "GEMM", "SiLUAndMul", "Attention"

struct OperatorInput {
  std::span<const float> x;                // rows x width of `reads`
  std::span<const int32_t> position;       // kRope, kAttention: of each row; rows are of one slot
  std::span<const float> key, value;       // kAttention: positions x kv_width, of positions 0 .. last
};

struct DecodeTiming {
  std::vector<double> milliseconds;  // per step, one token for each sequence of the batch
  int64_t kv_bytes = 0;              // of the cache, scales included, for batch x context
  int64_t weight_bytes = 0;          // read once a step
  int64_t memory_bytes = 0;          // all that this engine holds, weights included
};

// Not thread-safe. Errors leave the engine usable unless they are INTERNAL or UNAVAILABLE.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const ModelShape& shape() const = 0;
  virtual const Configuration& configuration() const = 0;
  virtual const Capacity& capacity() const = 0;

  // INVALID_ARGUMENT for rows beyond the capacity, tokens beyond the vocabulary, positions that do not follow.
  // DATA_LOSS where a hidden state is not finite.
  virtual absl::Status Forward(const Rows& rows, const Wanted& wanted, ForwardResult* result) = 0;

  // rows x width of the operator's output, rounded to the boundary's type and widened. kRope: q, k (rotated), v joined;
  // INT16 is not applied. kAttention under kInt16 quantises its inputs.
  virtual absl::StatusOr<std::vector<float>> Apply(const OperatorInstance& instance, const OperatorInput& input) = 0;

  // Time of `steps` decode steps of `batch` sequences that hold `context` tokens each, after `warmup` steps. The cache
  // holds made-up values. UNIMPLEMENTED where timing means nothing.
  virtual absl::StatusOr<DecodeTiming> TimeDecode(int batch, int context, int warmup, int steps) = 0;
};

// Weights, ready for engines of several configurations, one engine at a time or several.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const ModelShape& shape() const = 0;
  virtual std::string Describe() const = 0;  // "NVIDIA H200, sm_90, cuBLASLt 13.1.0"; "CPU reference"
  // RESOURCE_EXHAUSTED where memory does not suffice, with what is needed and what there is.
  virtual absl::StatusOr<std::unique_ptr<Engine>> Open(const Configuration& configuration, const Capacity& capacity) = 0;
  // Bytes per second that a copy within the device moves, read and written bytes both counted, measured now on a buffer
  // far larger than any cache. UNIMPLEMENTED where timing means nothing.
  virtual absl::StatusOr<double> CopyBandwidth() { return absl::UnimplementedError("no copy bandwidth"); }
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_ENGINE_ENGINE_H_
