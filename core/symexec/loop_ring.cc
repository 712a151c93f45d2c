// Loops of open trip count that keep tiles in a ring of shared memory: asynchronous copies fill the tile of a later trip
// while matrix instructions read this trip's.
//
// The state between two trips returns to its form after a period of S trips, with addresses moved on. The proof:
//  - 2 S trips run from the state at hand, each under the condition that led to it. Each accumulator is a hole at the
//    start of a trip; its value at the end is its step.
//  - The states before trips S and 2 S lie on a line: registers, contents of shared memory, conditions of copies and of
//    the loop move by so much in S trips. The general state after S + S q trips is the point q of that line.
//  - S trips from the general state must lead exactly to point q + 1, and what orders later accesses of shared memory
//    must be what it was. So by induction every trip is one of the S general ones, or one of the first S.
//  - All 3 S steps of each accumulator, and all conditions, must be one expression that is affine in the trip's number.
// After the loop shared memory counts as unknown and in use (SharedMemory::Owe). Anything not proved is UNKNOWN.

#include <algorithm>
#include <map>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;
using isa::ptx::Op;

namespace {

constexpr size_t kMaxPeriod = 6;
constexpr size_t kMaxCoupled = 8;  // members of one system

}  // namespace

struct Machine::RingState {
  std::vector<Value> registers;
  std::vector<MaskId> defined;
  std::vector<uint32_t> in_flight, matrix_sources, unfenced, matrix_fences;
  SharedMemory shared;
  bool matrix_in_use = false;
};

struct Machine::Ring {
  const Fiber* fiber = nullptr;
  const Inst* branch = nullptr;
  uint32_t first = 0, end = 0;              // registers of the function
  std::vector<uint32_t> written;            // by some trip, ascending
  std::vector<uint32_t> carried;            // of these: read before written, and no members
  std::vector<uint32_t> member_registers;
  std::vector<LoopMember> members;
  std::vector<RingState> states;            // before trip t
  std::vector<std::vector<Lanes>> steps;    // of trip t, per member
  std::vector<Lanes> conditions;            // under which trip t runs
  std::vector<uint32_t> register_order;     // RegisterOrder before and after each trip
  bool copies_pending = false, matrix_pending = false;  // between some trips
  size_t period = 0;
  AtomId group = 0;                         // q
  AtomId trip = 0;
};

// The loop's text holds asynchronous copies or warpgroup instructions.
bool Machine::CopiesBetween(uint32_t from, uint32_t to) const {
  for (uint32_t pc = from; pc <= to; ++pc) {
    const auto op = function_->instructions[pc].op;
    if (op == Op::kCpAsync || op == Op::kWgmmaMmaAsync) return true;
  }
  return false;
}

Machine::RingState Machine::CaptureRing() const {
  return {registers_, defined_, in_flight_, matrix_sources_, unfenced_, matrix_fences_, shared_, matrix_in_use_};
}

void Machine::RestoreRing(const RingState& s) {
  registers_ = s.registers;
  defined_ = s.defined;
  in_flight_ = s.in_flight;
  matrix_sources_ = s.matrix_sources;
  unfenced_ = s.unfenced;
  matrix_fences_ = s.matrix_fences;
  shared_ = s.shared;
  matrix_in_use_ = s.matrix_in_use;
}

// Depends on what an open loop carries on.
bool Machine::HoldsState(const Scalar& s) const {
  for (int i = 0; i < s.slots; ++i)
    if (s.anchor[i].buffer == hole_buffer_ && s.anchor[i].symbolic != 0) return true;
  return false;
}

// What matrix instructions under way do to registers, relative to now.
std::vector<uint32_t> Machine::RegisterOrder() const {
  std::vector<uint32_t> order;
  const size_t groups = shared_.matrix.size();
  if (!has_wgmma_) return order;
  order.reserve(in_flight_.size());
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    const size_t g = i % groups;
    const auto pending = [&](uint32_t group) {
      return group > shared_.matrix[g].completed ? 1 + shared_.matrix[g].issued - group : 0;
    };
    order.push_back(pending(in_flight_[i]));
    order.push_back(pending(matrix_sources_[i]) << 1 | (unfenced_[i] > matrix_fences_[g] ? 1 : 0));
  }
  return order;
}

bool Machine::AllCommitted() const {
  for (const auto* groups : {&shared_.copies, &shared_.matrix})
    for (const AsyncGroups& g : *groups)
      if (g.uncommitted) return false;
  return true;
}

// One trip from the state at hand, which runs since `condition` holds.
bool Machine::RunTrip(Ring* ring, const Lanes& condition, std::vector<Lanes>* steps, Lanes* go_on) {
  Scalar unknown;
  unknown.node = nodes_.Undef();
  shared_.ForgetWhere([this](const Scalar& s) { return HoldsState(s); }, unknown);
  shared_.Discharge(ops_.At(condition, 0));
  if (steps != nullptr) {
    for (const uint32_t r : ring->written) {
      if (std::binary_search(ring->carried.begin(), ring->carried.end(), r)) continue;
      registers_[r] = Value{};
      defined_[r] = kNoLanes;
    }
  }
  for (size_t m = 0; m < ring->members.size(); ++m) {
    defined_[ring->member_registers[m]] = kAllLanes;
    Value& v = registers_[ring->member_registers[m]];
    v = Value::Bits(ring->members[m].hole, ring->members[m].width);
  }
  std::vector<Undo> log;
  in_ring_ = true;
  const bool ok = RunLoopBody(*ring->fiber, *ring->branch, true, &log, go_on);
  in_ring_ = false;
  if (!ok) return false;
  if (!SharedByLanes(*go_on)) return Unknown("LOOP", "lanes of a block leave a loop with barriers apart");
  if (!AllCommitted()) return Unknown("LOOP", "copies or matrix instructions of a loop are not committed in their trip");
  for (const Undo& u : log) {
    if (u.reg < ring->first || u.reg >= ring->end) continue;
    const auto at = std::lower_bound(ring->written.begin(), ring->written.end(), u.reg);
    if (at != ring->written.end() && *at == u.reg) continue;
    if (steps != nullptr) return Unknown("LOOP", "a loop of open length does not repeat itself");
    ring->written.insert(at, u.reg);
  }
  if (steps == nullptr) return true;
  steps->resize(ring->members.size());
  for (size_t m = 0; m < ring->members.size(); ++m) {
    const uint32_t r = ring->member_registers[m];
    if (defined_[r] != kAllLanes || !ToLanes(registers_[r], ring->members[m].width, &(*steps)[m])) return Unknown("LOOP", "an accumulator of a loop is lost");
    ops_.Settle(&(*steps)[m]);
  }
  for (const uint32_t r : ring->carried)
    for (const Piece& p : registers_[r].pieces)
      for (int l = 0; l < space_.lanes(); ++l)
        if (HoldsState(ops_.At(p.lanes, l))) return Unknown("LOOP", "a register of a loop that copies depends on another's state");
  ring->copies_pending |= shared_.CopiesPending();
  ring->matrix_pending |= shared_.MatrixPending();
  if (ring->register_order != RegisterOrder()) return Unknown("LOOP", "matrix instructions of a loop overlap in no repeating way");
  return true;
}

// here + (later - here) * q, or * (q + 1).
bool Machine::AlongRing(const Ring& ring, const Scalar& here, const Scalar& later, bool next, Scalar* out) {
  if (here.node != later.node || HoldsState(here)) return false;
  *out = here;
  for (int i = 0; i < here.slots; ++i) {
    const expr::Anchor &a = here.anchor[i], &b = later.anchor[i];
    if (a.offset == b.offset && a.symbolic == b.symbolic) continue;
    Value step = Value::Int(b.offset - a.offset, 64), moved = Value::Int(a.offset, 64);
    step.symbolic = symbolic_.Add(b.symbolic, symbolic_.Scale(a.symbolic, -1).id).id;
    if (!symbolic_[step.symbolic].table.empty()) return false;
    moved.symbolic = a.symbolic;
    if (!Advance(step, symbolic_.FromAtom(ring.group).id, &moved)) return false;
    if (next) {
      const Value before = moved;
      if (!IntAdd(before, step, 64, &moved)) return false;
    }
    out->anchor[i].offset = moved.constant;
    out->anchor[i].symbolic = moved.symbolic;
  }
  return true;
}

bool Machine::AlongRing(const Ring& ring, const Lanes& here, const Lanes& later, bool next, Lanes* out) {
  std::vector<Scalar> lanes(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l)
    if (!AlongRing(ring, ops_.At(here, l), ops_.At(later, l), next, &lanes[l])) return false;
  *out = ops_.Pack(lanes);
  return true;
}

bool Machine::AlongRing(const Ring& ring, const Value& here, const Value& later, bool next, Value* out) {
  *out = here;
  if (SameValue(here, later)) return true;
  if (here.kind != later.kind || here.width != later.width || here.buffer != later.buffer) return false;
  if (here.is_bits()) {
    if (here.buffer != 0 || here.pieces.size() != later.pieces.size()) return false;
    for (size_t p = 0; p < here.pieces.size(); ++p)
      if (here.pieces[p].bits != later.pieces[p].bits ||
          !AlongRing(ring, here.pieces[p].lanes, later.pieces[p].lanes, next, &out->pieces[p].lanes))
        return false;
    return true;
  }
  if (!here.is_int() || here.array != later.array) return false;
  Value step = Value::Int(static_cast<int64_t>(static_cast<uint64_t>(later.constant) - static_cast<uint64_t>(here.constant)), here.width);
  step.symbolic = symbolic_.Add(later.symbolic, symbolic_.Scale(here.symbolic, -1).id).id;
  if (!symbolic_[step.symbolic].table.empty() || !Advance(step, symbolic_.FromAtom(ring.group).id, out)) return false;
  if (!next) return true;
  const Value before = *out;
  return IntAdd(before, step, before.width, out);
}

// One expression of the trip's number for the values of trips 0, 1, ... and of the general trips S + S q + r.
bool Machine::InTrips(const Ring& ring, const std::vector<Lanes>& actual, const std::vector<Lanes>& general, Lanes* out) {
  const int64_t period = static_cast<int64_t>(ring.period);
  struct Part {
    bool ok = false;
    SymbolicId base = 0, step_symbolic = 0;
    int64_t step = 0;
  };
  std::map<SymbolicId, Part> parts;
  // A general form without q, and what one trip adds.
  const auto part_of = [&](SymbolicId id) -> const Part& {
    const auto [it, fresh] = parts.try_emplace(id);
    Part& p = it->second;
    if (!fresh) return p;
    p.base = id;
    const auto terms = symbolic_[id].terms;
    for (const auto& [atom_id, factor] : terms) {
      const Atom* atom = symbolic_.atom(atom_id);
      if (atom == nullptr || (atom->dimensions >> kRingBit & 1) == 0) continue;
      if (factor % period != 0) return p;
      if (atom_id == ring.group) {
        p.step += factor / period;
      } else {
        std::vector<AtomId> others = atom->factors;
        const auto at = std::find(others.begin(), others.end(), ring.group);
        if (at == others.end()) return p;
        others.erase(at);
        const AtomId step = others.size() == 1 ? others[0] : ProductAtom(others);
        if ((symbolic_.atom(step)->dimensions >> kRingBit & 1) != 0) return p;
        p.step_symbolic = symbolic_.Add(p.step_symbolic, symbolic_.Scale(symbolic_.FromAtom(step).id, factor / period).id).id;
      }
      p.base = symbolic_.Add(p.base, symbolic_.Scale(symbolic_.FromAtom(atom_id).id, -factor).id).id;
    }
    p.ok = true;
    return p;
  };
  const auto minus = [&](int64_t trips, const Part& p, expr::Anchor* a) {
    a->offset -= trips * p.step;
    a->symbolic = symbolic_.Add(a->symbolic, symbolic_.Scale(p.step_symbolic, -trips).id).id;
  };
  std::vector<Scalar> lanes(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) {
    const Scalar form = ops_.At(general[0], l);
    Scalar base = form;
    for (int i = 0; i < form.slots; ++i) {
      const Part& p = part_of(form.anchor[i].symbolic);
      if (!p.ok) return false;
      base.anchor[i].symbolic = p.base;
      minus(period, p, &base.anchor[i]);
    }
    for (size_t r = 1; r < general.size(); ++r) {
      Scalar own = ops_.At(general[r], l);
      if (own.node != form.node) return false;
      for (int i = 0; i < own.slots; ++i) {
        const Part &p = part_of(own.anchor[i].symbolic), &q = part_of(form.anchor[i].symbolic);
        if (!p.ok || p.step != q.step || p.step_symbolic != q.step_symbolic) return false;
        own.anchor[i].symbolic = p.base;
        minus(period + static_cast<int64_t>(r), p, &own.anchor[i]);
      }
      if (!expr::Same(own, base)) return false;
    }
    for (size_t t = 0; t < actual.size(); ++t) {
      Scalar own = ops_.At(actual[t], l);
      if (own.node != form.node) return false;
      for (int i = 0; i < own.slots; ++i) minus(static_cast<int64_t>(t), part_of(form.anchor[i].symbolic), &own.anchor[i]);
      if (!expr::Same(own, base)) return false;
    }
    for (int i = 0; i < form.slots; ++i) {
      const Part& p = part_of(form.anchor[i].symbolic);
      Value step = Value::Int(p.step, 64), moved = Value::Int(base.anchor[i].offset, 64);
      step.symbolic = p.step_symbolic;
      moved.symbolic = base.anchor[i].symbolic;
      if (!Advance(step, symbolic_.FromAtom(ring.trip).id, &moved)) return false;
      base.anchor[i].offset = moved.constant;
      base.anchor[i].symbolic = moved.symbolic;
    }
    lanes[l] = base;
  }
  *out = ops_.Pack(lanes);
  return true;
}

// The proof for one period. On success the registers hold what the loop leaves.
bool Machine::ProveRing(Ring* ring, size_t period) {
  ring->period = period;
  const RingState &here = ring->states[period], &later = ring->states[2 * period];
  const auto unproved = [this](const char* why) { return Unknown("LOOP", why); };
  RestoreRing(here);
  std::vector<Value> expected;
  for (const uint32_t r : ring->written) {
    if (!std::binary_search(ring->carried.begin(), ring->carried.end(), r)) continue;
    Value general, next;
    if (here.defined[r] != later.defined[r] || !AlongRing(*ring, here.registers[r], later.registers[r], false, &general) ||
        !AlongRing(*ring, here.registers[r], later.registers[r], true, &next))
      return unproved("a register of a loop of open length does not step evenly");
    registers_[r] = std::move(general);
    expected.push_back(std::move(next));
  }
  Scalar unknown;
  unknown.node = nodes_.Undef();
  const auto line = [&](bool next) {
    return [this, ring, next](const Scalar& a, const Scalar& b, Scalar* out) { return AlongRing(*ring, a, b, next, out); };
  };
  const SharedMemory goal = here.shared.Along(later.shared, line(true), unknown);
  shared_ = here.shared.Along(later.shared, line(false), unknown);
  const SharedMemory start = shared_;
  Lanes condition, next_condition;
  if (!AlongRing(*ring, ring->conditions[period], ring->conditions[2 * period], false, &condition) ||
      !AlongRing(*ring, ring->conditions[period], ring->conditions[2 * period], true, &next_condition))
    return unproved("the condition of a loop of open length does not repeat itself");
  std::vector<Lanes> conditions;
  std::vector<std::vector<Lanes>> steps(period);
  for (size_t r = 0; r < period; ++r) {
    conditions.push_back(condition);
    if (!RunTrip(ring, conditions[r], &steps[r], &condition)) return false;
  }
  for (size_t i = 0; i < ring->carried.size(); ++i) {
    const uint32_t r = ring->carried[i];
    Value now = registers_[r];
    now.width = expected[i].width;
    if (defined_[r] != here.defined[r] || !SameValue(now, expected[i]))
      return unproved("a register of a loop of open length does not step evenly");
  }
  if (condition.nodes != next_condition.nodes || condition.anchors != next_condition.anchors)
    return unproved("the condition of a loop of open length does not repeat itself");
  shared_.ForgetWhere([this](const Scalar& s) { return HoldsState(s); }, unknown);
  if (!shared_.Holds(goal, unknown.node)) return unproved("what a loop of open length keeps in shared memory does not repeat itself");
  if (!shared_.SameOrder(start)) return unproved("the order of accesses in a loop of open length does not repeat itself");
  Lanes go_on;
  const std::vector<Lanes> actual_conditions(ring->conditions.begin(), ring->conditions.begin() + static_cast<ptrdiff_t>(2 * period));
  if (!InTrips(*ring, actual_conditions, conditions, &go_on)) return unproved("the condition of a loop of open length is not affine in its trips");
  std::vector<Lanes> folded(ring->members.size()), actual(2 * period), general(period);
  for (size_t m = 0; m < ring->members.size(); ++m) {
    for (size_t t = 0; t < 2 * period; ++t) actual[t] = ring->steps[t][m];
    for (size_t r = 0; r < period; ++r) general[r] = steps[r][m];
    if (!InTrips(*ring, actual, general, &folded[m])) return unproved("the trips of a loop of open length do not compute the same");
  }
  return FinishRing(ring, go_on, folded);
}

// Registers after the loop: folds of the accumulators; what every trip left alike; the rest is unknown.
bool Machine::FinishRing(Ring* ring, const Lanes& go_on, const std::vector<Lanes>& steps) {
  const uint32_t bit = kFirstLoopBit + static_cast<uint32_t>(data_depth_);
  for (size_t m = 0; m < steps.size(); ++m) ring->members[m].step = steps[m];
  std::vector<std::vector<bool>> uses;
  for (const LoopMember& m : ring->members) uses.push_back(HolesIn(m.step, ring->members));
  const std::vector<bool> in_condition = HolesIn(go_on, ring->members);
  for (const uint32_t r : ring->written) {
    bool same = true;
    for (size_t t = 0; t < ring->states.size() && same; ++t)
      same = ring->states[t].defined[r] == defined_[r] && SameValue(ring->states[t].registers[r], registers_[r]);
    same = same && registers_[r].kind != Value::Kind::kUndef;
    for (const Piece& p : registers_[r].pieces)
      for (int l = 0; l < space_.lanes() && same; ++l) same = !HoldsState(ops_.At(p.lanes, l));
    if (same) continue;
    const auto at = std::find(ring->member_registers.begin(), ring->member_registers.end(), r);
    registers_[r] = Value{};
    defined_[r] = kNoLanes;
    if (at == ring->member_registers.end()) continue;
    const size_t own = static_cast<size_t>(at - ring->member_registers.begin());
    std::vector<bool> wanted = in_condition;
    wanted[own] = true;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t m = 0; m < wanted.size(); ++m)
        for (size_t k = 0; wanted[m] && k < wanted.size(); ++k)
          if (uses[m][k] && !wanted[k]) wanted[k] = grown = true;
    }
    std::vector<LoopMember> system;
    for (size_t m = 0; m < wanted.size(); ++m)
      if (wanted[m]) system.push_back(ring->members[m]);
    if (system.size() > kMaxCoupled) continue;
    std::stable_sort(system.begin(), system.end(), [&](const LoopMember& a, const LoopMember& b) {
      return nodes_[ops_.At(a.step, 0).node].digest < nodes_[ops_.At(b.step, 0).node].digest;
    });
    const LoopMember& member = ring->members[own];
    Lanes folded;
    if (!FoldValue(system, go_on, member.hole, member.width, bit, ring->trip, &folded)) return false;
    registers_[r] = Value::Bits(std::move(folded), member.width);
    defined_[r] = kAllLanes;
  }
  shared_.Owe(ring->copies_pending, ring->matrix_pending);
  Assume("loops of open length end");
  return true;
}

bool Machine::FoldRing(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition) {
  const Fiber fiber = fibers[which];
  if (data_depth_ > 0 || fibers.size() != 1 || fiber.mask != kAllLanes || fiber.frames.size() != 1 || !SharedByLanes(condition))
    return Unknown("LOOP", "a loop of open length with asynchronous copies that not all lanes of the block run together");
  FindHoleBuffer();
  exec_ = fiber.mask;
  Ring ring;
  ring.fiber = &fiber;
  ring.branch = &in;
  ring.first = first_register_;
  ring.end = first_register_ + static_cast<uint32_t>(function_->registers.size());
  ring.trip = TripCounter(304, kFirstLoopBit);
  ring.group = TripCounter(309, kRingBit);
  if (!AllCommitted()) return Unknown("LOOP", "copies or matrix instructions are not committed before a loop of open length");
  ring.register_order = RegisterOrder();
  ring.copies_pending = shared_.CopiesPending();
  ring.matrix_pending = shared_.MatrixPending();
  Lanes entering = condition, go_on;
  if (in.guard_negated && !Negate(&entering)) return false;
  // A first trip, to see what the loop carries on.
  const RingState start = CaptureRing();
  std::vector<uint8_t> first_use(registers_.size(), 0);
  first_use_ = &first_use;
  const bool ran = RunTrip(&ring, entering, nullptr, &go_on);
  first_use_ = nullptr;
  if (!ran) return false;
  const ArrayId own_lane = LaneNumbers();
  for (const uint32_t r : ring.written) {
    if (first_use[r] != 1) continue;
    const Value &before = start.registers[r], &after = registers_[r];
    if (before.kind == Value::Kind::kUndef || start.defined[r] != kAllLanes) continue;
    bool data = (before.is_bits() || after.is_bits()) && before.buffer == 0 && after.buffer == 0;
    if (data && before.is_bits() && after.is_bits() && before.pieces.size() == after.pieces.size()) {
      bool same_nodes = true;
      for (size_t p = 0; p < before.pieces.size(); ++p) same_nodes &= before.pieces[p].lanes.nodes == after.pieces[p].lanes.nodes;
      data = !same_nodes;
    }
    if (!data) {
      ring.carried.push_back(r);
      continue;
    }
    LoopMember m;
    m.width = before.width;
    if (!ToLanes(before, before.width, &m.first)) return false;
    ops_.Settle(&m.first);
    m.hole = HoleOf(ring.members.size(), own_lane);
    ring.members.push_back(std::move(m));
    ring.member_registers.push_back(r);
  }
  ring.states.push_back(start);
  ring.conditions.push_back(entering);
  RestoreRing(start);
  // Periods that the integers allow, shortest first; the stop that came latest says most.
  Stop best;
  uint64_t best_steps = 0;
  for (size_t period = 1; period <= kMaxPeriod; ++period) {
    while (ring.states.size() <= 2 * period) {
      RestoreRing(ring.states.back());
      ring.steps.emplace_back();
      if (!RunTrip(&ring, ring.conditions.back(), &ring.steps.back(), &go_on)) return false;
      ring.states.push_back(CaptureRing());
      ring.conditions.push_back(go_on);
    }
    const auto even = [&](uint32_t r) {
      const Value &a = ring.states[0].registers[r], &b = ring.states[period].registers[r], &c = ring.states[2 * period].registers[r];
      return !a.is_int() || !b.is_int() || !c.is_int() || b.constant - a.constant == c.constant - b.constant;
    };
    if (!std::all_of(ring.carried.begin(), ring.carried.end(), even)) continue;
    const size_t loads = result_.loads.size();
    const uint64_t steps = result_.steps;
    if (ProveRing(&ring, period)) {
      fibers[which].pc = fiber.pc + 1;
      return true;
    }
    if (result_.stop.kind != StopKind::kUnknown && result_.stop.kind != StopKind::kNondeterministic) return false;
    if (nodes_.exhausted() || result_.stop.code == "TIME_LIMIT" || result_.stop.code == "CANCELLED") return false;
    if (result_.steps - steps >= best_steps) {
      best_steps = result_.steps - steps;
      best = result_.stop;
    }
    result_.stop = Stop{};
    result_.loads.resize(loads);
    // What a stop inside a body leaves behind.
    in_ring_ = false;
    exec_ = fiber.mask;
    first_register_ = ring.first;
    function_ = &module_.functions[fiber.frames.back().function];
    current_ = &in;
  }
  if (best.kind == StopKind::kDone) return Unknown("LOOP", "a loop of open length with asynchronous copies has no period");
  if (best.kind == StopKind::kNondeterministic) best.kind = StopKind::kUnknown;
  result_.stop = std::move(best);
  return false;
}

}  // namespace samebits::symexec
