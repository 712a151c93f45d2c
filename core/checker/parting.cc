#include "core/checker/parting.h"

#include <algorithm>
#include <tuple>

namespace samebits::checker {

using expr::Fn;
using expr::Scalar;

namespace {

constexpr uint64_t kMaxElements = 1ull << 22;

bool SameValue(const Scalar& a, const Scalar& b) {
  if (a.node != b.node) return false;
  for (int i = 0; i < a.slots; ++i)
    if (a.anchor[i].offset != b.anchor[i].offset) return false;
  return true;
}

// Whether two elements hold the same at `bytes` bytes from `address` where they hold constants or memory, which have no
// width of their own.
bool SameBytes(const expr::NodeManager& nodes, const Parting& p) {
  const Scalar &a = p.value_a, &b = p.value_b;
  if (p.a->store->guarded || p.b->store->guarded) return false;
  const Fn fn = nodes[a.node].fn;
  if (nodes[b.node].fn != fn) return false;
  const int64_t shift_a = p.address - p.a->address, shift_b = p.address - p.b->address;
  if (fn == Fn::kLeaf) return a.node == b.node && a.anchor[0].offset + shift_a == b.anchor[0].offset + shift_b;
  if (fn != Fn::kConst) return false;
  for (uint32_t i = 0; i < p.bytes; ++i) {
    const auto byte = [i](uint64_t bits, int64_t shift) {
      const int64_t at = shift + i;
      return at < 8 ? bits >> (8 * at) & 255 : 0;
    };
    if (byte(nodes[a.node].attr, shift_a) != byte(nodes[b.node].attr, shift_b)) return false;
  }
  return true;
}

// Takes operands away that both sides have, at the same place or at places that may be exchanged.
void TakeCommon(Fn fn, std::vector<Scalar>* a, std::vector<Scalar>* b) {
  const size_t exchangeable = expr::IsCommutative(fn) || expr::IsAssociative(fn) ? a->size() : fn == Fn::kFFma ? 2 : 0;
  std::vector<Scalar> p, q;
  std::vector<bool> taken(b->size(), false);
  for (size_t i = 0; i < a->size(); ++i) {
    const size_t begin = i < exchangeable ? 0 : i, end = i < exchangeable ? exchangeable : i + 1;
    bool found = false;
    for (size_t j = begin; j < end && !found; ++j)
      if (!taken[j] && SameValue((*a)[i], (*b)[j])) found = taken[j] = true;
    if (!found) p.push_back((*a)[i]);
  }
  for (size_t j = 0; j < b->size(); ++j)
    if (!taken[j]) q.push_back((*b)[j]);
  *a = std::move(p);
  *b = std::move(q);
}

// The elements of a buffer by address; of several at one address the one that stays.
bool Sorted(const Check& c, expr::BufferId buffer, std::vector<Element>* out) {
  if (!MapBuilder::Enumerate(c.classes, *c.space, buffer, kMaxElements, out)) return false;
  const auto less = [](const Element& x, const Element& y) {
    return std::tuple(x.terms, x.address, x.store->block_epoch, x.store->order) <
           std::tuple(y.terms, y.address, y.store->block_epoch, y.store->order);
  };
  if (!std::is_sorted(out->begin(), out->end(), less)) std::stable_sort(out->begin(), out->end(), less);
  size_t kept = 0;
  for (size_t i = 0; i < out->size(); ++i)
    if (i + 1 == out->size() || (*out)[i + 1].address != (*out)[i].address || (*out)[i + 1].terms != (*out)[i].terms)
      (*out)[kept++] = (*out)[i];
  out->resize(kept);
  return true;
}

}  // namespace

std::vector<expr::BufferId> DifferingBuffers(const Check& a, const Check& b) {
  std::vector<expr::BufferId> buffers;
  for (const auto& [buffer, map] : a.maps)
    if (const auto it = b.maps.find(buffer); it == b.maps.end() || it->second.sum != map.sum) buffers.push_back(buffer);
  for (const auto& [buffer, map] : b.maps)
    if (a.maps.count(buffer) == 0) buffers.push_back(buffer);
  std::sort(buffers.begin(), buffers.end());
  return buffers;
}

bool WalkPartings(const Check& a, const Check& b, Workspace* workspace, expr::BufferId buffer,
                  const std::function<bool(const Parting&)>& found, const std::function<void()>& end_walk) {
  std::vector<Element> x, y;
  if (!Sorted(a, buffer, &x) || !Sorted(b, buffer, &y)) return false;
  MapBuilder maps_a(&workspace->builder, a.space.get(), a.launch.grid_known);
  MapBuilder maps_b(&workspace->builder, b.space.get(), b.launch.grid_known);
  const bool known = a.launch.grid_known && b.launch.grid_known;  // what elements add to the sums can be compared
  size_t i = 0, j = 0;
  int64_t done = INT64_MIN;  // bytes before it are compared
  uint64_t terms = 0;        // elements with other open terms are elsewhere
  while (i < x.size() || j < y.size()) {
    const uint64_t terms_x = i < x.size() ? x[i].terms : UINT64_MAX, terms_y = j < y.size() ? y[j].terms : UINT64_MAX;
    if (const uint64_t least = std::min(terms_x, terms_y); least != terms) {
      terms = least;
      done = INT64_MIN;
    }
    const bool has_x = i < x.size() && terms_x == terms, has_y = j < y.size() && terms_y == terms;
    const int64_t end_x = has_x ? x[i].address + x[i].bytes : INT64_MAX;
    const int64_t end_y = has_y ? y[j].address + y[j].bytes : INT64_MAX;
    const int64_t begin_x = has_x ? std::max(done, x[i].address) : INT64_MAX;
    const int64_t begin_y = has_y ? std::max(done, y[j].address) : INT64_MAX;
    Parting p;
    p.buffer = buffer;
    p.address = std::min(begin_x, begin_y);
    int64_t end;
    if (begin_x == begin_y) {
      end = std::min(end_x, end_y);
      p.a = &x[i];
      p.b = &y[j];
    } else if (begin_x < begin_y) {
      end = std::min(end_x, begin_y);
      p.a = &x[i];
    } else {
      end = std::min(end_y, begin_x);
      p.b = &y[j];
    }
    p.bytes = static_cast<uint32_t>(end - p.address);
    if (p.a != nullptr) p.value_a = maps_a.ElementValue(*p.a);
    if (p.b != nullptr) p.value_b = maps_b.ElementValue(*p.b);
    const bool alike = p.a != nullptr && p.b != nullptr && p.a->address == p.b->address && p.a->bytes == p.b->bytes;
    const bool same = (alike && (SameValue(p.value_a, p.value_b) ||
                                 (known && maps_a.ElementTerm(*p.a) == maps_b.ElementTerm(*p.b)))) ||
                      (p.a != nullptr && p.b != nullptr && SameBytes(workspace->nodes, p));
    if (!same && !found(p)) break;
    done = end;
    if (has_x && end >= end_x) ++i;
    if (has_y && end >= end_y) ++j;
  }
  if (end_walk) end_walk();
  return true;
}

void DescendToParting(const expr::NodeManager& nodes, Scalar* a, Scalar* b) {
  for (int depth = 0; depth < 100000; ++depth) {
    const expr::Node &x = nodes[a->node], &y = nodes[b->node];
    if (x.fn != y.fn || x.attr != y.attr || x.width != y.width || x.children != y.children || x.children == 0) return;
    std::vector<Scalar> p, q;
    for (int i = 0; i < x.children; ++i) {
      p.push_back(nodes.ChildScalar(*a, i));
      q.push_back(nodes.ChildScalar(*b, i));
    }
    TakeCommon(x.fn, &p, &q);
    if (p.size() != 1) return;
    *a = p[0];
    *b = q[0];
  }
}

}  // namespace samebits::checker
