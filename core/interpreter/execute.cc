#include <algorithm>

#include "core/interpreter/block.h"

namespace samebits::interpreter {

using isa::OperandKind;

namespace {
constexpr size_t kMaxCallDepth = 1024;
}  // namespace

void Block::Execute(const Site& site) {
  ++site.thread.frame().pc;
  if (ExecuteControl(site) || ExecuteInteger(site) || ExecuteArithmetic(site) || ExecuteMemory(site)) return;
  Unimplemented(site);
}

bool Block::ExecuteControl(const Site& site) {
  Thread& thread = site.thread;
  switch (site.instruction.op) {
    case Op::kBra:
      Branch(site, site.operand(0));
      return true;
    case Op::kBrxIdx:
      BranchIndexed(site);
      return true;
    case Op::kCall:
      Call(site);
      return true;
    case Op::kRet:
      Return(site);
      return true;
    case Op::kExit:
      thread.state = Thread::State::kExited;
      return true;
    case Op::kTrap:
      Fail(site, absl::StatusCode::kFailedPrecondition, "trap");
      return true;
    case Op::kBar:
    case Op::kBarSync:
    case Op::kBarArrive:
    case Op::kBarRed:
    case Op::kBarrier:
    case Op::kBarrierSync:
    case Op::kBarrierArrive:
    case Op::kBarrierRed:
      ArriveAtBarrier(site);
      return true;
    case Op::kMov:
      Mov(site);
      return true;
    // Everything takes effect at once and in one order, so ordering and hints need no action.
    case Op::kMembar:
    case Op::kFence:
    case Op::kCpAsyncCommitGroup:
    case Op::kCpAsyncWaitGroup:
    case Op::kCpAsyncWaitAll:
    case Op::kWgmmaFence:
    case Op::kWgmmaCommitGroup:
    case Op::kWgmmaWaitGroup:
    case Op::kPrefetch:
    case Op::kPrefetchu:
    case Op::kApplypriority:
    case Op::kNanosleep:
    case Op::kPmevent:
    case Op::kSetmaxnreg:
    case Op::kGriddepcontrol:
      return true;
    case Op::kCreatepolicy:
      Write(site, site.operand(0), 0, ScalarType::kB64);
      return true;
    default:
      return false;
  }
}

void Block::Branch(const Site& site, const Operand& label) {
  if (label.kind != OperandKind::kLabel) return Unimplemented(site, "branch without a label");
  site.thread.frame().pc = label.target;
}

void Block::BranchIndexed(const Site& site) {
  const uint64_t index = Read(site, site.operand(0), ScalarType::kU32);
  for (const auto& [symbol, targets] : site.function.branch_tables) {
    if (symbol != site.operand(1).symbol) continue;
    if (index >= targets.size()) return Fail(site, absl::StatusCode::kOutOfRange, "branch index past its table");
    site.thread.frame().pc = targets[index];
    return;
  }
  Unimplemented(site, "branch table not found");
}

void Block::PushFrame(Thread& thread, uint32_t function) {
  const FunctionLayout& layout = program_.functions[function];
  Frame frame;
  frame.function = function;
  frame.registers.assign(program_.module->functions[function].registers.size(), 0);
  frame.params.assign(layout.param_bytes, 0);
  frame.local_base = static_cast<uint32_t>((thread.local.size() + 15) / 16 * 16);
  thread.local.resize(frame.local_base + layout.local_bytes);
  thread.stack.push_back(std::move(frame));
}

void Block::Call(const Site& site) {
  const Operand& target = site.operand(1);
  uint32_t callee_index = isa::kNone32;
  if (target.kind == OperandKind::kSymbol) {
    callee_index = program_.function_by_symbol[target.symbol];
  } else {
    const uint64_t address = Read(site, target, ScalarType::kB64) - kFunctionWindow;
    if (address / kFunctionStride < program_.functions.size())
      callee_index = static_cast<uint32_t>(address / kFunctionStride);
  }
  if (callee_index == isa::kNone32) return Unimplemented(site, "call of an unknown function");
  const isa::Function& callee = program_.module->functions[callee_index];
  if (callee.is_declaration) return Unimplemented(site, "call of a function without a body");
  if (callee.register_params) return Unimplemented(site, "call with register parameters");
  if (site.thread.stack.size() >= kMaxCallDepth) {
    return Fail(site, absl::StatusCode::kResourceExhausted, "calls nested too deeply");
  }
  const std::span<const Operand> args = Elements(site, site.operand(2));
  if (args.size() != callee.params.size()) return Unimplemented(site, "argument count differs from the callee's");

  std::vector<uint8_t> params(program_.functions[callee_index].param_bytes, 0);
  for (size_t i = 0; i < args.size(); ++i) {
    const isa::Symbol& param = program_.module->symbols[callee.params[i]];
    uint8_t* to = params.data() + program_.symbol_address[callee.params[i]];
    if (args[i].kind == OperandKind::kSymbol) {
      const uint64_t size = std::min(param.size, program_.module->symbols[args[i].symbol].size);
      const uint8_t* from = site.thread.frame().params.data() + program_.symbol_address[args[i].symbol];
      std::copy_n(from, size, to);
      continue;
    }
    const uint64_t value = Read(site, args[i], param.type);
    for (uint64_t byte = 0; byte < std::min<uint64_t>(param.size, 8); ++byte) to[byte] = value >> (8 * byte) & 0xff;
  }
  PushFrame(site.thread, callee_index);
  site.thread.frame().params = std::move(params);
}

void Block::Return(const Site& site) {
  Thread& thread = site.thread;
  const Frame callee = std::move(thread.stack.back());
  thread.stack.pop_back();
  thread.local.resize(callee.local_base);
  if (thread.stack.empty()) {
    thread.state = Thread::State::kExited;
    return;
  }
  Frame& caller = thread.frame();
  const isa::Function& callee_function = program_.module->functions[callee.function];
  --caller.pc;  // the call, for its operands
  const Site call = At(thread);
  ++caller.pc;
  if (callee_function.returns.empty()) return;
  const std::span<const Operand> results = Elements(call, call.operand(0));
  if (results.size() != callee_function.returns.size()) {
    return Unimplemented(call, "result count differs from the callee's");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t source = callee_function.returns[i];
    const uint8_t* from = callee.params.data() + program_.symbol_address[source];
    const isa::Symbol& symbol = program_.module->symbols[source];
    if (results[i].kind == OperandKind::kSymbol) {
      const uint64_t size = std::min(symbol.size, program_.module->symbols[results[i].symbol].size);
      std::copy_n(from, size, caller.params.begin() + program_.symbol_address[results[i].symbol]);
      continue;
    }
    uint64_t value = 0;
    for (uint64_t byte = 0; byte < std::min<uint64_t>(symbol.size, 8); ++byte)
      value |= uint64_t{from[byte]} << (8 * byte);
    Write(call, results[i], value, symbol.type);
  }
}

void Block::Mov(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const Operand &to = site.operand(0), &from = site.operand(1);
  if (bits > 64) return Unimplemented(site, "128-bit move");
  if (type == ScalarType::kPred) return WritePredicates(site, to, ReadPredicate(site, from), false);
  uint64_t value = 0;
  const std::span<const Operand> sources = Elements(site, from);
  const int source_bits = bits / static_cast<int>(sources.size());
  if (sources.size() == 1) {
    value = Read(site, sources[0], type);
  } else {
    for (size_t i = 0; i < sources.size(); ++i) {
      value |= Read(site, sources[i], source_bits) << (static_cast<int>(i) * source_bits);
    }
  }
  const std::span<const Operand> targets = Elements(site, to);
  const int target_bits = bits / static_cast<int>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].kind == OperandKind::kSink) continue;
    if (targets[i].kind != OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
    WriteBits(site, targets[i].reg, value >> (static_cast<int>(i) * target_bits) & LowMask(target_bits));
  }
}

}  // namespace samebits::interpreter
