#include "core/gemm/hypothesis.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace samebits::gemm {
namespace {

using Kind = Hypothesis::Kind;

constexpr int64_t kMostShortTurn = 512;
constexpr int64_t kMostParts = 1024, kMostTile = 8192;

int64_t Tiles(int64_t n, int64_t span) { return (n + span - 1) / span; }

int64_t PartOf(const Hypothesis& h, int64_t n, int64_t x) {
  const int64_t tile = x / h.span;
  if (h.kind == Kind::kContiguous) return tile;
  if (h.kind == Kind::kStrided) return tile % h.count;
  if (h.kind == Kind::kRounds) return tile & ((int64_t{1} << h.count) - 1);
  const int64_t tiles = Tiles(n, h.span), few = tiles / h.count, larger = tiles % h.count;
  if (tile < larger * (few + 1)) return tile / (few + 1);
  return larger + (tile - larger * (few + 1)) / few;
}

// The end of the group that holds x.
int64_t GroupEnd(const Hypothesis& h, int64_t n, int64_t x) {
  if (x < h.count) return std::min(h.count, (x / h.span + 1) * h.span);
  return std::min(n, h.count + ((x - h.count) / h.span + 1) * h.span);
}

// Whether lane x meets lanes p and q no later than these meet each other.
bool RoundsAbsorb(const Hypothesis& h, int64_t p, int64_t q, int64_t x) {
  const uint64_t apart = static_cast<uint64_t>(p ^ q);
  if (h.order == MergeOrder::kAscending) {
    const uint64_t below = (apart & -apart) - 1;  // bits in which the lanes of the common part agree
    return ((p ^ x) & below) == 0;
  }
  const int top = std::bit_width(apart);
  return ((p ^ x) >> top) == 0;
}

// Whether part x meets parts p and q, which differ, no later than these meet each other, where lanes add the parts.
bool LanesAbsorb(int64_t sums, int64_t p, int64_t q, int64_t x) {
  const auto digits_p = LaneDigits(p, sums), digits_q = LaneDigits(q, sums), digits_x = LaneDigits(x, sums);
  size_t i = 0;
  for (; digits_p[i] == digits_q[i]; ++i) {
    if (digits_x[i] != digits_p[i]) return false;
  }
  return digits_x[i] <= std::max(digits_p[i], digits_q[i]);
}

void EnumerateChains(int64_t n, const HypothesisSpace& space, std::vector<Hypothesis>* all) {
  const auto add = [&](int64_t group, int64_t first) {
    all->push_back({Kind::kChain, MergeOrder::kAscending, group, first});
  };
  if (space.scalar) add(1, 0);
  if (!space.matrix) return;
  add(space.likely_group, 0);
  for (int64_t group = space.most_group; group >= 2; group /= 2) {
    if (group != space.likely_group) add(group, 0);
  }
  for (int64_t group = 2; group <= space.most_group; group *= 2) {
    for (int64_t first = 1; first < std::min(n, kMostShortTurn); ++first) {
      if (first % group != 0) add(group, first);
    }
  }
}

void EnumerateRounds(int64_t n, std::vector<Hypothesis>* all) {
  for (int64_t rounds = 10; rounds >= 2; --rounds) {
    for (int64_t tile = 1; tile <= kMostTile && (tile << (rounds - 1)) < n; ++tile) {
      all->push_back({Kind::kRounds, MergeOrder::kAscending, tile, rounds});
      all->push_back({Kind::kRounds, MergeOrder::kDescending, tile, rounds});
    }
  }
}

void AddOrders(Hypothesis h, int64_t parts, std::vector<Hypothesis>* all) {
  all->push_back(h);
  if (parts <= 2) return;
  h.order = MergeOrder::kDescending;
  all->push_back(h);
}

void EnumerateSpans(int64_t n, std::vector<Hypothesis>* all) {
  for (int64_t span = n - 1; span >= 1; --span) {
    AddOrders({Kind::kContiguous, MergeOrder::kAscending, span, Tiles(n, span)}, Tiles(n, span), all);
  }
}

void EnumerateCuts(int64_t n, std::vector<Hypothesis>* all) {
  for (int64_t tile = 1; tile <= kMostTile; ++tile) {
    for (int64_t parts = 2; parts <= kMostParts && tile * parts < n; ++parts) {
      AddOrders({Kind::kStrided, MergeOrder::kAscending, tile, parts}, parts, all);
    }
  }
  for (int64_t tile = 1; tile <= kMostTile; tile *= 2) {
    for (int64_t parts = 5; parts <= std::min(kMostLaneParts, Tiles(n, tile)); ++parts) {
      all->push_back({Kind::kStrided, MergeOrder::kLanes, tile, parts});
      if (parts > 128) all->push_back({Kind::kStrided, MergeOrder::kLanes4, tile, parts});
      if (parts > 256) all->push_back({Kind::kStrided, MergeOrder::kLanes8, tile, parts});
    }
  }
  for (int64_t tile = 1; tile <= 1024; ++tile) {
    if (!std::has_single_bit(static_cast<uint64_t>(tile)) && tile % 3 != 0) continue;
    const int64_t tiles = Tiles(n, tile);
    for (int64_t parts = 2; parts <= std::min<int64_t>(256, tiles - 1); ++parts) {
      if (tiles % parts != 0) all->push_back({Kind::kBalanced, MergeOrder::kAscending, tile, parts});
    }
  }
}

}  // namespace

Prediction Predict(const Hypothesis& h, int64_t n, int64_t p, int64_t q, int64_t x) {
  if (h.kind == Kind::kChain) return x < GroupEnd(h, n, q) ? Prediction::kAbsorbed : Prediction::kReturns;
  const int64_t part_p = PartOf(h, n, p), part_q = PartOf(h, n, q), part_x = PartOf(h, n, x);
  if (part_p == part_q) return part_x == part_p ? Prediction::kOpen : Prediction::kReturns;
  bool absorbed;
  if (h.kind == Kind::kRounds) {
    absorbed = RoundsAbsorb(h, part_p, part_q, part_x);
  } else if (LaneSums(h.order) > 0) {
    absorbed = LanesAbsorb(LaneSums(h.order), part_p, part_q, part_x);
  } else if (h.order == MergeOrder::kAscending) {
    absorbed = part_x <= std::max(part_p, part_q);
  } else {
    absorbed = part_x >= std::min(part_p, part_q);
  }
  return absorbed ? Prediction::kAbsorbed : Prediction::kReturns;
}

int64_t Boundary(const Hypothesis& h, int64_t n, int64_t i) {
  const int64_t tiles = Tiles(n, h.span);
  if (h.kind == Kind::kBalanced) {
    const int64_t part = ((i % h.count) + h.count) % h.count, few = tiles / h.count, larger = tiles % h.count;
    return std::min(n - 1, (part * few + std::min(part, larger)) * h.span);
  }
  const int64_t tile = ((i % tiles) + tiles) % tiles;
  if (h.kind != Kind::kChain || tile * h.span < h.count) return tile * h.span;
  const int64_t within = (h.count + h.span - 1) / h.span;  // groups of the short turn
  return std::min(n - 1, h.count + (tile - within) * h.span);
}

int64_t SamePart(const Hypothesis& h, int64_t n, int64_t x, int64_t turn, int64_t offset) {
  if (h.kind == Kind::kChain) return (turn * h.span + offset) % n;
  if (h.kind == Kind::kContiguous || h.kind == Kind::kBalanced) {
    const int64_t part = PartOf(h, n, x);
    const int64_t begin = h.kind == Kind::kContiguous ? part * h.span : Boundary(h, n, part);
    const bool last = part + 1 >= (h.kind == Kind::kContiguous ? Tiles(n, h.span) : h.count);
    const int64_t end = last ? n : h.kind == Kind::kContiguous ? begin + h.span : Boundary(h, n, part + 1);
    return begin + offset % (end - begin);
  }
  const int64_t period = h.kind == Kind::kRounds ? h.span << h.count : h.span * h.count;
  const int64_t tile = x % period / h.span * h.span;
  const int64_t place = turn % Tiles(n, period) * period + tile + offset % h.span;
  return place < n ? place : x;
}

std::vector<Hypothesis> Enumerate(int64_t n, const HypothesisSpace& space) {
  std::vector<Hypothesis> all;
  EnumerateChains(n, space, &all);
  EnumerateSpans(n, &all);
  if (space.rounds) EnumerateRounds(n, &all);
  EnumerateCuts(n, &all);
  return all;
}

std::vector<KCut> CutsOf(const Hypothesis& h, int64_t n) {
  switch (h.kind) {
    case Kind::kChain:
      return {};
    case Kind::kContiguous:
      return {{CutLayout::kContiguous, h.span, Tiles(n, h.span), h.order}};
    case Kind::kStrided:
      return {{CutLayout::kStrided, h.span, h.count, h.order}};
    case Kind::kBalanced:
      return {{CutLayout::kBalanced, h.span, h.count, h.order}};
    case Kind::kRounds:
      break;
  }
  std::vector<KCut> cuts;
  for (int64_t round = 0; round < h.count; ++round) {
    const int64_t span = h.order == MergeOrder::kAscending ? h.span : h.span << (h.count - 1 - round);
    cuts.push_back({CutLayout::kStrided, span, 2});
  }
  return cuts;
}

std::string ToString(const Hypothesis& h) {
  const char* order = h.order == MergeOrder::kDescending ? " descending" : LaneSums(h.order) > 0 ? " by lanes" : "";
  switch (h.kind) {
    case Kind::kChain:
      return h.count == 0 ? absl::StrCat("one chain of groups of ", h.span)
                          : absl::StrCat("one chain of groups of ", h.span, " after a short turn of ", h.count);
    case Kind::kRounds:
      return absl::StrCat(int64_t{1} << h.count, " lanes with tiles of ", h.span, ", folded pairwise", order);
    case Kind::kStrided:
      return absl::StrCat(h.count, " strided parts with tiles of ", h.span, order);
    case Kind::kBalanced:
      return absl::StrCat(h.count, " balanced parts of tiles of ", h.span, order);
    case Kind::kContiguous:
      return absl::StrCat(h.count, " spans of ", h.span, order);
  }
  return "";
}

}  // namespace samebits::gemm
