#ifndef SAMEBITS_CORE_CHECKER_RETRACE_H_
#define SAMEBITS_CORE_CHECKER_RETRACE_H_

// Where the nodes of one output element come from. Nodes are free of threads and belong to every kernel that makes
// them, so the class of blocks that wrote the element is executed once more, with nodes of its own and a log of moves.

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/checker/check.h"
#include "core/symexec/move_log.h"

namespace samebits::checker {

struct Origins {
  std::unique_ptr<symexec::SymbolicSpace> symbolic;  // of the log
  std::unique_ptr<symexec::MoveLog> moves;
  std::unordered_map<uint64_t, uint32_t> lines;      // by low digest word: the line that first made the node
};

// `wanted`: low digest words of the nodes asked for. Null where a limit of `options` was reached: the memory that the
// workspace holds counts, and the wall time starts anew.
std::unique_ptr<Origins> Retrace(const Check& check, const Element& element, std::unordered_set<uint64_t> wanted,
                                 const Options& options, const Workspace& workspace);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_RETRACE_H_
