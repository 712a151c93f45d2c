#ifndef SAMEBITS_CORE_SYMEXEC_LANE_CLASSES_H_
#define SAMEBITS_CORE_SYMEXEC_LANE_CLASSES_H_

// The lanes of one operation by what its operands hold in them. Lanes of a class have the same nodes, and anchors that
// are shifted by one number in each group (buffer and symbolic part): their results are one result, shifted alike.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/symexec/lanes.h"

namespace samebits::symexec {

// Not thread safe. Keeps its room from operation to operation.
class LaneClasses {
 public:
  explicit LaneClasses(LaneSpace* space) : space_(*space) {}

  // Begins an operation on `operands`, whose arrays must stay where they are until Join.
  void Start(std::span<const Lanes* const> operands);
  // A class of `lane` among the last few with its nodes; -1: none.
  int Find(int lane);
  // The class of a lane that none was found for. `operands`: what it holds; `result`: what they led to, its anchors with
  // their sources. Not `findable`: Find will not tell it.
  int Add(int lane, std::span<const expr::Scalar> operands, const expr::Scalar& result, bool findable);
  // The results of all lanes; `class_of`: the class of each.
  Lanes Join(std::span<const uint16_t> class_of);

  int size() const { return static_cast<int>(classes_.size()); }
  int slots(int c) const { return classes_[c].slots; }
  uint16_t source(int c, int slot) const { return results_[classes_[c].first_result + static_cast<uint32_t>(slot)].source; }

 private:
  static constexpr int kMostTried = 4;       // classes with a lane's nodes that Find looks at
  static constexpr uint32_t kHeads = 256;
  struct Operand {
    const uint32_t* nodes = nullptr;         // null: one for all lanes
    uint32_t first_column = 0;
  };
  struct Column {
    const int64_t* offsets;
    const uint32_t* symbolics;               // null: one for all lanes
    ArrayId array;
  };
  struct Place {
    uint16_t column, group;
    bool leads;                              // first of its group
  };
  // A result's anchor: offset of column `lead` (-1: 0) plus `delta`.
  struct Result {
    int64_t delta;
    int32_t lead;
    uint32_t symbolic;
    uint16_t source;
  };
  struct Class {
    uint32_t first_place, places, first_result;
    expr::NodeId node;
    int32_t next;                            // class with the same hash; -1 none
    uint16_t lane;                           // its first
    uint8_t slots;
  };
  uint32_t HashOf(int lane) const;
  bool SameNodes(int a, int b) const;
  bool Shifted(const Class& c, int lane);
  Lanes JoinOne();
  uint32_t JoinColumn(std::span<const uint16_t> class_of, int column, int64_t* offsets);

  LaneSpace& space_;
  std::vector<Operand> operands_;
  std::vector<Column> columns_;
  std::vector<const uint32_t*> varying_;     // nodes of operands that differ by lane
  std::vector<Class> classes_;
  std::vector<Place> places_;
  std::vector<Result> results_;
  std::array<int32_t, kHeads> heads_{};      // by hash: the last class; -1 none
  std::array<int64_t, expr::kMaxSlots> shift_{};
  std::vector<uint32_t> ids_;
  std::vector<int64_t> offsets_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_LANE_CLASSES_H_
