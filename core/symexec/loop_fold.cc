// Loops of open trip count (checker.md: one header visit with the iteration as a symbol). The loop's body runs from a
// state in which every register that it writes is a symbol: invariant, base + step * iteration, or a hole that stands
// for whatever the iteration before left. The proof is that the body leads from the state of iteration i to the state
// of i + 1, compared exactly; the values after the loop are fold nodes of steps, condition and first values.
//
// The body runs as a data-dependent side does: no stores, barriers or exchange between lanes, so that each lane's loop
// is its own and lanes may leave at different iterations. Where all lanes of the block share the condition, barriers,
// shuffles and shared memory are allowed, but no lane's state may reach another lane's through them, and what an
// iteration leaves in shared memory counts as unwritten. Two consecutive trips run on one record of shared accesses, so
// that a trip is ordered against the next.

#include <algorithm>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;

namespace {

constexpr int kMaxMembers = 8;  // of one coupled system

}  // namespace

bool SameValue(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.width != b.width || a.buffer != b.buffer || a.array != b.array ||
      a.symbolic != b.symbolic || a.mask != b.mask || a.constant != b.constant || a.pieces.size() != b.pieces.size())
    return false;
  for (size_t i = 0; i < a.pieces.size(); ++i)
    if (a.pieces[i].bits != b.pieces[i].bits || a.pieces[i].lanes.nodes != b.pieces[i].lanes.nodes ||
        a.pieces[i].lanes.anchors != b.pieces[i].lanes.anchors)
      return false;
  return true;
}

bool Machine::Negate(Lanes* condition) {
  Lanes inverse;
  const Lanes* operand = condition;
  if (!ops_.Apply(Fn::kNot, 0, 1, {&operand, 1}, &inverse)) return OutOfAnchors();
  *condition = std::move(inverse);
  return true;
}

void Machine::FindHoleBuffer() {
  if (hole_buffer_ != 0) return;
  WordHasher h(308);
  hole_buffer_ = nodes_.FindBuffer("#state", h.Finish());
  stored_buffers_.resize(nodes_.buffer_count() + 1, false);
}

// An open count of trips: of kind `kind`, at this depth.
AtomId Machine::TripCounter(uint64_t kind, uint32_t bit) {
  WordHasher h(kind);
  h.Add(static_cast<uint64_t>(data_depth_));
  Atom counter;
  counter.key = h.Finish();
  counter.lo = 0;
  counter.hi = (int64_t{1} << 31) - 1;
  counter.dimensions = 1u << bit;
  return symbolic_.Derive(std::move(counter));
}

ArrayId Machine::LaneNumbers() {
  std::vector<int64_t> numbers(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) numbers[l] = l;
  return space_.InternArray(numbers.data()).id;
}

// What stands for the state of member `index` of the loop at hand, each lane's its own.
Lanes Machine::HoleOf(size_t index, ArrayId own_lane) {
  WordHasher h(305);
  h.Add(static_cast<uint64_t>(data_depth_));
  h.Add(index);
  Atom atom;
  atom.key = h.Finish();
  Lanes hole;
  hole.nodes = nodes_.Leaf(hole_buffer_);
  hole.anchors.push_back({own_lane, symbolic_.FromAtom(symbolic_.Derive(std::move(atom))).id, 0});
  return hole;
}

// The register holds nothing defined in the executing lanes.
void Machine::Undefine(uint32_t index) {
  if (log_ != nullptr) log_->push_back({index, registers_[index], defined_[index]});
  defined_[index] = space_.AndNot(defined_[index], exec_);
  if (defined_[index] == kNoLanes) registers_[index] = Value{};
}

void Machine::ForgetShared() {
  Scalar unknown;
  unknown.node = nodes_.Undef();
  shared_.Forget(unknown);
}

// Runs the body once and reads the condition to go on. Registers are left as the body leaves them.
bool Machine::RunLoopBody(const Fiber& fiber, const Inst& in, bool lockstep, std::vector<Undo>* log, Lanes* go_on) {
  const Frame frame = fiber.frames.back();
  std::vector<Fiber> own(1);
  own[0] = fiber;
  own[0].pc = Op(in, 0).target;
  std::vector<Undo>* const outer = log_;
  std::vector<ParamKey>* const outer_params = param_log_;
  std::vector<ParamKey> written_params;
  log_ = log;
  param_log_ = &written_params;
  ++data_depth_;
  const int outer_lockstep = lockstep_depth_;
  if (lockstep) lockstep_depth_ = data_depth_;
  const uint64_t limit = limits_.max_steps;
  limits_.max_steps = std::min(limit, result_.steps + 4'000'000);
  const bool ok = RunFibers(own, fiber.pc, fiber.frames.size());
  limits_.max_steps = limit;
  --data_depth_;
  lockstep_depth_ = outer_lockstep;
  param_log_ = outer_params;
  log_ = outer;
  if (!ok) return false;
  for (const ParamKey& key : written_params) params_.erase(key);
  for (size_t i = 1; i < own.size(); ++i) own[0].mask = space_.Or(own[0].mask, own[i].mask);
  if (own.empty() || own[0].mask != fiber.mask) return Unknown("LOOP", "lanes leave a loop of open length inside its body");
  function_ = &module_.functions[frame.function];
  first_register_ = frame.first_register;
  current_serial_ = frame.serial;
  current_ = &in;
  exec_ = fiber.mask;
  Value p;
  MaskId known;
  bool is_known;
  if (!GetRegister(in.guard, &p) || !AsPredicate(p, &known, go_on, &is_known)) return false;
  if (is_known) return Unknown("LOOP", "a loop of open length whose later trips are decided");
  return !in.guard_negated || Negate(go_on);
}

// step * iteration, added to v.
bool Machine::Advance(const Value& step, SymbolicId iteration, Value* v) {
  Value i = Value::Int(0, 64), wide = step, product, sum;
  i.symbolic = iteration;
  wide.width = 64;
  if (wide.is_uniform_const()) {
    const auto scaled = symbolic_.Scale(iteration, wide.constant);
    product = Value::Int(0, 64);
    product.symbolic = scaled.id;
  } else {
    const Closed c = OpenMultiply(wide, i, 64, &product);
    if (c == Closed::kNone) return Unknown("LOOP", "the step of a loop of open length has no closed form");
    if (c == Closed::kStop) return false;
  }
  if (!IntAdd(*v, product, v->width, &sum)) return false;
  *v = std::move(sum);
  return true;
}

// Takes the iteration out of an anchor's open part; what one iteration adds to it enters `h`.
bool Machine::TakeIteration(uint32_t bit, AtomId iteration, WordHasher* h, expr::Anchor* anchor) {
  const auto terms = symbolic_[anchor->symbolic].terms;
  SymbolicId rest = anchor->symbolic;
  std::vector<std::pair<Digest128, int64_t>> steps;
  for (const auto& [id, factor] : terms) {
    const Atom* atom = symbolic_.atom(id);
    if (atom == nullptr || (atom->dimensions >> bit & 1) == 0) continue;
    const auto uses = id == iteration ? 1 : std::count(atom->factors.begin(), atom->factors.end(), iteration);
    if (uses != 1) return Unknown("LOOP", "an address in a loop of open length is not affine in the iteration");
    WordHasher others(307);
    if (id != iteration) {
      std::vector<Digest128> keys;
      for (const AtomId f : atom->factors) {
        const Atom* part = symbolic_.atom(f);
        if (f != iteration && (part->dimensions >> bit & 1) != 0)
          return Unknown("LOOP", "an address in a loop of open length is not affine in the iteration");
        if (f != iteration) keys.push_back(part->key);
      }
      std::sort(keys.begin(), keys.end());
      for (const Digest128& k : keys) others.Add(k);
    }
    steps.push_back({others.Finish(), factor});
    const auto own = symbolic_.FromAtom(id);
    rest = symbolic_.Add(rest, symbolic_.Scale(own.id, -factor).id).id;
  }
  std::sort(steps.begin(), steps.end());
  h->Add(steps.size());
  for (const auto& [key, factor] : steps) {
    h->Add(key);
    h->Add(static_cast<uint64_t>(factor));
  }
  anchor->symbolic = rest;
  return true;
}

// Holes of one member in several lanes share a slot, apart by their shift: none may be shifted.
bool Machine::HolesUnshifted(expr::NodeId root) {
  std::vector<expr::NodeId> work = {root};
  while (!work.empty()) {
    const expr::NodeId id = work.back();
    work.pop_back();
    if (!unshifted_.insert(id).second) continue;
    const expr::Node& node = nodes_[id];
    if (node.children == 0) continue;
    expr::ChildRef child = nodes_.child(id, 0);
    for (int c = 0; c < node.children; ++c) {
      if (c > 0) child = child.next();
      bool any = false;
      for (int s = 0; s < child.slots; ++s) {
        if (nodes_.slot_buffer(child.node, s) != hole_buffer_) continue;
        any = true;
        if (child.shift(s) != 0) {
          unshifted_.erase(root);
          unshifted_.erase(id);
          return false;
        }
      }
      if (any) work.push_back(child.node);
    }
  }
  return true;
}

// The value that `result` has when the loop ends, lane by lane.
bool Machine::FoldValue(const std::vector<LoopMember>& members, const Lanes& go_on, const Lanes& result, int width,
                        uint32_t bit, AtomId iteration, Lanes* out) {
  std::vector<Scalar> lanes(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) {
    lanes[l].node = nodes_.Undef();
    if (!space_.Test(exec_, l)) continue;
    std::vector<Scalar> children;
    for (const LoopMember& m : members) {
      children.push_back(ops_.At(m.hole, l));
      children.push_back(ops_.At(m.step, l));
      children.push_back(ops_.At(m.first, l));
    }
    children.push_back(ops_.At(go_on, l));
    children.push_back(ops_.At(result, l));
    WordHasher h(306);
    h.Add(members.size());
    for (const LoopMember& m : members) h.Add(m.width);
    for (Scalar& c : children) {
      h.Add(c.slots);
      for (int i = 0; i < c.slots; ++i) {
        if (c.anchor[i].buffer != hole_buffer_ || c.anchor[i].symbolic == 0) continue;
        if (c.anchor[i].offset != l || !HolesUnshifted(c.node))
          return Unknown("LOOP", "lanes exchange what a loop of open length carries on");
        for (const LoopMember& m : members)
          if (c.anchor[i].symbolic == m.hole.anchors[0].symbolic) c.anchor[i].offset = 0;
      }
      for (int i = 0; i < c.slots; ++i)
        if (!TakeIteration(bit, iteration, &h, &c.anchor[i])) return false;
    }
    Scalar& fold = lanes[l];
    if (!nodes_.Make(Fn::kFold, h.Finish64(), width, 0, children.data(), static_cast<int>(children.size()), &fold))
      return OutOfAnchors();
    for (int i = 0; i < fold.slots; ++i)
      for (const LoopMember& m : members)
        if (fold.anchor[i].buffer == hole_buffer_ && fold.anchor[i].symbolic == m.hole.anchors[0].symbolic)
          fold.anchor[i].symbolic = 0, fold.anchor[i].offset = 0;
  }
  *out = ops_.Pack(lanes);
  return true;
}

// Holes that a value depends on, as indices of `members`.
std::vector<bool> Machine::HolesIn(const Lanes& v, const std::vector<LoopMember>& members) const {
  std::vector<bool> found(members.size());
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    const Scalar s = ops_.At(v, l);
    for (int i = 0; i < s.slots; ++i)
      for (size_t m = 0; m < members.size(); ++m)
        if (s.anchor[i].buffer == hole_buffer_ && s.anchor[i].symbolic == members[m].hole.anchors[0].symbolic) found[m] = true;
    if (v.uniform() && std::none_of(v.anchors.begin(), v.anchors.end(), [](const LaneAnchor& a) { return (a.symbolic & kMixed) != 0; }))
      break;
  }
  return found;
}

// One and the same in all lanes.
bool Machine::SharedByLanes(const Lanes& v) const {
  return v.uniform() && std::all_of(v.anchors.begin(), v.anchors.end(), [](const LaneAnchor& a) {
           return a.array == 0 && (a.symbolic & kMixed) == 0;
         });
}

bool Machine::FoldLoop(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition) {
  const Fiber fiber = fibers[which];
  if (data_depth_ >= 8) return Unknown("LOOP", "loops of open length nest too deeply");
  if (CopiesBetween(Op(in, 0).target, fiber.pc)) return FoldRing(fibers, which, in, condition);
  const uint32_t first = first_register_, end = first + static_cast<uint32_t>(function_->registers.size());
  exec_ = fiber.mask;
  Lanes go_on_first = condition;
  if (in.guard_negated && !Negate(&go_on_first)) return false;
  FindHoleBuffer();
  const bool lockstep = Lockstep() && fibers.size() == 1 && fiber.mask == kAllLanes && SharedByLanes(condition);
  const ArrayId own_lane = LaneNumbers();
  // What one trip does to the registers as they are.
  struct Register {
    uint32_t index;
    Value before, general, step;  // step: of a linear one
    MaskId defined;
    enum class Kind { kInvariant, kLinear, kHole, kDead } kind;
    size_t member;
  };
  std::vector<Register> written;
  const auto is_written = [&written](uint32_t reg) {
    return std::any_of(written.begin(), written.end(), [reg](const Register& r) { return r.index == reg; });
  };
  std::vector<Undo> log;
  Lanes go_on;
  if (!RunLoopBody(fiber, in, lockstep, &log, &go_on)) return false;
  for (const Undo& u : log) {
    if (u.reg < first || u.reg >= end) continue;
    if (!is_written(u.reg))
      written.push_back({u.reg, u.value, {}, {}, u.defined, Register::Kind::kInvariant, 0});
  }
  std::vector<LoopMember> members;
  const uint32_t bit = kFirstLoopBit + static_cast<uint32_t>(data_depth_);
  const AtomId iteration = TripCounter(304, bit);
  const SymbolicId i_now = symbolic_.FromAtom(iteration).id;
  for (Register& r : written) {
    const Value after = registers_[r.index];
    const Value& before = r.before;
    const bool was_defined = before.kind != Value::Kind::kUndef && space_.AndNot(exec_, r.defined) == kNoLanes;
    r.general = before;
    if (!was_defined) {
      r.kind = Register::Kind::kDead;
    } else if (SameValue(before, after)) {
      r.kind = Register::Kind::kInvariant;
    } else if (before.is_int() && after.is_int() && before.buffer == after.buffer && before.array == after.array &&
               before.width == after.width) {
      r.kind = Register::Kind::kLinear;
      r.step = Value::Int(static_cast<int64_t>(static_cast<uint64_t>(after.constant) - static_cast<uint64_t>(before.constant)), before.width);
      r.step.symbolic = symbolic_.Add(after.symbolic, symbolic_.Scale(before.symbolic, -1).id).id;
      if (!Advance(r.step, i_now, &r.general)) return false;
    } else if (before.is_predicate() || before.buffer != after.buffer || before.width != after.width ||
               (before.buffer != 0 && (!before.is_bits() || !after.is_bits()))) {
      r.kind = Register::Kind::kDead;
    } else {
      r.kind = Register::Kind::kHole;
      r.member = members.size();
      LoopMember m;
      m.width = before.width;
      Value data = before;
      data.buffer = 0;
      if (!ToLanes(data, before.width, &m.first)) return false;
      ops_.Settle(&m.first);
      m.hole = HoleOf(members.size(), own_lane);
      r.general = Value::Bits(m.hole, before.width);
      r.general.buffer = before.buffer;
      members.push_back(std::move(m));
    }
    if (r.kind == Register::Kind::kDead) r.general = Value{};
  }
  const auto restore = [&] {
    for (const Register& r : written) {
      registers_[r.index] = r.before;
      defined_[r.index] = r.defined;
    }
  };
  // One trip from the general state of iteration i.
  for (const Register& r : written) {
    registers_[r.index] = r.general;
    defined_[r.index] = r.kind == Register::Kind::kDead ? kNoLanes : space_.And(r.defined, exec_);
  }
  std::vector<Undo> second;
  Lanes go_on_next;
  if (lockstep) ForgetShared();
  if (!RunLoopBody(fiber, in, lockstep, &second, &go_on_next)) return false;
  if (lockstep) {
    ForgetShared();
    if (!SharedByLanes(go_on_next)) return Unknown("LOOP", "lanes of a block leave a loop with barriers apart");
  }
  for (const Undo& u : second)
    if (u.reg >= first && u.reg < end && !is_written(u.reg))
      return Unknown("LOOP", "a loop of open length does not repeat itself");
  for (const Register& r : written) {
    const Value& now = registers_[r.index];
    if (r.kind == Register::Kind::kInvariant && !SameValue(now, r.general))
      return Unknown("LOOP", "a loop of open length does not repeat itself");
    if (r.kind == Register::Kind::kLinear) {
      Value next;
      if (!IntAdd(r.general, r.step, r.general.width, &next)) return false;
      next.width = now.width;
      if (!SameValue(now, next)) return Unknown("LOOP", "an index of a loop of open length does not step evenly");
    }
    if (r.kind == Register::Kind::kHole) {
      LoopMember& m = members[r.member];
      Value data = now;
      data.buffer = 0;
      if (now.buffer != r.general.buffer) return Unknown("LOOP", "an address changes its buffer in a loop of open length");
      if (!ToLanes(data, m.width, &m.step)) return false;
      ops_.Settle(&m.step);
    }
  }
  restore();
  // The condition of iteration i, from that of i + 1; at iteration 0 it is the one at hand.
  Lanes go_on_now = go_on_next, go_on_zero = go_on_next;
  const std::vector<bool> decisive = HolesIn(go_on_next, members);
  const bool on_state = std::find(decisive.begin(), decisive.end(), true) != decisive.end();
  if (!on_state) {
    for (size_t a = 0; a < go_on_next.anchors.size(); ++a) {
      LaneAnchor& now = go_on_now.anchors[a];
      if ((now.symbolic & kMixed) != 0) return Unknown("LOOP", "the condition of a loop of open length differs in form between lanes");
      expr::Anchor part{};
      part.symbolic = now.symbolic;
      WordHasher unused(0);
      if (!TakeIteration(bit, iteration, &unused, &part)) return false;
      // What one iteration adds: all that the iteration multiplies.
      const SymbolicId with = symbolic_.Add(now.symbolic, symbolic_.Scale(part.symbolic, -1).id).id;
      int64_t step = 0;
      SymbolicId step_symbolic = 0;
      for (const auto& [id, factor] : std::vector<std::pair<AtomId, int64_t>>(symbolic_[with].terms)) {
        if (id == iteration) {
          step += factor;
          continue;
        }
        const Atom* atom = symbolic_.atom(id);
        if (atom->factors.size() != 2) return Unknown("LOOP", "the condition of a loop of open length is not affine");
        const AtomId other = atom->factors[0] == iteration ? atom->factors[1] : atom->factors[0];
        step_symbolic = symbolic_.Add(step_symbolic, symbolic_.Scale(symbolic_.FromAtom(other).id, factor).id).id;
      }
      now.constant -= step;
      now.symbolic = symbolic_.Add(now.symbolic, symbolic_.Scale(step_symbolic, -1).id).id;
      go_on_zero.anchors[a] = now;
      go_on_zero.anchors[a].symbolic = symbolic_.Add(part.symbolic, symbolic_.Scale(step_symbolic, -1).id).id;
    }
    if (go_on_zero.nodes != go_on_first.nodes || go_on_zero.anchors != go_on_first.anchors)
      return Unknown("LOOP", "the condition of a loop of open length does not repeat itself");
  } else {
    // A condition on the state itself: its first value is kept beside its step.
    LoopMember m;
    m.width = 1;
    m.first = go_on_first;
    m.step = go_on_next;
    m.hole = HoleOf(members.size(), own_lane);
    go_on_now = m.hole;
    members.push_back(std::move(m));
  }
  // Each register that the loop changes: what it holds at the end, with the members that it takes part with.
  std::vector<std::vector<bool>> uses;
  for (const LoopMember& m : members) uses.push_back(HolesIn(m.step, members));
  const std::vector<bool> in_condition = HolesIn(go_on_now, members);
  for (const Register& r : written) {
    if (r.kind == Register::Kind::kInvariant) continue;
    const uint32_t reg = r.index - first;
    if (r.kind == Register::Kind::kDead) {
      Undefine(r.index);
      continue;
    }
    Lanes result;
    Value value = r.general;
    value.buffer = 0;
    if (!ToLanes(value, r.general.width, &result)) return false;
    std::vector<bool> wanted = HolesIn(result, members);
    for (size_t m = 0; m < members.size(); ++m) wanted[m] = wanted[m] || in_condition[m];
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t m = 0; m < members.size(); ++m)
        for (size_t k = 0; wanted[m] && k < members.size(); ++k)
          if (uses[m][k] && !wanted[k]) wanted[k] = grown = true;
    }
    std::vector<LoopMember> system;
    for (size_t m = 0; m < members.size(); ++m)
      if (wanted[m]) system.push_back(members[m]);
    if (system.size() > kMaxMembers) {
      Undefine(r.index);
      continue;
    }
    const int lane = space_.First(exec_);
    std::stable_sort(system.begin(), system.end(), [&](const LoopMember& a, const LoopMember& b) {
      return nodes_[ops_.At(a.step, lane).node].digest < nodes_[ops_.At(b.step, lane).node].digest;
    });
    Lanes folded;
    if (!FoldValue(system, go_on_now, result, r.general.width, bit, iteration, &folded)) return false;
    Value end_value = Value::Bits(std::move(folded), r.general.width);
    end_value.buffer = r.general.buffer;
    if (!SetRegister(reg, std::move(end_value))) return false;
  }
  Assume("loops of open length end");
  fibers[which].pc = fiber.pc + 1;
  return true;
}

}  // namespace samebits::symexec
