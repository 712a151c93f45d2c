// Addresses of an open grid. Into each buffer one open argument steps, its stride: in byte offsets it counts as a number
// far above every constant, so that rows and columns keep their distances, lanes differ by numbers, and a tile has one
// anchor whatever the stride is.

#include <algorithm>

#include "core/symexec/machine.h"

namespace samebits::symexec {

namespace {

// An offset is c + k * stride per open term, with |c| and |k| below these; differences of two stay decodable, and
// shifts of nodes have 56 bits.
constexpr int64_t kMaxPlain = int64_t{1} << 31, kMaxSteps = int64_t{1} << 18;

bool Within(int64_t v, int64_t bound) { return v < bound && v > -bound; }

bool IsArgument(AtomId id) { return id >= kFirstParamAtom && id < kFirstDerivedAtom; }

}  // namespace

// The argument that steps through the buffer: the first that an address asks for, one that meets a lane before others.
AtomId Machine::StrideOf(expr::BufferId buffer, SymbolicId address) {
  if (result_.strides.size() <= buffer) result_.strides.resize(buffer + 1, 0);
  AtomId& stride = result_.strides[buffer];
  if (stride != 0) return stride;
  AtomId with_lanes = 0, other = 0;
  const auto consider = [](AtomId id, AtomId* least) {
    if (IsArgument(id) && (*least == 0 || id < *least)) *least = id;
  };
  for (const auto& [id, factor] : symbolic_[address].terms) {
    const Atom* atom = symbolic_.atom(id);
    if (atom == nullptr) continue;
    if (atom->lanes != 0) consider(atom->of, &with_lanes);
    consider(id, &other);
    for (const AtomId f : atom->factors) consider(f, &other);
  }
  stride = with_lanes != 0 ? with_lanes : other;
  return stride;
}

bool Machine::PlaceAddress(const Address& a, int64_t offset, LaneAnchor* out) {
  const Value& v = a.value;
  *out = {v.array, v.symbolic, v.constant + offset};
  if (launch_.grid_known || !symbolic_.HasTerms(v.symbolic)) return true;
  const AtomId stride = StrideOf(a.buffer, v.symbolic);
  if (stride == 0) return true;
  const auto far = [this] { return Unknown("OPEN_SIZE", "an address is too far from its buffer's other addresses"); };
  const LaneSpace::ArrayInfo& lanes = space_.info(v.array);
  if (!Within(out->constant, kMaxPlain / 2) || !Within(lanes.min, kMaxPlain / 2) || !Within(lanes.max, kMaxPlain / 2)) return far();
  Value rest = Value::Int(out->constant, 64);
  rest.array = v.array;
  const auto terms = symbolic_[v.symbolic].terms;
  rest.symbolic = symbolic_.WithoutTerms(v.symbolic).id;
  int64_t steps_lo = 0, steps_hi = 0;
  for (const auto& [id, factor] : terms) {
    const Atom atom = symbolic_.atom(id) == nullptr ? Atom{} : *symbolic_.atom(id);
    if (id == stride || (atom.lanes != 0 && atom.of == stride)) {
      if (!Within(factor, kMaxSteps)) return far();
      if (id == stride) {
        rest.constant += factor * kStrideStep;
        steps_lo += factor;
        steps_hi += factor;
      } else {
        const LaneSpace::ArrayInfo& own = space_.info(atom.lanes);
        if (!Within(own.min, kMaxSteps) || !Within(own.max, kMaxSteps)) return far();
        rest.array = space_.Add(rest.array, space_.Scale(atom.lanes, factor * kStrideStep));
        steps_lo += factor * (factor > 0 ? own.min : own.max);
        steps_hi += factor * (factor > 0 ? own.max : own.min);
      }
      continue;
    }
    const auto uses = std::count(atom.factors.begin(), atom.factors.end(), stride);
    const int64_t bound = uses == 1 ? kMaxSteps : kMaxPlain;
    if (!Within(factor, bound)) return far();
    AtomId step = id;
    int64_t length = factor;
    if (uses == 1) {
      // others * stride: others, by the stride's number.
      Atom others = atom;
      others.factors.erase(std::find(others.factors.begin(), others.factors.end(), stride));
      step = others.factors[0];
      if (others.factors.size() > 1) step = ProductAtom(std::move(others.factors));
      length = factor * kStrideStep;
    }
    rest.symbolic = symbolic_.Add(rest.symbolic, symbolic_.Scale(symbolic_.FromAtom(step).id, length).id).id;
  }
  if (!Within(steps_lo, kMaxSteps) || !Within(steps_hi, kMaxSteps)) return far();
  *out = AnchorOf(rest);
  return true;
}

}  // namespace samebits::symexec
