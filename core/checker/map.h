#ifndef SAMEBITS_CORE_CHECKER_MAP_H_
#define SAMEBITS_CORE_CHECKER_MAP_H_

// The map of a launch: output address -> (tree, leaf addresses), over the whole grid, as one sum per buffer in the
// field of 2^127 - 1: over elements and blocks of W(tree) * r_out^address * product of r_j^anchor_j. The sum factors
// into lanes times blocks, so its cost is elements + blocks. Two maps that differ have equal sums for a fraction of at
// most degree / 2^127 of the points, degree being the largest address or anchor (docs/soundness.md).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/field.h"
#include "core/canonical/builder.h"
#include "core/canonical/linear_form.h"
#include "core/symexec/machine.h"

namespace samebits::checker {

// What one class of blocks wrote and read.
struct ClassResult {
  std::vector<uint32_t> blocks;  // linear indices
  std::unique_ptr<symexec::SymbolicSpace> symbolic;
  symexec::Execution execution;
};

// One buffer's part of the map.
struct BufferMap {
  Field sum;            // over elements
  Field coverage;       // over bytes, unit weights
  uint64_t bytes = 0;   // written, with repetition
  int64_t min = INT64_MAX, end = INT64_MIN;
  bool open = false;    // some address holds open terms
  bool atomic = false;
};

// One written element of one lane and block.
struct Element {
  int64_t address = 0;
  uint32_t bytes = 0;
  uint32_t block = 0;           // linear index in the grid
  uint32_t block_in_class = 0;
  uint16_t lane = 0;
  uint64_t terms = 0;           // hash of the address's open terms
  const symexec::Store* store = nullptr;
  const ClassResult* owner = nullptr;
};

// Builds maps from executed classes. Not thread-safe; references outlive it.
class MapBuilder {
 public:
  // `residues`: of the open grid's block indices, where the grid is not known.
  MapBuilder(canonical::Builder* builder, symexec::LaneSpace* space, bool grid_known,
             const std::array<uint32_t, 3>& residues = {1, 1, 1})
      : builder_(*builder), nodes_(builder->nodes()), space_(*space), linear_(&nodes_), grid_known_(grid_known),
        residues_(residues) {}

  // Sums all classes, proves that each address is written once, and checks reads against writes. `compared[b]` says
  // whether buffer b counts. The result is a stop of kind kDone, or why there is no signature.
  symexec::Stop Build(const std::vector<ClassResult>& classes, const std::vector<bool>& compared,
                      std::map<expr::BufferId, BufferMap>* maps);
  uint32_t families() const { return static_cast<uint32_t>(families_.size()); }

  // All elements of a buffer, in order of class, store, block, lane. False where there are more than `limit`.
  static bool Enumerate(const std::vector<ClassResult>& classes, const symexec::LaneSpace& space, expr::BufferId buffer,
                        uint64_t limit, std::vector<Element>* out);
  // The element's value with absolute anchors (block included, open terms left out).
  expr::Scalar ElementValue(const Element& e);
  // What the element adds to the sum of its buffer.
  Field ElementTerm(const Element& e);

 private:
  struct Weighted {
    Field sum;     // of the lanes, with trees and anchors
    Field cover;   // of the lanes' addresses
  };
  Field TermOf(expr::NodeId node, int bits);
  // A stored value's factor: of its tree and its anchors' offsets.
  Field ValueTerm(const expr::Scalar& v, int bits);
  const std::vector<Field>& Powers(symexec::ArrayId array, int point);
  Weighted LaneSum(const symexec::Store& s, const symexec::Lanes& value);
  Field BlockSum(const ClassResult& c, symexec::SymbolicId address, const std::vector<symexec::SymbolicId>& anchors);
  Field OpenFactor(const ClassResult& c, symexec::SymbolicId address, const std::vector<symexec::SymbolicId>& anchors);
  // open_map.cc
  Field OpenGridFactor(const ClassResult& c, symexec::SymbolicId address,
                       const std::vector<symexec::SymbolicId>& anchors);
  bool Rises(const symexec::SymbolicSpace& symbolic, symexec::SymbolicId address,
             const std::vector<uint32_t>& blocks) const;
  symexec::Stop CheckOpenReads(const std::vector<ClassResult>& classes, expr::BufferId buffer);
  bool ValueOf(const symexec::Store& s, symexec::Lanes* value);
  bool AddStore(const ClassResult& c, const symexec::Store& s, BufferMap* map);
  // Trees count in their linear form where they have one; the lanes without stay as they are. `all`: no lane of the
  // store holds a tree without linear form that reads one buffer from two open places.
  symexec::Lanes Linear(symexec::MaskId mask, const symexec::Lanes& value, bool* all);
  expr::Scalar Linear(const expr::Scalar& value);
  // Such a place may in another launch be one: these stores are summed element by element, each tree anchored once a
  // buffer. Only of known grids, small trees and a bounded number of elements.
  bool CountsElements(const ClassResult& c, const symexec::Store& s, const symexec::Lanes& value) const;
  bool RepeatsBuffer(expr::NodeId node) const;
  // The result is the sum of the elements' addresses.
  Field AddElements(const ClassResult& c, const symexec::Store& s, const symexec::Lanes& value, BufferMap* map);
  expr::Scalar Merged(const expr::Scalar& value);
  bool Rebuild(const expr::Scalar& value, int* budget, expr::Scalar* out);
  bool Dense(const BufferMap& m) const;
  symexec::Stop ResolveRepeats(const std::vector<ClassResult>& classes, expr::BufferId buffer, BufferMap* map);
  symexec::Stop CheckReads(const std::vector<ClassResult>& classes, expr::BufferId buffer);

  canonical::Builder& builder_;
  expr::NodeManager& nodes_;
  symexec::LaneSpace& space_;
  canonical::LinearForms linear_;
  bool grid_known_;
  std::array<uint32_t, 3> residues_;
  const ClassResult* first_class_ = nullptr;
  symexec::Stop open_problem_;                             // of kind kDone where there is none
  std::unordered_set<uint64_t> families_;
  std::unordered_map<uint64_t, Field> terms_;
  std::unordered_map<uint64_t, std::vector<Field>> powers_;
  std::map<std::vector<uint32_t>, Weighted> lane_sums_;    // uniform trees: by mask and arrays
  std::map<std::vector<int64_t>, expr::Scalar> merged_;    // by node and distances of its slots
  std::map<std::vector<uint32_t>, Field> block_sums_;      // of one class: by symbolic parts
  std::map<std::vector<uint32_t>, Field> open_factors_;    // likewise
};

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_MAP_H_
