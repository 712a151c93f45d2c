#ifndef SAMEBITS_CORE_EXPR_PROGRAM_H_
#define SAMEBITS_CORE_EXPR_PROGRAM_H_

// Expression trees unrolled into a list of operations on numbered values, for evaluating a few trees on many inputs.
// Results are those of the Evaluator (evaluator.h).

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/expr/evaluator.h"
#include "core/expr/node.h"

namespace samebits::expr {

using ValueId = uint32_t;

// The bytes that a program's loads reach, and its parameters, at positions of one byte array. What lies outside reads
// as zero.
class Image : public Memory {
 public:
  // Parameters take this place of a buffer; the index is the offset divided by 16.
  static constexpr BufferId kParameters = kIntBuffer;

  // Makes room for a range; ranges may overlap. Settle must follow.
  void Cover(BufferId buffer, int64_t offset, int bytes);
  // Gives all ranges their positions; all contents become zero.
  void Settle();
  // Position of a covered range, -1 where it is not covered.
  int64_t Find(BufferId buffer, int64_t offset, int bytes) const;
  std::vector<uint8_t>& bytes() { return bytes_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  // Zero where nothing is covered; false for offsets that are negative or beyond every plausible buffer.
  bool Read(BufferId buffer, int64_t offset, int bytes, uint8_t* out) const override;

 private:
  struct Range {
    int64_t end = 0;
    size_t position = 0;
  };
  std::map<std::pair<BufferId, int64_t>, Range> ranges_;
  std::vector<uint8_t> bytes_;
};

// Not thread-safe; `nodes` outlives it and may grow.
class Program {
 public:
  enum class Kind : uint8_t { kConstant, kInput, kStep, kUndefined };
  // One value. Inputs: `node` is a load or parameter. Steps: fn(attr) of `count` operands from `first`; a matrix step's
  // are accumulator, then both vectors' elements; a gather's are its address, and `buffer` is what it reads.
  struct Value {
    Kind kind = Kind::kConstant;
    Fn fn = Fn::kConst;
    uint8_t width = 0;
    BufferId buffer = 0;
    uint16_t count = 0;
    uint32_t first = 0;
    NodeId node = 0;
    uint64_t attr = 0;
    int64_t offset = 0;  // inputs: byte in the buffer
    uint128 constant = 0;
  };

  Program(const NodeManager* nodes, uint64_t max_values)
      : nodes_(*nodes), max_values_(max_values), table_(1024, kNone) {}

  // Value of a node with absolute anchors (symbolic parts are ignored). Errors as Evaluator::Evaluate.
  absl::StatusOr<ValueId> Add(const Scalar& scalar, int width);
  // `condition` ? a : b, all of them values of this program.
  ValueId AddSelect(ValueId condition, ValueId a, ValueId b);
  // Bits [low, low + width) of a value.
  ValueId AddExtract(ValueId value, int low, int width);

  const std::vector<Value>& values() const { return values_; }
  ValueId operand(const Value& v, int i) const { return operands_[v.first + i]; }
  const NodeManager& nodes() const { return nodes_; }

  // Covers what the loads and parameters read; the caller settles the image.
  void Cover(Image* image) const;

  // What the assembler makes of a product open to contraction (Attr::kContract) that a sum takes.
  enum class Contraction : uint8_t { kNone, kFirst, kLast };  // kept apart; the sum's first or last product fused

  // Evaluates all values, in order of number. A gather outside of every plausible buffer is undefined.
  void Run(const Image& image, Contraction contraction, std::vector<Evaluated>* out) const;
  // Evaluates the values `ids`, ascending; the others keep what `values` holds.
  void Rerun(const Image& image, Contraction contraction, const std::vector<ValueId>& ids,
             std::vector<Evaluated>* values) const;
  // Whether some sum may be fused with a product.
  bool contractible() const { return contractible_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  struct Place {
    NodeId node = 0;
    std::array<int64_t, kMaxSlots> offset;
  };
  struct Entry {
    uint64_t hash = 0;
    size_t key = 0;
    ValueId value = kNone;
  };
  uint32_t Find(const Place& place, int width);
  void Grow();
  bool Wanted(const Place& place, const Node& n, std::vector<std::pair<Place, int>>* children);
  bool Simple(const Place& place, int width, ValueId* id);
  bool Vector(const Place& place, std::vector<std::pair<Place, int>>* children);
  bool OpenWidth(const Node& n, const Node& child, int i, int* width);
  bool IsOpenProduct(ValueId id) const;
  Evaluated Step(const Value& v, const Image& image, Contraction contraction,
                 const std::vector<Evaluated>& values) const;
  Evaluated Matrix(const Value& v, const std::vector<Evaluated>& values) const;
  Evaluated Evaluate(const Value& v, const Image& image, Contraction contraction,
                     const std::vector<Evaluated>& values) const;
  static Evaluated Load(BufferId buffer, int64_t offset, int width, const Image& image);
  bool Fused(const Value& sum, Contraction contraction, const std::vector<Evaluated>& values, Evaluated* out) const;
  bool Error(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  ValueId Append(Value v, const std::vector<ValueId>& operands);

  const NodeManager& nodes_;
  uint64_t max_values_;
  std::vector<Value> values_;
  std::vector<ValueId> operands_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> table_;
  bool contractible_ = false;
  absl::Status status_;
};

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_PROGRAM_H_
