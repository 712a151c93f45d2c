#ifndef SAMEBITS_CORE_CHECKER_CHECK_H_
#define SAMEBITS_CORE_CHECKER_CHECK_H_

// One checked launch with all that was built for it: classes, nodes, maps. The facade (checker.h) condenses it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "core/checker/map.h"
#include "core/isa/module.h"

namespace samebits::checker {

// Nodes that several checks share, so that equal trees have equal ids. Not thread-safe.
struct Workspace {
  Workspace(const Limits& limits, bool ignore_signed_zero)
      : nodes(limits.max_nodes), builder(&nodes, {ignore_signed_zero}) {}
  // The buffer of a key, registered once.
  expr::BufferId Buffer(const std::string& name, const Digest128& key);
  expr::NodeManager nodes;
  canonical::Builder builder;
  std::map<std::pair<uint64_t, uint64_t>, expr::BufferId> buffers;
};

struct Check {
  std::unique_ptr<isa::Module> module;
  uint32_t entry = 0;
  symexec::LaunchConfig launch;
  std::unique_ptr<symexec::LaneSpace> space;
  std::vector<ClassResult> classes;
  std::vector<bool> compared;
  std::map<expr::BufferId, BufferMap> maps;
  symexec::Stop stop;
  std::vector<std::string> assumptions;
  std::map<expr::BufferId, symexec::AtomId> strides;  // of an open grid: Execution::strides over all classes
  Signature signature;
};

// Parses, verifies and finds the entry: module, entry and the time of parsing. Errors as ComputeSignature.
absl::StatusOr<std::unique_ptr<Check>> ParseCheck(std::string_view text, const Launch& launch, const Options& options);

// Executes and maps what ParseCheck left.
absl::Status RunParsed(const Launch& launch, const Options& options, Workspace* workspace, Check* check);

// Both.
absl::StatusOr<std::unique_ptr<Check>> RunCheck(std::string_view text, const Launch& launch, const Options& options,
                                                Workspace* workspace);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_CHECK_H_
