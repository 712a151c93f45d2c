#include "core/symexec/machine.h"

#include <algorithm>
#include <iterator>

#include "core/base/thread_time.h"

namespace samebits::symexec {

using expr::Fn;
using isa::OperandKind;
using isa::ptx::Mod;
using isa::ptx::Op;

namespace {

uint32_t AlignUp(uint32_t v, uint32_t align) { return align == 0 ? v : (v + align - 1) / align * align; }

// The finest unit that the kernel's shared-memory accesses need.
uint32_t SharedGranule(const isa::Module& module) {
  uint32_t granule = 4;
  for (const isa::Function& f : module.functions) {
    for (const isa::Instruction& in : f.instructions) {
      switch (in.op) {
        case Op::kLd: case Op::kSt: {
          const int bits = isa::BitWidth(in.type(in.type_count - 1));
          const bool other_space = in.Has(Mod::kGlobal) || in.Has(Mod::kParam) || in.Has(Mod::kParamEntry) ||
                                   in.Has(Mod::kParamFunc) || in.Has(Mod::kLocal) || in.Has(Mod::kConst);
          if (other_space) break;
          if (bits == 8) granule = 1;
          if (bits == 16) granule = std::min(granule, 2u);
          break;
        }
        case Op::kLdmatrix: case Op::kStmatrix: case Op::kWmmaLoad: case Op::kWmmaStore:
        case Op::kWgmmaMmaAsync:
          granule = std::min(granule, 2u);
          for (const auto t : in.types)
            if (isa::BitWidth(t) == 8) granule = 1;
          break;
        default: break;
      }
    }
  }
  return granule;
}

}  // namespace

namespace {

// Compilers specialise kernels to sizes and strides of whole vectors; the assumption is part of the result.
constexpr int64_t kOpenParameterUnit = 16;

Atom OpenParameter(AtomId id, int width) {
  WordHasher h(300);
  h.Add(id);
  Atom atom;
  atom.key = h.Finish();
  atom.lo = 1;
  atom.hi = (int64_t{1} << (std::min(width, 62) - 1)) / kOpenParameterUnit - 1;
  return atom;
}

}  // namespace

Machine::Machine(const isa::Module& module, uint32_t entry, const LaunchConfig& launch,
                 const std::vector<uint32_t>& blocks, canonical::Builder* builder, LaneSpace* space,
                 SymbolicSpace* symbolic, const MachineLimits& limits)
    : module_(module), entry_(entry), launch_(launch), blocks_(blocks), builder_(*builder), nodes_(builder->nodes()),
      space_(*space), symbolic_(*symbolic), ops_(builder, space), limits_(limits),
      shared_(0, 4, space->lanes()) {}

bool Machine::Unknown(std::string_view code, std::string reason) {
  if (result_.stop.kind != StopKind::kDone) return false;
  Stop& s = result_.stop;
  s.kind = StopKind::kUnknown;
  s.code = code;
  s.reason = std::move(reason);
  if (current_ != nullptr) {
    s.line = current_->line;
    s.instruction = current_->name;
    s.loc_file = current_->loc_file;
    s.loc_line = current_->loc_line;
  }
  NameWhatIsOpen(&s);
  return false;
}

bool Machine::Race(std::string reason) {
  if (result_.stop.kind != StopKind::kDone) return false;
  Unknown("DATA_RACE", std::move(reason));
  result_.stop.kind = StopKind::kNondeterministic;
  return false;
}

bool Machine::Conflict(SharedMemory::Race race) {
  const std::string text(SharedMemory::RaceText(race));
  return race == SharedMemory::Race::kUnsettled ? Unknown("LOOP", text) : Race(text);
}

bool Machine::Split(std::vector<uint32_t> group_of_block) {
  if (result_.stop.kind != StopKind::kDone) return false;
  Unknown("SPLIT", "");
  result_.stop.kind = StopKind::kSplit;
  result_.stop.group_of_block = std::move(group_of_block);
  return false;
}

bool Machine::Unmodelled(const Inst& in) {
  return Unknown("UNMODELLED_INSTRUCTION", "instruction '" + std::string(in.name) + "' is not modelled");
}

bool Machine::OutOfAnchors() {
  if (nodes_.exhausted()) return Unknown("NODE_LIMIT", "limit max_nodes reached");
  return Unknown("TOO_MANY_ANCHORS", "one value depends on more separate addresses than the checker keeps");
}

void Machine::Assume(std::string_view what) {
  for (const std::string& a : result_.assumptions)
    if (a == what) return;
  result_.assumptions.emplace_back(what);
}

bool Machine::CheckMods(const Inst& in, std::initializer_list<Mod> allowed) {
  if (in.has_unknown_modifier) return Unknown("UNMODELLED_MODIFIER", "modifier of '" + std::string(in.name) + "' is not known");
  for (int i = 0; i < in.mod_count; ++i)
    if (std::find(allowed.begin(), allowed.end(), in.mods[i]) == allowed.end())
      return Unknown("UNMODELLED_MODIFIER", "modifier '." + std::string(isa::ptx::ModName(in.mods[i])) + "' of '" +
                                                std::string(in.name) + "' is not modelled");
  return true;
}

bool Machine::CheckBudget() {
  if (result_.steps > limits_.max_steps) return Unknown("STEP_LIMIT", "limit max_steps reached");
  if (nodes_.exhausted()) return Unknown("NODE_LIMIT", "limit max_nodes reached");
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed))
    return Unknown("CANCELLED", "cancelled");
  if (ThreadCpuTime() > limits_.deadline) return Unknown("TIME_LIMIT", "limit max_time reached");
  const uint64_t local = local_ == nullptr ? 0 : local_->memory_bytes();
  const uint64_t bytes = nodes_.memory_bytes() + space_.memory_bytes() + symbolic_.memory_bytes() + shared_.memory_bytes() + local +
                         ops_.memory_bytes() + OwnMemory() + result_.memory_bytes() + registers_.capacity() * sizeof(Value);
  if (bytes > limits_.max_memory_bytes) return Unknown("MEMORY_LIMIT", "limit max_memory_bytes reached");
  return true;
}

bool Machine::Setup() {
  const int lanes = space_.lanes();
  shared_base_.assign(module_.symbols.size(), -1);
  local_base_.assign(module_.symbols.size(), -1);
  uint64_t shared = 0, local = 0;
  // Named variables first, in order of declaration; the dynamic array after them.
  for (size_t i = 0; i < module_.symbols.size(); ++i) {
    const isa::Symbol& s = module_.symbols[i];
    if (s.kind != isa::Symbol::Kind::kVariable) continue;
    if (s.space == isa::StateSpace::kShared && s.size > 0) {
      shared = AlignUp(static_cast<uint32_t>(shared), s.align);
      shared_base_[i] = static_cast<int64_t>(shared);
      shared += s.size;
    } else if (s.space == isa::StateSpace::kLocal) {
      local = AlignUp(static_cast<uint32_t>(local), s.align);
      local_base_[i] = static_cast<int64_t>(local);
      local += s.size;
    }
    if (shared > (1u << 20) || local > (1u << 20)) return Unknown("MEMORY_SIZE", "more static memory than a block may have");
  }
  shared = AlignUp(static_cast<uint32_t>(shared), 1024);
  for (size_t i = 0; i < module_.symbols.size(); ++i) {
    const isa::Symbol& s = module_.symbols[i];
    if (s.kind == isa::Symbol::Kind::kVariable && s.space == isa::StateSpace::kShared && s.size == 0)
      shared_base_[i] = static_cast<int64_t>(shared);
  }
  shared += launch_.dynamic_shared;
  if (shared > (1u << 20)) return Unknown("MEMORY_SIZE", "more shared memory than a block may have");
  shared_bytes_ = static_cast<uint32_t>(shared);
  local_bytes_ = AlignUp(static_cast<uint32_t>(local), 16);
  shared_ = SharedMemory(shared_bytes_, SharedGranule(module_), lanes);
  if (local_bytes_ > 0) {
    if (static_cast<uint64_t>(local_bytes_) * lanes > (64u << 20)) return Unknown("MEMORY_SIZE", "too much local memory");
    local_ = std::make_unique<SharedMemory>(local_bytes_ * lanes, 1, lanes);
  }
  const isa::Function& f = module_.functions[entry_];
  function_ = &f;
  // Buffers that are both read and written need the loads kept.
  stored_buffers_.assign(nodes_.buffer_count() + 1, false);
  for (size_t i = 0; i < f.params.size(); ++i) {
    const isa::Symbol& s = module_.symbols[f.params[i]];
    const ParamBinding& b = launch_.params[i];
    Value v;
    const int width = static_cast<int>(std::min<uint64_t>(s.size, 8)) * 8;
    switch (b.kind) {
      case ParamBinding::Kind::kPointer:
        v = Value::Int(0, 64);
        v.buffer = b.buffer;
        break;
      case ParamBinding::Kind::kScalar:
        v = Value::Int(static_cast<int64_t>(b.bits), width);
        break;
      case ParamBinding::Kind::kBytes: {
        absl::InlinedVector<Piece, 4> pieces;
        for (size_t at = 0; at < s.size; ++at) {
          const uint8_t byte = at < b.bytes.size() ? b.bytes[at] : 0;
          params_[{0, f.params[i], static_cast<int64_t>(at)}] = Value::Int(byte, 8);
        }
        continue;
      }
      case ParamBinding::Kind::kUnknown: {
        if (isa::IsFloat(s.type) || s.size > 8) {
          Lanes lanes_value;
          lanes_value.nodes = nodes_.Param(static_cast<uint32_t>(i), width);
          v = Value::Bits(lanes_value, width);
        } else {
          const AtomId id = kFirstParamAtom + static_cast<AtomId>(i);
          auto sum = launch_.grid_known ? symbolic_.FromAtom(id) : symbolic_.FromAtom(id, OpenParameter(id, width));
          if (!launch_.grid_known) {
            sum = symbolic_.Scale(sum.id, kOpenParameterUnit);
            Assume("open integer arguments are positive multiples of 16");
          }
          v = Value::Int(sum.constant, width);
          v.symbolic = sum.id;
        }
        break;
      }
    }
    params_[{0, f.params[i], 0}] = v;
  }
  return true;
}

Execution Machine::Run() {
  if (!Setup()) return std::move(result_);
  const isa::Function& f = module_.functions[entry_];
  registers_.resize(f.registers.size());
  defined_.assign(f.registers.size(), kNoLanes);
  in_flight_.assign(f.registers.size() * shared_.matrix.size(), 0);
  matrix_sources_ = unfenced_ = in_flight_;
  matrix_fences_.assign(shared_.matrix.size(), 0);
  for (const isa::Function& each : module_.functions)
    for (const Inst& in : each.instructions) has_wgmma_ |= in.op == Op::kWgmmaMmaAsync;
  std::vector<Fiber> fibers(1);
  fibers[0].mask = kAllLanes;
  fibers[0].pc = first_pc_;
  fibers[0].frames.push_back({entry_, 0, 0, nullptr, 0});
  if (!Begin()) return std::move(result_);
  RunFibers(fibers, isa::kNone32, 0);
  return std::move(result_);
}

// Runs fibers until all have ended, or all stand at stop_pc of the frame at stop_depth.
bool Machine::RunFibers(std::vector<Fiber>& fibers, uint32_t stop_pc, size_t stop_depth) {
  for (;;) {
    // Deepest call first, then the least pc: lanes that fell behind catch up and join.
    size_t best = fibers.size();
    bool waiting = false;
    for (size_t i = 0; i < fibers.size(); ++i) {
      if (fibers[i].at_barrier) {
        waiting = true;
        continue;
      }
      if (fibers[i].frames.size() == stop_depth && fibers[i].pc == stop_pc) continue;
      if (best == fibers.size() || fibers[i].frames.size() > fibers[best].frames.size() ||
          (fibers[i].frames.size() == fibers[best].frames.size() && fibers[i].pc < fibers[best].pc))
        best = i;
    }
    if (best == fibers.size()) {
      if (!waiting) return true;
      if (!Lockstep()) return Unknown("BARRIER_IN_BRANCH", "barrier under a data-dependent branch");
      if (!ReleaseBarriers(fibers)) return false;
      continue;
    }
    for (size_t i = 0; i < fibers.size(); ++i) {
      if (i == best || fibers[i].at_barrier || fibers[i].pc != fibers[best].pc) continue;
      const auto &x = fibers[i].frames, &y = fibers[best].frames;
      if (x.size() != y.size() || x.back().serial != y.back().serial) continue;
      fibers[best].mask = space_.Or(fibers[best].mask, fibers[i].mask);
      fibers.erase(fibers.begin() + static_cast<ptrdiff_t>(i));
      if (i < best) --best;
      i = static_cast<size_t>(-1);
    }
    // Run this fiber alone until control changes or another may join.
    if (!Step(fibers, best)) return false;
  }
}

bool Machine::Step(std::vector<Fiber>& fibers, size_t which) {
  uint32_t join_pc = isa::kNone32;
  for (size_t i = 0; i < fibers.size(); ++i)
    if (i != which && fibers[i].frames.size() == fibers[which].frames.size()) join_pc = std::min(join_pc, fibers[i].pc);
  const Frame frame = fibers[which].frames.back();
  function_ = &module_.functions[frame.function];
  first_register_ = frame.first_register;
  current_serial_ = frame.serial;
  const uint64_t lanes = static_cast<uint64_t>(space_.Count(fibers[which].mask));
  const bool only = fibers.size() == 1;
  while (true) {
    Fiber& fiber = fibers[which];
    if (fiber.pc >= function_->instructions.size()) return Return(fibers, which);
    const Inst& in = function_->instructions[fiber.pc];
    current_ = &in;
    exec_ = fiber.mask;
    result_.steps += lanes;
    if (++steps_since_check_ >= 512) {
      steps_since_check_ = 0;
      if (!CheckBudget()) return false;
    }
    nodes_.set_line(in.line);
    switch (in.op) {
      case Op::kBra: case Op::kRet: case Op::kExit: case Op::kTrap: return Branch(fibers, which, in);
      case Op::kCall:
        if (in.guard != isa::kNone32) return Unknown("GUARDED_CALL", "call under a predicate");
        return Call(fiber, in);
      case Op::kBar: case Op::kBarSync: case Op::kBarrier: case Op::kBarrierSync: {
        if (!Lockstep()) return Unknown("BARRIER_IN_BRANCH", "barrier under a data-dependent branch");
        if (in.guard != isa::kNone32) return Unknown("GUARDED_BARRIER", "barrier under a predicate");
        if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kCta})) return false;
        Value id;
        if (in.operand_count == 0 || !Get(Op(in, 0), 32, false, &id)) return Unmodelled(in);
        if (!id.is_uniform_const() || id.constant != 0 || in.operand_count > 1)
          return Unknown("NAMED_BARRIER", "barriers other than the whole block's barrier 0 are not modelled");
        fiber.at_barrier = true;
        ++fiber.pc;
        return true;
      }
      default: break;
    }
    if (in.guard != isa::kNone32) {
      Value p;
      MaskId known;
      Lanes condition;
      bool is_known;
      if (!GetRegister(in.guard, &p) || !AsPredicate(p, &known, &condition, &is_known)) return false;
      if (is_known) {
        exec_ = in.guard_negated ? space_.AndNot(fiber.mask, known) : space_.And(fiber.mask, known);
        if (exec_ != kNoLanes && !Execute(in)) return false;
      } else if (!ExecuteGuarded(in, condition, in.guard_negated)) {
        return false;
      }
    } else if (!Execute(in)) {
      return false;
    }
    ++fiber.pc;
    if (!only && fiber.pc >= join_pc) return true;
    if (log_ != nullptr) return true;  // the caller watches for the end of the side
  }
}

bool Machine::ReleaseBarriers(std::vector<Fiber>& fibers) {
  // All that have not exited must stand at the same barrier.
  for (const Fiber& f : fibers)
    if (f.pc != fibers[0].pc || f.frames.size() != fibers[0].frames.size())
      return Unknown("DIVERGENT_BARRIER", "lanes of one block wait at different barriers");
  ++shared_.block_epoch;
  for (uint32_t& w : shared_.warp_epoch) ++w;
  shared_.SettleAtBarrier();
  for (Fiber& f : fibers) f.at_barrier = false;
  return true;
}

bool Machine::Branch(std::vector<Fiber>& fibers, size_t which, const Inst& in) {
  Fiber& fiber = fibers[which];
  MaskId taken = fiber.mask;
  if (in.guard != isa::kNone32) {
    Value p;
    MaskId known;
    Lanes condition;
    bool is_known;
    if (!GetRegister(in.guard, &p) || !AsPredicate(p, &known, &condition, &is_known)) return false;
    if (!is_known) {
      if (in.op != Op::kBra) return Unknown("EXIT_ON_DATA", "exit under a data-dependent condition");
      return BranchOnData(fibers, which, in, condition);
    }
    taken = in.guard_negated ? space_.AndNot(fiber.mask, known) : space_.And(fiber.mask, known);
  }
  const MaskId rest = space_.AndNot(fiber.mask, taken);
  if (taken == kNoLanes) {
    ++fiber.pc;
    return true;
  }
  if (in.op == Op::kTrap) return Unknown("TRAP", "trap is reached");
  if (in.op == Op::kRet || in.op == Op::kExit) {
    if (in.op == Op::kExit || fiber.frames.size() == 1) {
      if (log_ != nullptr) return Unknown("EXIT_ON_DATA", "exit under a data-dependent condition");
      has_exit_ = true;
      if (rest == kNoLanes) {
        fibers.erase(fibers.begin() + static_cast<ptrdiff_t>(which));
      } else {
        fiber.mask = rest;
        ++fiber.pc;
      }
      return true;
    }
    if (rest != kNoLanes) {
      Fiber other = fiber;
      other.mask = rest;
      ++other.pc;
      fiber.mask = taken;
      fibers.push_back(std::move(other));
    }
    return Return(fibers, which);
  }
  if (!CheckMods(in, {Mod::kUni})) return false;
  const uint32_t target = Op(in, 0).target;
  if (Op(in, 0).kind != OperandKind::kLabel || target == isa::kNone32) return Unknown("INDIRECT_BRANCH", "branch target is not a label");
  if (rest == kNoLanes) {
    fiber.pc = target;
    return true;
  }
  Fiber other = fiber;
  other.mask = rest;
  ++other.pc;
  fiber.mask = taken;
  fiber.pc = target;
  fibers.push_back(std::move(other));
  return true;
}

// A branch on loaded data whose sides are short, free of stores and barriers: both sides run, and the registers that
// they wrote become selects.
bool Machine::BranchOnData(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition) {
  if (data_depth_ >= 16) return Unknown("BRANCH_ON_DATA", "branch on loaded data is nested too deeply");
  Fiber& fiber = fibers[which];
  const Frame frame = fiber.frames.back();
  const uint32_t target = Op(in, 0).target;
  if (Op(in, 0).kind != OperandKind::kLabel) return Unknown("INDIRECT_BRANCH", "branch target is not a label");
  if (!launch_.grid_known && target <= fiber.pc) return FoldLoop(fibers, which, in, condition);
  const uint32_t join = Postdominator(frame.function, fiber.pc);
  if (join == isa::kNone32)
    return Unknown("BRANCH_ON_DATA", "branch on loaded data whose sides do not meet again (a loop, or an exit)");
  const size_t depth = fiber.frames.size();
  std::vector<Undo>* const outer = log_;
  struct Side {
    std::vector<Undo> log;
    std::map<uint32_t, std::pair<Value, MaskId>> after;
  };
  Side sides[2];
  std::vector<ParamKey> written_params;
  const uint64_t budget = result_.steps + 4'000'000;
  for (int s = 0; s < 2; ++s) {
    const bool take = s == 0;
    std::vector<Fiber> own(1);
    own[0] = fiber;
    own[0].pc = take ? target : fiber.pc + 1;
    log_ = &sides[s].log;
    std::vector<ParamKey>* const outer_params = param_log_;
    param_log_ = &written_params;
    ++data_depth_;
    decisions_.push_back(&condition);
    const uint64_t limit = limits_.max_steps;
    limits_.max_steps = std::min(limit, budget);
    const bool ok = RunFibers(own, join, depth);
    limits_.max_steps = limit;
    decisions_.pop_back();
    --data_depth_;
    param_log_ = outer_params;
    log_ = outer;
    if (!ok) return false;
    if (own.size() != 1 || own[0].mask != fiber.mask) {
      for (size_t i = 1; i < own.size(); ++i) own[0].mask = space_.Or(own[0].mask, own[i].mask);
      if (own[0].mask != fiber.mask) return Unknown("BRANCH_ON_DATA", "lanes leave a data-dependent side");
    }
    for (const Undo& u : sides[s].log) sides[s].after.try_emplace(u.reg, registers_[u.reg], defined_[u.reg]);
    for (auto it = sides[s].log.rbegin(); it != sides[s].log.rend(); ++it) {
      registers_[it->reg] = it->value;
      defined_[it->reg] = it->defined;
    }
  }
  // Parameters that a side passed end with it: a read after the join finds none.
  for (const ParamKey& key : written_params) params_.erase(key);
  if (param_log_ != nullptr) param_log_->insert(param_log_->end(), written_params.begin(), written_params.end());
  function_ = &module_.functions[frame.function];
  first_register_ = frame.first_register;
  current_serial_ = frame.serial;
  current_ = &in;
  exec_ = fiber.mask;
  std::vector<uint32_t> written;
  for (const Side& side : sides)
    for (const auto& [reg, state] : side.after) written.push_back(reg);
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  const bool swap = in.guard_negated;
  for (const uint32_t reg : written) {
    Value values[2];
    MaskId defined[2];
    for (int s = 0; s < 2; ++s) {
      const auto it = sides[s].after.find(reg);
      values[s] = it == sides[s].after.end() ? registers_[reg] : it->second.first;
      defined[s] = it == sides[s].after.end() ? defined_[reg] : it->second.second;
    }
    Value merged;
    if (log_ != nullptr) log_->push_back({reg, registers_[reg], defined_[reg]});
    const bool equal_ints = values[0].is_int() && values[1].is_int() && values[0].array == values[1].array &&
                            values[0].constant == values[1].constant && values[0].symbolic == values[1].symbolic &&
                            values[0].buffer == values[1].buffer && values[0].mask == values[1].mask;
    if (equal_ints || (values[0].is_predicate() && values[1].is_predicate() && values[0].mask == values[1].mask)) {
      merged = values[0];
    } else if (values[0].kind == Value::Kind::kUndef || values[1].kind == Value::Kind::kUndef ||
               space_.And(defined[0], exec_) != exec_ || space_.And(defined[1], exec_) != exec_) {
      // Written on one side only and never before: dead after the join, or undefined where it is read.
      defined_[reg] = space_.AndNot(defined_[reg], exec_);
      if (defined_[reg] == kNoLanes) registers_[reg] = Value{};
      continue;
    } else if (values[0].buffer != 0 || values[1].buffer != 0) {
      return Unknown("ADDRESS_ON_DATA", "an address depends on a data-dependent branch");
    } else {
      const int width = std::max<int>(values[0].width, values[1].width);
      Lanes a, b, selected;
      if (!ToLanes(values[0], width, &a) || !ToLanes(values[1], width, &b)) return false;
      const Lanes* operands[3] = {&condition, swap ? &b : &a, swap ? &a : &b};
      if (!ops_.Apply(Fn::kSelect, 0, width, operands, &selected)) return OutOfAnchors();
      merged = Value::Bits(std::move(selected), width);
    }
    registers_[reg] = std::move(merged);
    defined_[reg] = space_.And(defined[0], defined[1]);
  }
  fibers[which].pc = join;
  return true;
}

namespace {

// Instructions whose whole effect is on their own lane's registers: those may run under a data-dependent predicate.
bool FillsRegistersOnly(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kFma: case Op::kMad: case Op::kDiv: case Op::kMin:
    case Op::kMax: case Op::kAbs: case Op::kNeg: case Op::kRcp: case Op::kSqrt: case Op::kRsqrt: case Op::kEx2:
    case Op::kLg2: case Op::kSin: case Op::kCos: case Op::kTanh: case Op::kCopysign: case Op::kTestp: case Op::kMul24:
    case Op::kMad24: case Op::kSad: case Op::kRem: case Op::kPopc: case Op::kClz: case Op::kBfind: case Op::kBrev:
    case Op::kAnd: case Op::kOr: case Op::kXor: case Op::kNot: case Op::kCnot: case Op::kShl: case Op::kShr:
    case Op::kShf: case Op::kBfe: case Op::kBfi: case Op::kLop3: case Op::kPrmt: case Op::kMov: case Op::kCvta:
    case Op::kCvt: case Op::kSetp: case Op::kSet: case Op::kSelp: case Op::kLd: case Op::kLdu: case Op::kPrefetch:
    case Op::kPrefetchu: case Op::kNanosleep: case Op::kCreatepolicy:
      return true;
    default:
      return false;
  }
}

}  // namespace

// An instruction under a data-dependent predicate: executed, then its results selected.
bool Machine::ExecuteGuarded(const Inst& in, const Lanes& condition, bool negated) {
  Lanes guard = condition;
  if (negated) {
    const Lanes* operand = &condition;
    if (!ops_.Apply(Fn::kNot, 0, 1, {&operand, 1}, &guard)) return OutOfAnchors();
  }
  if (in.op == Op::kSt && in.Has(Mod::kGlobal)) {
    guarded_store_ = true;
    store_guard_ = guard;
    if (!launch_.grid_known)
      exec_ = space_.And(exec_, space_.MaskWhere([&](int l) {
        uint64_t value = 1;
        return !nodes_.IsConst(guard.uniform() ? guard.nodes : space_.nodes(guard.nodes & ~kMixed)[l], &value) || value != 0;
      }));
    const bool ok = exec_ == kNoLanes || Execute(in);
    guarded_store_ = false;
    return ok;
  }
  if (!FillsRegistersOnly(in.op))
    return Unknown("GUARDED_ON_DATA", "'" + std::string(in.name) + "' under a data-dependent predicate");
  std::vector<Undo> log;
  std::vector<Undo>* const outer = log_;
  log_ = &log;
  const Lanes* const outer_guard = load_guard_;
  load_guard_ = &guard;
  const bool ok = Execute(in);
  load_guard_ = outer_guard;
  log_ = outer;
  if (!ok) return false;
  std::vector<uint32_t> done;
  for (const Undo& u : log) {
    if (std::find(done.begin(), done.end(), u.reg) != done.end()) continue;  // named twice: the first undo is the old value
    done.push_back(u.reg);
    const Value fresh = registers_[u.reg];
    const int width = fresh.width;
    if (fresh.buffer != 0 || u.value.buffer != 0) return Unknown("ADDRESS_ON_DATA", "an address depends on a data-dependent predicate");
    if (log_ != nullptr) log_->push_back(u);
    Value old = u.value;
    Lanes undef;
    undef.nodes = nodes_.Undef();
    if (old.kind == Value::Kind::kUndef) old = Value::Bits(undef, width);
    Lanes a, b, selected;
    if (!ToLanes(fresh, width, &a) || !ToLanes(old, width, &b)) return false;
    if (const MaskId missing = space_.AndNot(exec_, u.defined); missing != kNoLanes) {
      const Lanes known = b;
      if (!ops_.Blend(missing, undef, known, &b)) return OutOfAnchors();
    }
    const Lanes* operands[3] = {&guard, &a, &b};
    if (!ops_.Apply(Fn::kSelect, 0, width, operands, &selected)) return OutOfAnchors();
    registers_[u.reg] = Value::Bits(std::move(selected), width);
    defined_[u.reg] = space_.Or(u.defined, exec_);
  }
  return true;
}

// Lanes that do not execute keep what was passed for them; parameters are written in the pieces they were written in.
bool Machine::SetParam(const ParamKey& key, Value value) {
  const auto [serial, symbol, offset] = key;
  const int64_t bytes = value.width / 8;
  for (auto it = params_.lower_bound({serial, symbol, offset - 16});
       it != params_.end() && std::get<0>(it->first) == serial && std::get<1>(it->first) == symbol &&
       std::get<2>(it->first) < offset + bytes;
       ++it) {
    const int64_t first = std::get<2>(it->first), end = first + it->second.width / 8;
    if (end <= offset || (first == offset && end == offset + bytes)) continue;
    return Unknown("PARAM_WRITE", "parameter written in pieces that overlap");
  }
  if (param_log_ != nullptr) param_log_->push_back(key);
  Value& slot = params_[key];
  if (slot.kind == Value::Kind::kUndef || exec_ == kAllLanes) {
    slot = std::move(value);
    return true;
  }
  Value merged;
  if (!Blend(exec_, value, slot, &merged)) return false;
  slot = std::move(merged);
  return true;
}

bool Machine::Call(Fiber& fiber, const Inst& in) {
  if (fiber.frames.size() >= 32) return Unknown("CALL_DEPTH", "calls nest too deeply");
  if (in.operand_count < 2 || Op(in, 1).kind != OperandKind::kSymbol) return Unknown("INDIRECT_CALL", "indirect call");
  const isa::Symbol& callee = module_.symbols[Op(in, 1).symbol];
  if (callee.kind != isa::Symbol::Kind::kFunction || callee.function == isa::kNone32)
    return Unknown("EXTERNAL_CALL", "call of '" + std::string(callee.name) + "', which the text does not define");
  const isa::Function& target = module_.functions[callee.function];
  if (target.is_declaration)
    return Unknown("EXTERNAL_CALL", "call of '" + std::string(callee.name) + "', which the text does not define");
  for (const Frame& f : fiber.frames)
    if (f.function == callee.function) return Unknown("RECURSION", "recursive call of '" + std::string(callee.name) + "'");
  const Operand& args = Op(in, 2);
  const uint32_t serial = ++serial_;
  std::vector<Value> register_args;
  if (in.operand_count > 2) {
    if (args.count != target.params.size()) return Unknown("CALL_ARGUMENTS", "call with another number of arguments");
    for (uint32_t i = 0; i < args.count; ++i) {
      const Operand& a = Element(args, static_cast<int>(i));
      if (target.register_params) {
        register_args.emplace_back();
        if (!Get(a, isa::BitWidth(target.registers[target.params[i]].type), false, &register_args.back())) return false;
      } else if (a.kind == OperandKind::kSymbol) {
        const uint32_t own = fiber.frames.back().serial;
        for (auto it = params_.lower_bound({own, a.symbol, INT64_MIN});
             it != params_.end() && std::get<0>(it->first) == own && std::get<1>(it->first) == a.symbol; ++it)
          if (!SetParam({serial, target.params[i], std::get<2>(it->first)}, it->second)) return false;
      } else {
        Value v;
        if (!Get(a, static_cast<int>(module_.symbols[target.params[i]].size) * 8, false, &v)) return false;
        if (!SetParam({serial, target.params[i], 0}, std::move(v))) return false;
      }
    }
  }
  if (registers_.size() + target.registers.size() > 8'000'000) return Unknown("CALL_DEPTH", "too many registers");
  Frame frame{callee.function, static_cast<uint32_t>(registers_.size()), fiber.pc + 1, &in, serial};
  registers_.resize(registers_.size() + target.registers.size());
  defined_.resize(registers_.size(), kNoLanes);
  in_flight_.resize(registers_.size() * shared_.matrix.size(), 0);
  matrix_sources_.resize(in_flight_.size(), 0);
  unfenced_.resize(in_flight_.size(), 0);
  for (size_t i = 0; i < register_args.size(); ++i) {
    registers_[frame.first_register + target.params[i]] = std::move(register_args[i]);
    defined_[frame.first_register + target.params[i]] = fiber.mask;
  }
  fiber.frames.push_back(frame);
  fiber.pc = 0;
  return true;
}

bool Machine::Return(std::vector<Fiber>& fibers, size_t which) {
  Fiber& fiber = fibers[which];
  if (fiber.frames.size() == 1) {
    if (log_ != nullptr) return Unknown("EXIT_ON_DATA", "exit under a data-dependent condition");
    has_exit_ = true;
    fibers.erase(fibers.begin() + static_cast<ptrdiff_t>(which));
    return true;
  }
  const Frame frame = fiber.frames.back();
  fiber.frames.pop_back();
  const Frame& caller = fiber.frames.back();
  const isa::Function& callee = module_.functions[frame.function];
  const isa::Function& host = module_.functions[caller.function];
  fiber.pc = frame.return_pc;
  const Operand& returns = host.operand_pool[frame.call->first_operand];
  exec_ = fiber.mask;
  for (uint32_t i = 0; i < returns.count && i < callee.returns.size(); ++i) {
    const Operand& r = host.operand_pool[returns.first + i];
    if (callee.register_params) {
      function_ = &callee;
      first_register_ = frame.first_register;
      Value v;
      if (!GetRegister(callee.returns[i], &v)) return false;
      function_ = &host;
      first_register_ = caller.first_register;
      if (!Set(r, std::move(v))) return false;
    } else if (r.kind == OperandKind::kSymbol) {
      std::vector<std::pair<int64_t, Value>> moved;
      for (auto it = params_.lower_bound({frame.serial, callee.returns[i], INT64_MIN});
           it != params_.end() && std::get<0>(it->first) == frame.serial && std::get<1>(it->first) == callee.returns[i]; ++it)
        moved.push_back({std::get<2>(it->first), it->second});
      for (auto& [offset, v] : moved)
        if (!SetParam({caller.serial, r.symbol, offset}, std::move(v))) return false;
    } else if (r.kind == OperandKind::kRegister) {
      const auto it = params_.find({frame.serial, callee.returns[i], 0});
      if (it == params_.end()) return Unknown("CALL_ARGUMENTS", "function returns nothing");
      Value v = it->second;
      function_ = &host;
      first_register_ = caller.first_register;
      if (!Set(r, std::move(v))) return false;
    }
  }
  return true;
}

namespace {

// Instructions whose effect depends on which lanes take part, or on what the lane has awaited.
bool NeedsOtherLanes(Op op) {
  switch (op) {
    case Op::kShfl: case Op::kVote: case Op::kActivemask: case Op::kElectSync: case Op::kMatch: case Op::kReduxSync:
    case Op::kMma: case Op::kLdmatrix: case Op::kStmatrix: case Op::kBarWarpSync: case Op::kCpAsyncCommitGroup:
    case Op::kCpAsyncWaitGroup: case Op::kCpAsyncWaitAll:
      return true;
    default:
      return false;
  }
}

// Of these, what is complete when the instruction is: allowed in loops that all lanes run in step.
bool IsExchange(Op op) {
  switch (op) {
    case Op::kShfl: case Op::kVote: case Op::kActivemask: case Op::kElectSync: case Op::kReduxSync: case Op::kMma:
    case Op::kLdmatrix: case Op::kStmatrix: case Op::kBarWarpSync:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The instruction where all paths from a branch meet again; kNone32 if none before the function's end.
uint32_t Machine::Postdominator(uint32_t function, uint32_t pc) {
  const uint64_t key = static_cast<uint64_t>(function) << 32 | pc;
  if (const auto it = postdominators_.find(key); it != postdominators_.end()) return it->second;
  const isa::Function& f = module_.functions[function];
  const uint32_t n = static_cast<uint32_t>(f.instructions.size());
  // Reachable region, bounded: a candidate joins when every path from the branch passes it. Try candidates in order of
  // pc, then those before the branch from the nearest back (compilers place a loop's last block first); a path that
  // avoids the candidate and ends, or returns to the branch, rules it out.
  auto successors = [&](uint32_t at, uint32_t out[2]) {
    const Inst& in = f.instructions[at];
    int count = 0;
    const bool ends = in.op == Op::kRet || in.op == Op::kExit || in.op == Op::kTrap;
    if (in.op == Op::kBra) {
      out[count++] = in.operand_count > 0 ? f.operand_pool[in.first_operand].target : n;
      if (in.guard != isa::kNone32) out[count++] = at + 1;
    } else if (!ends || in.guard != isa::kNone32) {
      out[count++] = at + 1;
    }
    return count;
  };
  constexpr uint32_t kRegion = 200'000;
  uint32_t result = isa::kNone32;
  std::vector<uint32_t>& targets = branch_targets_[function];
  if (targets.empty()) {
    for (const Inst& in : f.instructions)
      if (in.op == Op::kBra && in.operand_count > 0 && f.operand_pool[in.first_operand].kind == OperandKind::kLabel)
        targets.push_back(f.operand_pool[in.first_operand].target);
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  }
  auto first = std::upper_bound(targets.begin(), targets.end(), pc);
  constexpr ptrdiff_t kCandidates = 64;
  std::vector<uint32_t> candidates(first, first + std::min<ptrdiff_t>(kCandidates, targets.end() - first));
  const auto before = std::make_reverse_iterator(std::lower_bound(targets.begin(), first, pc));
  candidates.insert(candidates.end(), before, before + std::min<ptrdiff_t>(kCandidates, targets.rend() - before));
  for (const uint32_t candidate : candidates) {
    std::vector<uint32_t> work;
    std::unordered_map<uint32_t, bool> seen;
    uint32_t next[2];
    bool ok = true;
    for (int i = 0, c = successors(pc, next); i < c; ++i) work.push_back(next[i]);
    while (!work.empty() && ok) {
      const uint32_t at = work.back();
      work.pop_back();
      if (at == candidate || seen[at]) continue;
      seen[at] = true;
      if (at >= n || at == pc || seen.size() > kRegion) {
        ok = false;
        break;
      }
      const int c = successors(at, next);
      if (c == 0) ok = false;
      for (int i = 0; i < c; ++i) work.push_back(next[i]);
    }
    if (ok) {
      result = candidate;
      break;
    }
  }
  postdominators_.emplace(key, result);
  return result;
}

bool Machine::Execute(const Inst& in) {
  if (data_depth_ > 0 && NeedsOtherLanes(in.op) && !(Lockstep() && (in_ring_ || IsExchange(in.op))))
    return Unknown("WARP_IN_BRANCH", "'" + std::string(in.name) + "' under a data-dependent branch");
  switch (in.op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kFma: case Op::kMad: case Op::kDiv: case Op::kMin:
    case Op::kMax: case Op::kAbs: case Op::kNeg: case Op::kRcp: case Op::kSqrt: case Op::kRsqrt: case Op::kEx2:
    case Op::kLg2: case Op::kSin: case Op::kCos: case Op::kTanh: case Op::kCopysign: case Op::kTestp:
      return isa::IsFloat(in.type()) ? ExecFloat(in) : ExecInteger(in);
    case Op::kMul24: case Op::kMad24: case Op::kSad: case Op::kRem: case Op::kAddc: case Op::kSubc: case Op::kMadc:
    case Op::kPopc: case Op::kClz: case Op::kBfind: case Op::kBrev: case Op::kFns: case Op::kBmsk: case Op::kSzext:
    case Op::kDp4a: case Op::kDp2a:
      return ExecInteger(in);
    case Op::kAnd: case Op::kOr: case Op::kXor: case Op::kNot: case Op::kCnot:
      return in.type() == isa::ScalarType::kPred ? ExecPredicateLogic(in) : ExecBits(in);
    case Op::kShl: case Op::kShr: case Op::kShf: case Op::kBfe: case Op::kBfi: case Op::kLop3: case Op::kPrmt:
      return ExecBits(in);
    case Op::kMov: case Op::kCvta: case Op::kCreatepolicy: return ExecMove(in);
    case Op::kCvt: return ExecConvert(in);
    case Op::kSetp: case Op::kSet: return ExecSetp(in);
    case Op::kSelp: return ExecSelp(in);
    case Op::kLd: case Op::kLdu: return ExecLoad(in);
    case Op::kSt: return ExecStore(in);
    case Op::kAtom: case Op::kRed: return ExecAtomic(in);
    case Op::kCpAsync: case Op::kCpAsyncCommitGroup: case Op::kCpAsyncWaitGroup: case Op::kCpAsyncWaitAll:
      return ExecCopyAsync(in);
    case Op::kLdmatrix: return ExecLdmatrix(in);
    case Op::kStmatrix: return ExecStmatrix(in);
    case Op::kShfl: return ExecShfl(in);
    case Op::kVote: case Op::kActivemask: case Op::kElectSync: case Op::kMatch: return ExecVote(in);
    case Op::kReduxSync: return ExecRedux(in);
    case Op::kMma: return ExecMma(in);
    case Op::kWgmmaMmaAsync: case Op::kWgmmaFence: case Op::kWgmmaCommitGroup: case Op::kWgmmaWaitGroup:
      return ExecWgmma(in);
    case Op::kWmmaLoad: case Op::kWmmaMma: case Op::kWmmaStore: return ExecWmma(in);
    case Op::kBarWarpSync: case Op::kFence: case Op::kMembar: return ExecSync(in);
    case Op::kPrefetch: case Op::kPrefetchu: case Op::kNanosleep: case Op::kPmevent: case Op::kSetmaxnreg:
    case Op::kApplypriority: case Op::kGriddepcontrol:
      return true;  // no effect on values
    default: return Unmodelled(in);
  }
}

}  // namespace samebits::symexec
