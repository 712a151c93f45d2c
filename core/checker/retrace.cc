#include "core/checker/retrace.h"

#include "core/base/thread_time.h"
#include "core/checker/text.h"

namespace samebits::checker {

std::unique_ptr<Origins> Retrace(const Check& check, const Element& element, std::unordered_set<uint64_t> wanted,
                                 const Options& options, const Workspace& workspace) {
  const ClassResult& c = *element.owner;
  expr::NodeManager nodes(options.limits.max_nodes);
  for (int b = 1; b < workspace.nodes.buffer_count(); ++b)
    nodes.AddBuffer(workspace.nodes.buffer_name(static_cast<expr::BufferId>(b)),
                    workspace.nodes.buffer_key(static_cast<expr::BufferId>(b)));
  canonical::Builder builder(&nodes, {options.ignore_signed_zero});
  symexec::LaneSpace space(check.space->lanes());
  auto origins = std::make_unique<Origins>();
  origins->symbolic = std::make_unique<symexec::SymbolicSpace>(c.blocks.size());
  origins->moves = std::make_unique<symexec::MoveLog>(std::move(wanted), origins->symbolic.get(), element.block_in_class);
  symexec::MachineLimits limits;
  limits.max_steps = options.limits.max_steps;
  const uint64_t held = workspace.nodes.memory_bytes();
  limits.max_memory_bytes = options.limits.max_memory_bytes > held ? options.limits.max_memory_bytes - held : 0;
  limits.deadline = ThreadCpuTime() + options.limits.max_time;
  limits.cancelled = options.cancelled;
  const auto machine = MakeMachine(*check.module, check.entry, check.launch, c.blocks, &builder, &space,
                                   origins->symbolic.get(), limits);
  machine->set_move_log(origins->moves.get());
  if (machine->Run().stop.kind != symexec::StopKind::kDone) return nullptr;
  for (expr::NodeId id = 0; id < nodes.size(); ++id)
    if (nodes[id].line != 0 && origins->moves->wanted().count(nodes[id].digest.lo) != 0)
      origins->lines.emplace(nodes[id].digest.lo, nodes[id].line);
  return origins;
}

}  // namespace samebits::checker
