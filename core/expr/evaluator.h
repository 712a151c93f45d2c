#ifndef SAMEBITS_CORE_EXPR_EVALUATOR_H_
#define SAMEBITS_CORE_EXPR_EVALUATOR_H_

// Evaluates expression trees bit by bit on concrete memory.
//
// Products are never contracted into sums. Approximate functions take the stand-ins of softfloat/approximate.h, and the
// result says so. Integer division by zero gives all ones and leaves the dividend as remainder.

#include <cstdint>
#include <memory>
#include <optional>
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
};

struct EvaluatorOptions {
  uint64_t max_values = 1u << 22;               // distinct (node, anchors) of one evaluation
  std::vector<std::optional<uint64_t>> params;  // values of kParam nodes, by index
};

// Values are remembered across calls. Not thread-safe; `nodes` and `memory` outlive it, and memory does not change.
class Evaluator {
 public:
  Evaluator(const NodeManager* nodes, const Memory* memory, EvaluatorOptions options = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // The value of a node with absolute anchors (symbolic parts are ignored: add them to the offsets first). `width` is
  // the number of bits wanted, at most 128; nodes with a width of their own must have that one. Errors: OUT_OF_RANGE (a
  // leaf outside its buffer), RESOURCE_EXHAUSTED (max_values), UNIMPLEMENTED (operations known by name only, unknown
  // parameters, vectors), INTERNAL (a child of another width than its parent takes).
  absl::StatusOr<Evaluated> Evaluate(const Scalar& value, int width);

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_EVALUATOR_H_
