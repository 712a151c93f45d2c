// Start of a kernel, and what waves do with their program counter: branches, barriers, waits, EXEC.

#include <algorithm>

#include "core/isa/amdgcn/op_table.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using isa::amdgcn::InfoOf;
using isa::amdgcn::kWaveLanes;
using isa::amdgcn::Op;
using isa::amdgcn::OperandKind;
using isa::amdgcn::Unit;

namespace {

uint32_t LdsGranule(const isa::amdgcn::Kernel& kernel) {
  uint32_t granule = 4;
  for (const isa::amdgcn::Instruction& in : kernel.instructions) {
    switch (in.op) {
      case Op::kDsReadU8: case Op::kDsReadI8: case Op::kDsWriteB8: case Op::kDsWriteB8Hi: granule = 1; break;
      case Op::kDsReadU16: case Op::kDsReadI16: case Op::kDsReadU16D16: case Op::kDsReadU16D16Hi: case Op::kDsWriteB16:
      case Op::kDsWriteB16Hi:
        granule = std::min(granule, 2u);
        break;
      default: break;
    }
  }
  return granule;
}

// Scalar instructions that leave SCC alone.
bool KeepsScc(Op op) {
  switch (op) {
    case Op::kSMovB32: case Op::kSMovB64: case Op::kSMovkI32: case Op::kSCselectB32: case Op::kSCselectB64: case Op::kSMulI32:
    case Op::kSMulkI32: case Op::kSMulHiU32: case Op::kSMulHiI32: case Op::kSWaitcnt: case Op::kSNop: case Op::kSSetprio:
    case Op::kSSleep: case Op::kSPackLl: case Op::kSPackLh: case Op::kSPackHh: case Op::kSBfmB32: case Op::kSBrevB32:
    case Op::kSFf1B32: case Op::kSFf1B64: case Op::kSFlbitB32: case Op::kSSextI8: case Op::kSSextI16: case Op::kSCmovB32:
    case Op::kSCmovB64: case Op::kSSetregImm: case Op::kSBitset0: case Op::kSBitset1: case Op::kBufferWbl2: case Op::kBufferInv:
      return true;
    default: return false;
  }
}

bool WritesScalarRegister(const isa::amdgcn::Instruction& in) {
  return in.operand_count > 0 && InfoOf(in.op).destinations() > 0 && in.operands[0].kind == OperandKind::kRegister &&
         in.operands[0].reg < isa::amdgcn::kFirstVgpr;
}

}  // namespace

WaveMachine::WaveMachine(const isa::Module& module, uint32_t entry, const LaunchConfig& launch,
                         const std::vector<uint32_t>& blocks, canonical::Builder* builder, LaneSpace* space,
                         SymbolicSpace* symbolic, const MachineLimits& limits)
    : Machine(module, entry, launch, blocks, builder, space, symbolic, limits), kernel_(module.amdgcn->kernels[entry]),
      waves_((space->lanes() + kWaveLanes - 1) / kWaveLanes) {}

bool WaveMachine::Setup() {
  function_ = &module_.functions[entry_];
  const std::string_view target = module_.amdgcn->target;
  if (target != "gfx90a" && target != "gfx942" && target != "gfx950")
    return Unknown("TARGET", "processor '" + std::string(target) + "' is not modelled (gfx90a, gfx942, gfx950)");
  if (!launch_.grid_known) return Unknown("GRID_UNKNOWN", "AMDGCN kernels are checked for a known grid only");
  if (kernel_.wave_lanes != kWaveLanes) return Unknown("WAVE_SIZE", "waves of 32 lanes are not modelled");
  if (!kernel_.has_metadata) return Unknown("METADATA", "the text has no .amdgpu_metadata for this kernel: its arguments are not known");
  if (kernel_.float_round_32 != 0 || kernel_.float_round_16_64 != 0 || kernel_.float_denorm_32 != 3 ||
      kernel_.float_denorm_16_64 != 3 || !kernel_.dx10_clamp)
    return Unknown("FLOAT_MODE", "the kernel's rounding or denormal mode is not modelled");
  if (nodes_.buffer_count() >= kKernarg) return Unknown("ARGUMENTS", "too many buffers");
  const uint64_t shared = static_cast<uint64_t>(kernel_.group_segment_bytes) + launch_.dynamic_shared;
  if (shared > (1u << 20)) return Unknown("MEMORY_SIZE", "more LDS than a workgroup may have");
  shared_bytes_ = static_cast<uint32_t>(shared);
  shared_ = SharedMemory(0, 4, space_.lanes(), kWaveLanes);
  lds_ = Lds(shared_bytes_, LdsGranule(kernel_), kWaveLanes);
  stored_buffers_.assign(nodes_.buffer_count() + 1, false);
  if (kernel_.preload_length > 0) {
    if (kernel_.preload_entry == 0 || kernel_.preload_offset != 0)
      return Unknown("PRELOAD", "kernel arguments are preloaded, but the entry at byte 256 is not where compilers put it");
    first_pc_ = kernel_.preload_entry;
  }
  fp8_saturates_ = kernel_.fp16_overflow;
  const size_t waves = static_cast<size_t>(waves_);
  vector_issued_ = vector_done_ = lds_issued_ = lds_done_ = scalar_pending_ = last_lds_ = std::vector<uint32_t>(waves, 0);
  direct_loads_.assign(waves, {});
  pends_.assign(isa::amdgcn::kRegisters, false);
  pending_vector_ = pending_lds_ = std::vector<uint32_t>(waves * isa::amdgcn::kRegisters, 0);
  return true;
}

// Initial registers, in the order of the descriptor (User Guide for AMDGPU, "Initial Kernel Execution State").
bool WaveMachine::Begin() {
  exec_ = wave_ = kAllLanes;
  isa::amdgcn::Operand at;
  at.kind = OperandKind::kRegister;
  at.count = 2;
  at.reg = isa::amdgcn::kExecLo;
  if (!WriteMask(at, Value::Predicate(kAllLanes))) return false;
  uint32_t next = 0;
  if (kernel_.private_segment_buffer != 0) next += 4;
  if (kernel_.dispatch_ptr != 0) next += 2;
  if (kernel_.queue_ptr != 0) next += 2;
  if (kernel_.kernarg_ptr != 0) {
    Value pointer = Value::Int(0, 64);
    pointer.buffer = kKernarg;
    at.reg = static_cast<uint16_t>(next);
    if (!Write64(at, pointer)) return false;
    next += 2;
  }
  if (kernel_.dispatch_id != 0) next += 2;
  if (kernel_.flat_scratch_init != 0) next += 2;
  if (kernel_.private_segment_size != 0) next += 1;
  if (kernel_.preload_length > 16) return Unknown("PRELOAD", "more preloaded arguments than there are registers");
  at.reg = static_cast<uint16_t>(next);
  if (kernel_.preload_length > 0 && !KernargLoad(0, static_cast<int>(kernel_.preload_length), at)) return false;
  next += kernel_.preload_length;
  if (kernel_.has_user_sgpr_count) {
    if (kernel_.user_sgpr_count < next) return Unknown("DESCRIPTOR", "the descriptor counts fewer user registers than it names");
    next = kernel_.user_sgpr_count;
  }
  static constexpr isa::Special kIds[3] = {isa::Special::kCtaidX, isa::Special::kCtaidY, isa::Special::kCtaidZ};
  for (int d = 0; d < 3; ++d) {
    if (!kernel_.workgroup_id[d]) continue;
    Value id;
    if (!SpecialRegister(kIds[d], 32, &id) || !Put(static_cast<uint16_t>(next++), std::move(id))) return false;
  }
  const bool deep = launch_.block[1] > 1 || launch_.block[2] > 1;
  if (deep && kernel_.workitem_id < (launch_.block[2] > 1 ? 2u : 1u))
    return Unknown("WORKITEM_ID", "the workgroup has dimensions that the kernel does not ask the ids of");
  // One register holds all three, ten bits each.
  std::vector<int64_t> ids(space_.lanes());
  const int bx = static_cast<int>(launch_.block[0]), by = static_cast<int>(launch_.block[1]);
  for (int l = 0; l < space_.lanes(); ++l) ids[l] = l % bx | (l / bx % by) << 10 | (l / bx / by) << 20;
  const auto o = space_.InternArray(ids.data());
  Value id = Value::Int(o.constant, 32);
  id.array = o.id;
  return Put(isa::amdgcn::kFirstVgpr, std::move(id));
}

MaskId WaveMachine::AnyOfWaves(MaskId m) const {
  static_assert(kWaveLanes == 64);
  uint64_t words[16];
  for (int w = 0; w < waves_; ++w) words[w] = space_.mask(m)[w] != 0 ? space_.mask(kAllLanes)[w] : 0;
  return space_.InternMask(words);
}

// Whether any lane of each executing wave meets a condition on loaded data, where all lanes that may do ask the same:
// false where they do not, or nothing is known.
bool WaveMachine::AnyOnData(const Lanes& condition, Value* any) {
  std::vector<uint16_t> source(space_.lanes());
  for (int first = 0; first < space_.lanes(); first += kWaveLanes) {
    const int end = std::min(first + kWaveLanes, space_.lanes());
    int chosen = -1;
    bool certain = false;
    expr::Scalar same;
    for (int l = first; l < end && !certain; ++l) {
      if (!space_.Test(wave_, l)) continue;
      const expr::Scalar s = ops_.At(condition, l);
      uint64_t value = 0;
      const bool constant = nodes_.IsConst(s.node, &value);
      if ((nodes_[s.node].facts & expr::kHoldsUndef) != 0) return false;
      if (constant && (value & 1) == 0 && chosen >= 0) continue;
      if (constant && (value & 1) != 0) {
        certain = true;
        chosen = l;
      } else if (chosen < 0 || nodes_.IsConst(same.node)) {
        chosen = l;
        same = s;
      } else if (!expr::Same(s, same)) {
        return false;
      }
    }
    for (int l = first; l < end; ++l) source[l] = static_cast<uint16_t>(chosen < 0 ? l : chosen);
  }
  *any = Value::Bits(ops_.Permute(condition, space_.InternPerm(source.data())), 1);
  return true;
}

bool WaveMachine::Step(std::vector<Fiber>& fibers, size_t which) {
  uint32_t join_pc = isa::kNone32;
  for (size_t i = 0; i < fibers.size(); ++i)
    if (i != which) join_pc = std::min(join_pc, fibers[i].pc);
  function_ = &module_.functions[entry_];
  first_register_ = 0;
  const uint64_t lanes = static_cast<uint64_t>(space_.Count(fibers[which].mask));
  const bool only = fibers.size() == 1;
  for (;;) {
    Fiber& fiber = fibers[which];
    if (fiber.pc >= kernel_.instructions.size()) return Unknown("CONTROL", "the kernel runs past its last instruction");
    const GcnInst& in = kernel_.instructions[fiber.pc];
    in_ = &in;
    current_ = &function_->instructions[fiber.pc];
    exec_ = wave_ = fiber.mask;
    result_.steps += lanes;
    if (++steps_since_check_ >= 512) {
      steps_since_check_ = 0;
      if (!CheckBudget()) return false;
    }
    nodes_.set_line(in.line);
    if (InfoOf(in.op).unit == Unit::kBranch) return Branch64(fibers, which, in);
    if (!Run1(in, fiber.mask)) return false;
    ++fiber.pc;
    if (!only && fiber.pc >= join_pc) return true;
    if (log_ != nullptr) return true;  // the caller watches for the end of the side
  }
}

bool WaveMachine::Run1(const GcnInst& in, MaskId wave) {
  if (in.op == Op::kUnknown) return Unmodelled64();
  if (in.has_unknown_modifier) return Unknown("UNMODELLED_MODIFIER", "modifier of '" + std::string(in.name) + "' is not modelled");
  const Unit unit = InfoOf(in.op).unit;
  if (unit == Unit::kScalar) return in.op == Op::kSWaitcnt ? Wait(in) : ExecScalar(in);
  if (data_depth_ > 0 && unit != Unit::kVector)
    return Unknown("MEMORY_IN_BRANCH", "'" + std::string(in.name) + "' under a data-dependent branch");
  if (unit == Unit::kScalarMemory) return ScalarLoad(in);
  if (unit == Unit::kMatrix) return ExecMfma(in);
  MaskId known;
  Lanes guard;
  bool is_known = KnownExec(&known);
  if (!is_known) {
    isa::amdgcn::Operand exec;
    exec.kind = OperandKind::kRegister;
    exec.count = 2;
    exec.reg = isa::amdgcn::kExecLo;
    Value mask;
    if (!ReadMask(exec, &mask) || !AsPredicate(mask, &known, &guard, &is_known)) return false;
  }
  exec_is_data_ = !is_known;
  if (is_known) {
    exec_ = space_.And(wave, known);
    if (exec_ == kNoLanes && !WritesScalarRegister(in)) return true;
    return RunVector(in);
  }
  // Lanes that certainly take no part.
  exec_ = space_.And(wave, space_.MaskWhere([&](int l) {
    uint64_t value = 1;
    return !nodes_.IsConst(guard.uniform() ? guard.nodes : space_.nodes(guard.nodes & ~kMixed)[l], &value) || value != 0;
  }));
  return RunGuarded(in, guard);
}

// EXEC as comparisons and mask logic leave it: known lanes, both halves, written by all waves that execute.
bool WaveMachine::KnownExec(MaskId* known) const {
  const Value &low = registers_[isa::amdgcn::kExecLo], &high = registers_[isa::amdgcn::kExecHi];
  if (!low.is_predicate() || !high.is_predicate() || low.mask != high.mask || low.constant != 0 || high.constant != 1) return false;
  if (!space_.Contains(defined_[isa::amdgcn::kExecLo], wave_) || !space_.Contains(defined_[isa::amdgcn::kExecHi], wave_)) return false;
  *known = low.mask;
  return !pends_[isa::amdgcn::kExecLo] && !pends_[isa::amdgcn::kExecHi];
}

bool WaveMachine::RunVector(const GcnInst& in) {
  switch (InfoOf(in.op).unit) {
    case Unit::kVector: return ExecVector(in);
    case Unit::kBuffer: return ExecBuffer(in);
    case Unit::kGlobal: return ExecGlobal(in);
    case Unit::kLds: return ExecLds(in);
    default: return Unmodelled64();
  }
}

// An instruction whose lanes loaded data decides: executed, then its results selected.
bool WaveMachine::RunGuarded(const GcnInst& in, const Lanes& guard) {
  const Unit unit = InfoOf(in.op).unit;
  const bool store = (unit == Unit::kBuffer || unit == Unit::kGlobal) && InfoOf(in.op).destinations() == 0;
  if (store) {
    guarded_store_ = true;
    store_guard_ = guard;
    const bool ok = exec_ == kNoLanes || RunVector(in);
    guarded_store_ = false;
    return ok;
  }
  if (unit == Unit::kLds || in.dpp != isa::amdgcn::DppKind::kNone || in.op == Op::kVReadfirstlane || in.op == Op::kVCmpx)
    return Unknown("GUARDED_ON_DATA", "'" + std::string(in.name) + "' while loaded data decides which lanes execute");
  if (WritesScalarRegister(in)) return RunVector(in);  // comparisons look at the guard themselves
  if (exec_ == kNoLanes) return true;
  std::vector<Undo> log;
  std::vector<Undo>* const outer = log_;
  log_ = &log;
  const Lanes* const outer_guard = load_guard_;
  load_guard_ = &guard;
  const bool ok = RunVector(in);
  load_guard_ = outer_guard;
  log_ = outer;
  if (!ok) return false;
  std::vector<uint32_t> done;
  for (const Undo& u : log) {
    if (std::find(done.begin(), done.end(), u.reg) != done.end()) continue;
    done.push_back(u.reg);
    Value fresh = registers_[u.reg], old = u.value;
    if (log_ != nullptr) log_->push_back(u);
    if (fresh.kind == Value::Kind::kUndef) continue;
    if (fresh.buffer != 0 || old.buffer != 0 || fresh.width == 1 || fresh.is_predicate() || old.is_predicate() ||
        (old.kind != Value::Kind::kUndef && old.width == 1))
      return Unknown("ADDRESS_ON_DATA", "loaded data decides whether an address or a lane mask is written");
    Lanes undef, a, b, selected;
    undef.nodes = nodes_.Undef();
    if (old.kind == Value::Kind::kUndef) old = Value::Bits(undef, 32);
    if (!Materialize(&fresh) || !Materialize(&old) || !ToLanes(fresh, 32, &a) || !ToLanes(old, 32, &b)) return false;
    if (const MaskId missing = space_.AndNot(exec_, u.defined); missing != kNoLanes) {
      const Lanes kept = b;
      if (!ops_.Blend(missing, undef, kept, &b)) return OutOfAnchors();
    }
    const Lanes* operands[3] = {&guard, &a, &b};
    if (!ops_.Apply(Fn::kSelect, 0, 32, operands, &selected)) return OutOfAnchors();
    // Lanes outside keep theirs.
    Lanes mixed;
    if (!ops_.Blend(exec_, selected, b, &mixed)) return OutOfAnchors();
    registers_[u.reg] = Value::Bits(std::move(mixed), 32);
    defined_[u.reg] = space_.Or(u.defined, exec_);
  }
  return true;
}

bool WaveMachine::Diverge(std::vector<Fiber>& fibers, size_t which, MaskId taken, uint32_t target) {
  Fiber& fiber = fibers[which];
  taken = space_.And(taken, fiber.mask);
  const MaskId rest = space_.AndNot(fiber.mask, taken);
  if (taken == kNoLanes) {
    ++fiber.pc;
  } else if (rest == kNoLanes) {
    fiber.pc = target;
  } else {
    Fiber other = fiber;
    other.mask = rest;
    ++other.pc;
    fiber.mask = taken;
    fiber.pc = target;
    fibers.push_back(std::move(other));
  }
  return true;
}

bool WaveMachine::Branch64(std::vector<Fiber>& fibers, size_t which, const GcnInst& in) {
  Fiber& fiber = fibers[which];
  const uint32_t target = static_cast<uint32_t>(in.operands[0].imm);
  switch (in.op) {
    case Op::kSBranch: fiber.pc = target; return true;
    case Op::kSEndpgm:
      if (log_ != nullptr) return Unknown("EXIT_ON_DATA", "end of the program under a data-dependent condition");
      fibers.erase(fibers.begin() + static_cast<ptrdiff_t>(which));
      has_exit_ = true;
      return true;
    case Op::kSBarrier:
      if (data_depth_ > 0) return Unknown("BARRIER_IN_BRANCH", "barrier under a data-dependent branch");
      if (!AtBarrier()) return false;
      fiber.at_barrier = true;
      ++fiber.pc;
      return true;
    case Op::kSCbranchExecz: case Op::kSCbranchExecnz: return BranchOnExec(fibers, which, in);
    default: break;
  }
  const bool on_vcc = in.op == Op::kSCbranchVccz || in.op == Op::kSCbranchVccnz;
  const bool if_zero = in.op == Op::kSCbranchVccz || in.op == Op::kSCbranchScc0;
  Value v;
  if (on_vcc) {
    isa::amdgcn::Operand vcc;
    vcc.kind = OperandKind::kRegister;
    vcc.count = 2;
    vcc.reg = isa::amdgcn::kVccLo;
    if (!ReadMask(vcc, &v)) return false;
  } else if (!Peek(isa::amdgcn::kScc, &v)) {
    return false;
  }
  if (v.is_int()) return Unknown("PREDICATE", "branch on an SCC that holds a carry");
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!AsPredicate(v, &known, &condition, &is_known)) return false;
  if (is_known) {
    MaskId any = AnyOfWaves(space_.And(known, fiber.mask));
    if (if_zero) any = space_.AndNot(kAllLanes, any);
    return Diverge(fibers, which, any, target);
  }
  if (on_vcc) {
    Value any;
    if (!AnyOnData(condition, &any)) return Unknown("BRANCH_ON_DATA", "branch on whether any lane's loaded data meets a condition");
    condition = any.pieces[0].lanes;
  }
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(fiber.mask, l) && (nodes_[ops_.At(condition, l).node].facts & expr::kHoldsUndef) != 0)
      return Unknown("UNDEFINED_VALUE", "branch on a register that was never written");
  return BranchOnData(fibers, which, function_->instructions[fiber.pc], condition);
}

// `s_cbranch_execz` skips what has no effect when no lane executes. Where loaded data decides, falling through is the same
// as long as the skipped instructions change nothing that lives on.
bool WaveMachine::BranchOnExec(std::vector<Fiber>& fibers, size_t which, const GcnInst& in) {
  Fiber& fiber = fibers[which];
  const uint32_t target = static_cast<uint32_t>(in.operands[0].imm);
  isa::amdgcn::Operand exec;
  exec.kind = OperandKind::kRegister;
  exec.count = 2;
  exec.reg = isa::amdgcn::kExecLo;
  Value v;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!ReadMask(exec, &v) || !AsPredicate(v, &known, &condition, &is_known)) return false;
  if (is_known) {
    MaskId any = AnyOfWaves(space_.And(known, fiber.mask));
    if (in.op == Op::kSCbranchExecz) any = space_.AndNot(kAllLanes, any);
    return Diverge(fibers, which, any, target);
  }
  const auto give_up = [&] { return Unknown("BRANCH_ON_DATA", "branch on whether loaded data leaves any lane executing"); };
  if (in.op != Op::kSCbranchExecz || target <= fiber.pc) return give_up();
  for (uint32_t pc = fiber.pc + 1; pc < target; ++pc) {
    const GcnInst& skipped = kernel_.instructions[pc];
    const Unit unit = InfoOf(skipped.op).unit;
    if (unit == Unit::kNone || unit == Unit::kBranch || unit == Unit::kMatrix || skipped.op == Op::kSSetregImm) return give_up();
    if (skipped.op == Op::kVCmpx || Writes(skipped, isa::amdgcn::kExecLo)) return give_up();
    for (uint16_t reg = 0; reg <= isa::amdgcn::kScc; ++reg)
      if (Writes(skipped, reg) && !DeadAt(target, reg)) return give_up();
  }
  ++fiber.pc;
  return true;
}

bool WaveMachine::Writes(const GcnInst& in, uint16_t reg) const {
  const auto& info = InfoOf(in.op);
  for (int i = 0; i < info.destinations() && i < in.operand_count; ++i) {
    const auto& o = in.operands[i];
    if (o.kind == OperandKind::kRegister && reg >= o.reg && reg < o.reg + o.count) return true;
  }
  const bool saveexec = in.op == Op::kSAndSaveexec || in.op == Op::kSOrSaveexec || in.op == Op::kSXorSaveexec || in.op == Op::kSAndn2Saveexec;
  if ((reg == isa::amdgcn::kExecLo || reg == isa::amdgcn::kExecHi) && (saveexec || in.op == Op::kVCmpx)) return true;
  return reg == isa::amdgcn::kScc && info.unit == Unit::kScalar && !KeepsScc(in.op);
}

bool WaveMachine::Reads(const GcnInst& in, uint16_t reg) const {
  if (in.op == Op::kUnknown) return true;
  for (int i = InfoOf(in.op).destinations(); i < in.operand_count; ++i) {
    const auto& o = in.operands[i];
    if (o.kind == OperandKind::kRegister && reg >= o.reg && reg < o.reg + o.count) return true;
  }
  switch (in.op) {
    case Op::kSAddkI32: case Op::kSMulkI32: case Op::kSBitset0: case Op::kSBitset1: case Op::kSCmovB32: case Op::kSCmovB64: {
      const auto& o = in.operands[0];
      if (reg >= o.reg && reg < o.reg + o.count) return true;
      return reg == isa::amdgcn::kScc;
    }
    case Op::kSCselectB32: case Op::kSCselectB64: case Op::kSAddcU32: case Op::kSSubbU32: case Op::kSCbranchScc0:
    case Op::kSCbranchScc1:
      return reg == isa::amdgcn::kScc;
    case Op::kVDivFmasF32: case Op::kSCbranchVccz: case Op::kSCbranchVccnz:
      return reg == isa::amdgcn::kVccLo || reg == isa::amdgcn::kVccHi;
    default: return false;
  }
}

// No path from `pc` reads the register before it writes it.
bool WaveMachine::DeadAt(uint32_t pc, uint16_t reg) const {
  std::vector<uint32_t> work{pc};
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    const uint32_t at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (at >= kernel_.instructions.size() || seen.size() > 20'000) return false;
    const GcnInst& in = kernel_.instructions[at];
    if (Reads(in, reg)) return false;
    if (Writes(in, reg)) continue;
    if (in.op == Op::kSEndpgm) continue;
    const bool jumps = InfoOf(in.op).unit == Unit::kBranch && in.operand_count == 1;
    if (jumps) work.push_back(static_cast<uint32_t>(in.operands[0].imm));
    if (in.op != Op::kSBranch) work.push_back(at + 1);
  }
  return true;
}

bool WaveMachine::Wait(const GcnInst& in) {
  if (data_depth_ > 0) return true;
  for (int w = 0; w < waves_; ++w) {
    if (!space_.Test(wave_, w * kWaveLanes)) continue;
    const size_t i = static_cast<size_t>(w);
    if (in.vmcnt != 255 && vector_issued_[i] > in.vmcnt)
      vector_done_[i] = std::max(vector_done_[i], vector_issued_[i] - in.vmcnt);
    if (!direct_loads_[i].empty() && !Land(i)) return false;
    if (in.lgkmcnt == 255) continue;
    // Scalar loads return in any order: only a wait for all of them says something.
    if (in.lgkmcnt == 0) lds_done_[i] = lds_issued_[i], scalar_pending_[i] = 0;
    else if (scalar_pending_[i] == 0 && lds_issued_[i] > in.lgkmcnt)
      lds_done_[i] = std::max(lds_done_[i], lds_issued_[i] - in.lgkmcnt);
  }
  return true;
}

bool WaveMachine::AtBarrier() {
  for (int w = 0; w < waves_; ++w)
    if (space_.Test(wave_, w * kWaveLanes) && last_lds_[static_cast<size_t>(w)] > lds_done_[static_cast<size_t>(w)])
      return Race("barrier passed while LDS operations before it may be under way");
  return true;
}

}  // namespace samebits::symexec
