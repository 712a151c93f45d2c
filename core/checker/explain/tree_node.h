#ifndef SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_NODE_H_
#define SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_NODE_H_

// One side of an explanation: the expression of an output element as a tree for people, folded to a bounded size.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/checker/place.h"

namespace samebits::checker {

// How far apart the places are between which a value moved: within a thread, between the lanes of a warp (shuffles,
// matrix fragments), through shared memory, or from outside the block, which is global memory.
enum class Scope : uint8_t { kUnknown, kThread, kWarp, kShared, kGlobal };

struct TreeNode {
  enum class Kind : uint8_t {
    kOperation,
    kLoad,      // bytes of global memory
    kConstant,
    kInput,     // argument, index or undefined value
    kFold,      // stands for nodes that are left out: the middle of a chain; its only child is what comes after them
  };
  // What the other side has at this place.
  enum class Match : uint8_t {
    kSame,   // this very value is also in the other tree; folded where it is more than a leaf
    kAlike,  // the same operation, on operands that differ somewhere
    kParts,  // something else: here the trees part (with a label: this value stands elsewhere in the other tree)
    kOwn,    // below a parting node: only here
  };
  static constexpr uint32_t kNone = 0xffffffff;

  Kind kind = Kind::kOperation;
  Match match = Match::kOwn;
  Scope scope = Scope::kUnknown;    // operations and folds: the widest way by which an operand came to the others
  Scope reached = Scope::kUnknown;  // the way by which this value came to its user
  std::string text;                 // "fadd.rn.f32", "x[12]", "0x3f800000 (1)"
  std::string detail;               // what is folded, in notation for runs: "x[0], x[4], ... x[1020] (256 terms)"
  std::vector<uint32_t> children;   // indices into the same tree, all greater than this node's own
  uint32_t partner = kNone;         // index in the other tree of what stands at the same place
  uint32_t label = 0;               // common parts with equal labels, here and there, are one value; 0 none
  uint64_t folded = 0;              // operations that this node stands for beside itself; saturates
  Place place;                      // the instruction that first made it in this launch
};

// Root first; empty where there is nothing to show.
using Tree = std::vector<TreeNode>;

// Spelling for programs: "thread", "warp", "shared", "global", "unknown"; "operation", ...; "same", ...
std::string_view ScopeName(Scope scope);
std::string_view KindName(TreeNode::Kind kind);
std::string_view MatchName(TreeNode::Match match);

// Nodes of one tree, at most.
inline constexpr size_t kMaxTreeNodes = 120;

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_NODE_H_
