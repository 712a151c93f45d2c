#include "tests/differential/interpret.h"

#include <algorithm>

#include "core/interpreter/amdgcn/interpreter.h"
#include "core/isa/amdgcn/parser.h"

namespace samebits::differential {

absl::StatusOr<Contents> InterpretKernel(const std::string& text, const checker::Launch& launch, const Contents& before,
                                         uint64_t* model) {
  auto module = isa::amdgcn::Parse(text);
  if (!module.ok()) return module.status();
  interpreter::Memory memory;
  interpreter::LaunchConfig config;
  config.block = launch.block;
  config.grid = *launch.grid;
  config.shared_bytes = launch.shared_bytes;
  std::map<std::string, uint64_t> places;
  for (const checker::Argument& a : *launch.args) {
    switch (a.kind) {
      case checker::Argument::Kind::kPointer: {
        const auto [it, fresh] = places.try_emplace(a.buffer, 0);
        if (fresh) it->second = memory.Allocate(before.at(a.buffer));
        config.args.push_back(interpreter::Bytes(it->second));
        break;
      }
      case checker::Argument::Kind::kBytes: config.args.push_back(a.bytes); break;
      case checker::Argument::Kind::kScratch: config.args.push_back(interpreter::Bytes(uint64_t{0})); break;
      default: config.args.push_back(interpreter::Bytes(a.bits)); break;
    }
  }
  const auto run = interpreter::RunAmdgcn(*module, launch.entry, config, memory);
  if (!run.ok()) return run.status();
  *model += run->model_results;
  Contents after;
  for (const auto& [name, address] : places) {
    const auto bytes = memory.Buffer(address);
    after[name].assign(bytes.begin(), bytes.end());
  }
  return after;
}

}  // namespace samebits::differential
