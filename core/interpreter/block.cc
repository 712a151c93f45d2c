#include "core/interpreter/block.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace samebits::interpreter {
namespace {

const Operand& Sink() {
  static const Operand sink;
  return sink;
}

bool SameSite(const Thread& a, const Thread& b) {
  return a.stack.size() == b.stack.size() && a.stack.back().function == b.stack.back().function &&
         a.stack.back().pc == b.stack.back().pc;
}

}  // namespace

const Operand& Site::operand(size_t i) const { return i < operands.size() ? operands[i] : Sink(); }

Block::Block(const Program& program, Memory& memory, Dim3 index, RunResult& result)
    : program_(program), memory_(memory), index_(index), result_(result) {
  const Dim3& block = program.config->block;
  shared_.assign(program.shared_end, 0);
  threads_.resize(uint64_t{block[0]} * block[1] * block[2]);
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.index = i;
    thread.tid = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
    PushFrame(thread, program.entry);
    const isa::Function& entry = program.module->functions[program.entry];
    for (size_t p = 0; p < program.config->args.size(); ++p) {
      const std::vector<uint8_t>& arg = program.config->args[p];
      const isa::Symbol& symbol = program.module->symbols[entry.params[p]];
      const size_t bytes = std::min<size_t>(arg.size(), symbol.size);
      std::copy_n(arg.begin(), bytes, thread.frame().params.begin() + program.symbol_address[entry.params[p]]);
    }
  }
}

absl::Status Block::Run() {
  while (status_.ok()) {
    bool progress = false;
    for (size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[program_.config->descending ? threads_.size() - 1 - i : i];
      if (thread.state != Thread::State::kReady) continue;
      RunThread(thread);
      progress = true;
    }
    if (LiveThreads() == 0) break;
    progress |= RunCollectives();
    CompleteBarriers();
    const bool any_ready = std::any_of(threads_.begin(), threads_.end(),
                                       [](const Thread& thread) { return thread.state == Thread::State::kReady; });
    if (progress || any_ready || !status_.ok()) continue;
    for (Thread& thread : threads_) {
      if (thread.state == Thread::State::kExited) continue;
      Fail(At(thread), absl::StatusCode::kFailedPrecondition, "threads wait here forever");
      break;
    }
  }
  return status_;
}

void Block::RunThread(Thread& thread) {
  while (thread.state == Thread::State::kReady && status_.ok()) Step(thread);
}

void Block::Step(Thread& thread) {
  Frame& frame = thread.frame();
  if (frame.pc >= program_.module->functions[frame.function].instructions.size()) {
    thread.stack.pop_back();
    if (thread.stack.empty()) thread.state = Thread::State::kExited;
    return;
  }
  const Site site = At(thread);
  if (++result_.steps > program_.config->max_steps) {
    return Fail(site, absl::StatusCode::kResourceExhausted, "max_steps reached");
  }
  const Instruction& instruction = site.instruction;
  if (instruction.guard != isa::kNone32 &&
      ((frame.registers[instruction.guard] & 1) != 0) == instruction.guard_negated) {
    ++frame.pc;
    return;
  }
  if (instruction.has_unknown_modifier) return Unimplemented(site, "unknown modifier");
  if (IsCollective(instruction.op)) {
    thread.mask = MemberMask(site);
    thread.state = Thread::State::kAtCollective;
    if (!InMask(thread.mask, thread.lane())) {
      Fail(site, absl::StatusCode::kFailedPrecondition, "executing lane is not in the member mask");
    }
    return;
  }
  Execute(site);
}

Site Block::At(Thread& thread) {
  const Frame& frame = thread.frame();
  const isa::Function& function = program_.module->functions[frame.function];
  const Instruction& instruction = function.instructions[frame.pc];
  return {
      thread, function, instruction,
      std::span<const Operand>(function.operand_pool).subspan(instruction.first_operand, instruction.operand_count)};
}

bool Block::RunCollectives() {
  bool progress = false;
  for (uint32_t i = 0; i < threads_.size() && status_.ok(); ++i) {
    if (threads_[i].state == Thread::State::kAtCollective) progress |= RunCollective(i);
  }
  return progress;
}

bool Block::RunCollective(uint32_t first) {
  Thread& leader = threads_[first];
  const bool warpgroup = NeedsWarpgroup(At(leader).instruction.op);
  const uint32_t size = warpgroup ? 128 : 32;
  const uint32_t begin = first / size * size, end = std::min<uint32_t>(begin + size, threads_.size());
  std::vector<Thread*> lanes;
  for (uint32_t i = begin; i < end; ++i) {
    Thread& thread = threads_[i];
    if (!InMask(leader.mask, thread.lane()) || thread.state == Thread::State::kExited) continue;
    if (thread.state != Thread::State::kAtCollective || thread.mask != leader.mask || !SameSite(thread, leader)) {
      return false;
    }
    lanes.push_back(&thread);
  }
  ExecuteCollective(lanes);
  for (Thread* thread : lanes) {
    ++thread->frame().pc;
    thread->state = Thread::State::kReady;
  }
  return true;
}

void Block::Fail(const Site& site, absl::StatusCode code, std::string_view what) {
  if (!status_.ok()) return;
  status_ = absl::Status(code, absl::StrCat("line ", site.instruction.line, ": ", std::string(what), ": '",
                                            std::string(site.instruction.name), "' (block ", index_[0], ",", index_[1],
                                            ",", index_[2], " thread ", site.thread.index, ")"));
}

void Block::Unimplemented(const Site& site, std::string_view what) {
  Fail(site, absl::StatusCode::kUnimplemented, what);
}

absl::StatusOr<RunResult> Run(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                              Memory& memory) {
  absl::StatusOr<Program> program = Load(module, entry, config, memory);
  if (!program.ok()) return program.status();
  RunResult result;
  const uint64_t row = config.grid[0], plane = row * config.grid[1];
  if (plane != 0 && config.grid[2] > UINT64_MAX / plane) return absl::InvalidArgumentError("the grid is too large");
  const uint64_t blocks = plane * config.grid[2];
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = config.descending ? blocks - 1 - i : i;
    const Dim3 index{static_cast<uint32_t>(b % row), static_cast<uint32_t>(b / row % config.grid[1]),
                     static_cast<uint32_t>(b / plane)};
    Block block(*program, memory, index, result);
    if (absl::Status status = block.Run(); !status.ok()) return status;
  }
  return result;
}

}  // namespace samebits::interpreter
