#include "core/canonical/exp_terms.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace samebits::canonical {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Scalar;

namespace {

constexpr size_t kMaxMembers = 1u << 16;
constexpr int kMaxVisited = 64;  // values of a sum looked through

bool IsPlain(uint64_t word, uint64_t extra = 0) {
  const Attr attr = Attr::Decode(word);
  return attr.to == Format::kF32 && (attr.flags & ~(Attr::kFtz | Attr::kContract | extra)) == 0;
}

}  // namespace

bool ExpTerms::IsMinusInfinity(const Scalar& s) const {
  uint64_t value;
  return nodes_.IsConst(s.node, &value) && value == kMinusInfinity;
}

bool ExpTerms::IsFinite(const Scalar& s) const {
  uint64_t bits;
  return nodes_.IsConst(s.node, &bits) && std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

bool ExpTerms::IsFactor(const Scalar& s) const {
  uint64_t bits;
  if (!nodes_.IsConst(s.node, &bits)) return false;
  const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
  return value > 0 && std::isnormal(value);
}

// A finite constant, or one of two.
bool ExpTerms::IsFiniteChoice(const Scalar& s) const {
  if (nodes_[s.node].fn != Fn::kSelect) return IsFinite(s);
  return nodes_[s.node].width == 32 && IsFinite(nodes_.ChildScalar(s, 1)) && IsFinite(nodes_.ChildScalar(s, 2));
}

bool ExpTerms::IsScaling(uint64_t attr, int width) const {
  const expr::IsaOperation* operation = width == 32 ? nodes_.isa(attr) : nullptr;
  return operation != nullptr && operation->spelling == "v_ldexp_f32";
}

bool ExpTerms::IsScaling(expr::NodeId id) const {
  const expr::Node& n = nodes_[id];
  return n.fn == Fn::kIsa && n.children == 2 && IsScaling(n.attr, n.width);
}

bool ExpTerms::Match(const Scalar& term, Parts* out) const {
  const Scalar power = IsScaling(term.node) ? nodes_.ChildScalar(term, 0) : term;
  const expr::Node& exp = nodes_[power.node];
  if (exp.fn != Fn::kEx2 || exp.width != 32) return false;
  Scalar difference = nodes_.ChildScalar(power, 0);
  if (const expr::Node& moved = nodes_[difference.node]; moved.fn == Fn::kFAdd && IsPlain(moved.attr)) {
    const Scalar a = nodes_.ChildScalar(difference, 0), b = nodes_.ChildScalar(difference, 1);
    if (IsFiniteChoice(a)) difference = b;
    else if (IsFiniteChoice(b)) difference = a;
  }
  const expr::Node& scaled = nodes_[difference.node];
  if (scaled.fn == Fn::kFMul || scaled.fn == Fn::kFFma) {
    if (!IsPlain(scaled.attr)) return false;
    if (scaled.fn == Fn::kFFma && !IsFiniteChoice(nodes_.ChildScalar(difference, 2))) return false;
    const Scalar a = nodes_.ChildScalar(difference, 0), b = nodes_.ChildScalar(difference, 1);
    if (IsFactor(a)) difference = b;
    else if (IsFactor(b)) difference = a;
    else return false;
  }
  const expr::Node& sub = nodes_[difference.node];
  if (sub.fn != Fn::kFAdd || !IsPlain(sub.attr)) return false;
  for (int i = 0; i < 2; ++i) {
    const Scalar flip = nodes_.ChildScalar(difference, i);
    if (nodes_[flip.node].fn != Fn::kSignFlip || nodes_[flip.node].width != 32) continue;
    out->max = nodes_.ChildScalar(flip, 0);
    const expr::Node& max = nodes_[out->max.node];
    if (max.fn != Fn::kFMax || !IsPlain(max.attr, Attr::kNanFlag)) continue;
    out->x = nodes_.ChildScalar(difference, 1 - i);
    return true;
  }
  return false;
}

// Elements are found once per maximum, by walking what it was joined from.
bool ExpTerms::IsMember(const Scalar& element, const Scalar& max) {
  auto [it, is_new] = members_.try_emplace(max.node);
  if (is_new) {
    struct Visit {
      expr::NodeId node;
      std::array<uint8_t, expr::kMaxSlots> slot;
      std::array<int64_t, expr::kMaxSlots> shift;
    };
    const expr::Node root = nodes_[max.node];
    Visit start{max.node, {}, {}};
    for (int i = 0; i < root.slots; ++i) start.slot[i] = static_cast<uint8_t>(i);
    std::vector<Visit> stack{start};
    for (size_t visited = 0; !stack.empty() && visited < 2 * kMaxMembers; ++visited) {
      const Visit v = stack.back();
      stack.pop_back();
      const expr::Node& n = nodes_[v.node];
      if (n.fn != root.fn || n.attr != root.attr || n.width != root.width) {
        Member member{v.node};
        for (int i = 0; i < n.slots; ++i) member.insert(member.end(), {v.slot[i], static_cast<uint64_t>(v.shift[i])});
        it->second.insert(std::move(member));
        continue;
      }
      for (int c = 0; c < 2; ++c) {
        const expr::ChildRef child = nodes_.child(v.node, c);
        Visit next{child.node, {}, {}};
        for (int i = 0; i < child.slots; ++i) {
          next.slot[i] = v.slot[child.parent_slot(i)];
          next.shift[i] = v.shift[child.parent_slot(i)] + child.shift(i);
        }
        stack.push_back(next);
      }
    }
  }
  Member member{element.node};
  for (int i = 0; i < element.slots; ++i) {
    int slot = 0;
    while (slot < max.slots && (max.anchor[slot].buffer != element.anchor[i].buffer ||
                                max.anchor[slot].symbolic != element.anchor[i].symbolic))
      ++slot;
    if (slot == max.slots) return false;
    member.insert(member.end(), {static_cast<uint64_t>(slot),
                                 static_cast<uint64_t>(element.anchor[i].offset - max.anchor[slot].offset)});
  }
  return it->second.contains(member);
}

bool ExpTerms::PoisonedBy(const Scalar& max, const Scalar& value) {
  std::vector<Scalar> stack{value};
  for (int visited = 0; !stack.empty() && visited < kMaxVisited; ++visited) {
    const Scalar s = stack.back();
    stack.pop_back();
    const expr::Node& n = nodes_[s.node];
    Parts parts;
    if (n.fn == Fn::kEx2 || n.fn == Fn::kIsa) {
      if (Match(s, &parts) && expr::Same(parts.max, max) && (IsMinusInfinity(parts.x) || IsMember(parts.x, max))) return true;
    } else if ((n.fn == Fn::kFAdd || n.fn == Fn::kFMul || n.fn == Fn::kFFma) && IsPlain(n.attr)) {
      for (int i = 0; i < n.children; ++i) stack.push_back(nodes_.ChildScalar(s, i));
    }
  }
  return false;
}

bool ExpTerms::Vanishes(const Scalar& term, const Scalar& sum) {
  Scalar bare = term;
  if (const expr::Node& n = nodes_[term.node]; n.fn == Fn::kFMul && IsPlain(n.attr)) {
    const Scalar a = nodes_.ChildScalar(term, 0), b = nodes_.ChildScalar(term, 1);
    if (IsFactor(a)) bare = b;
    else if (IsFactor(b)) bare = a;
  }
  Parts parts;
  return Match(bare, &parts) && IsMinusInfinity(parts.x) && PoisonedBy(parts.max, sum);
}

}  // namespace samebits::canonical
