#ifndef SAMEBITS_CORE_EXPR_EVALUATOR_H_
#define SAMEBITS_CORE_EXPR_EVALUATOR_H_

// Evaluates expression trees bit by bit on concrete memory.
//
// Products are never contracted into sums. Approximate functions take the stand-ins of softfloat/approximate.h, and the
// result says so, or what an oracle answers. Integer division by zero gives all ones and leaves the dividend as
// remainder.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/expr/node.h"

namespace samebits::expr {

// Contents of the buffers that leaves read.
class Memory {
 public:
  virtual ~Memory() = default;
  // The `bytes` (at most 16) from byte `offset` of a buffer; false where not all of them exist.
  virtual bool Read(BufferId buffer, int64_t offset, int bytes, uint8_t* out) const = 0;
};

// A value of up to 128 bits, in the low bits; zero above.
struct Evaluated {
  uint128 bits = 0;
  bool undefined = false;  // holds bits that nothing defines (kUndef): `bits` means nothing
  bool inexact = false;    // holds a result that the model only approximates
  bool unanswered = false; // holds a result that the oracle did not know: `bits` means nothing
};

// What an approximate function returns for patterns of its operands; nullopt where that is not known. Asked for
// results that the ISA leaves open only, never for operands that are themselves unknown.
using Oracle = std::function<std::optional<uint64_t>(Fn fn, uint64_t attr, std::span<const uint128> operands)>;

struct EvaluatorOptions {
  uint64_t max_values = 1u << 22;               // distinct (node, anchors) of one evaluation, in all memories at once
  std::vector<std::optional<uint64_t>> params;  // values of kParam nodes, by index
  Oracle oracle;                                // empty: stand-ins
};

// Values are remembered across calls. Not thread-safe; `nodes` and memories outlive it, and memories do not change.
class Evaluator {
 public:
  Evaluator(const NodeManager* nodes, const Memory* memory, EvaluatorOptions options = {});
  // On several memories at once, which share the walk over the nodes.
  Evaluator(const NodeManager* nodes, std::vector<const Memory*> memories, EvaluatorOptions options = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // The value of a node with absolute anchors (symbolic parts are ignored: add them to the offsets first). `width` is
  // the number of bits wanted, at most 128; nodes with a width of their own must have that one. Errors: OUT_OF_RANGE (a
  // leaf outside its buffer), RESOURCE_EXHAUSTED (max_values), UNIMPLEMENTED (operations known by name only, unknown
  // parameters, vectors), INTERNAL (a child of another width than its parent takes).
  absl::StatusOr<Evaluated> Evaluate(const Scalar& value, int width);
  // The value in each memory; `out` has as many elements. An error in one is an error.
  absl::Status Evaluate(const Scalar& value, int width, std::span<Evaluated> out);

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_EVALUATOR_H_
