// Writes and reads that look at no cell, against those that look at all: the same races, the same contents.

#include "core/symexec/amdgcn/lds.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

constexpr int kLanes = 16, kWave = 4;
constexpr uint32_t kBytes = 256;

// Lanes that access four bytes each, at their addresses.
struct Place {
  std::vector<uint16_t> lanes;
  std::vector<int64_t> addresses;
  Lds::Written written;
};

class LdsTest : public ::testing::TestWithParam<int> {
 protected:
  LdsTest()
      : wave_lanes_(GetParam()), nodes_(1u << 20), builder_(&nodes_, {}), space_(kLanes), ops_(&builder_, &space_),
        order_(0, 4, kLanes, wave_lanes_), quick_(kBytes, 4, wave_lanes_), plain_(kBytes, 4, wave_lanes_) {
    buffer_ = nodes_.AddBuffer("x", {3, 1});
  }

  Place RandomPlace() {
    Place p;
    p.addresses.resize(kLanes);
    std::vector<int64_t> words(kBytes / 4);
    std::iota(words.begin(), words.end(), 0);
    if (random_() % 3 == 0) std::shuffle(words.begin(), words.end(), random_);
    const size_t first = random_() % 4 * kLanes;
    for (uint16_t l = 0; l < kLanes; ++l) {
      p.addresses[l] = 4 * words[(first + l) % words.size()];
      if (random_() % 40 == 0) p.addresses[l] = 4 * static_cast<int64_t>(random_() % 64);
    }
    const bool all = random_() % 4 != 0;
    for (uint16_t l = 0; l < kLanes; ++l)
      if (all || random_() % 2) p.lanes.push_back(l);
    return p;
  }

  Lanes RandomValue() {
    Lanes v;
    v.nodes = nodes_.Leaf(buffer_);
    v.anchors.push_back({0, 0, static_cast<int64_t>(random_() % 8) * 4});
    return v;
  }

  // Both see the barrier or instruction that follows.
  void Advance() {
    if (random_() % 2) ++order_.block_epoch;
    else for (uint32_t& w : order_.warp_epoch) ++w;
  }

  Lds::Race Write(Place* p) {
    const Lanes v = RandomValue();
    const auto race = plain_.Write(p->lanes, p->addresses.data(), 0, 4, v, ops_, order_);
    if (quick_.Rewrite(p->written, 4, v, order_)) {
      ++quick_writes_;
      EXPECT_EQ(race, Lds::Race::kNone);
      return race;
    }
    EXPECT_EQ(quick_.Write(p->lanes, p->addresses.data(), 0, 4, v, ops_, order_, &p->written), race);
    return race;
  }

  Lds::Race Read(const Place& p) {
    std::vector<uint32_t> records;
    bool known = true;
    for (const uint16_t l : p.lanes) {
      Lds::Place from;
      known &= quick_.From(static_cast<uint32_t>(p.addresses[l]), 4, &from);
      known &= std::any_of(places_.begin(), places_.end(), [&](const Place& w) { return w.written.record == from.record && quick_.Stands(w.written); });
      records.push_back(from.record);
    }
    const auto race = plain_.Read(p.lanes, p.addresses.data(), 0, 4, order_);
    if (known && quick_.Reread(records, p.lanes, p.addresses.data(), 0, 4, order_)) {
      ++quick_reads_;
      EXPECT_EQ(race, Lds::Race::kNone);
    } else {
      EXPECT_EQ(quick_.Read(p.lanes, p.addresses.data(), 0, 4, order_), race);
    }
    for (const uint16_t l : p.lanes) EXPECT_TRUE(SameContent(static_cast<uint32_t>(p.addresses[l])));
    return race;
  }

  bool SameContent(uint32_t address) {
    Lds::Place a, b;
    if (!quick_.From(address, 4, &a) || !plain_.From(address, 4, &b)) return false;
    if (a.record == Lds::kNothing || b.record == Lds::kNothing) return a.record == b.record;
    return a.source == b.source && a.offset == b.offset && expr::Same(ops_.At(quick_.value(a.record), a.source), ops_.At(plain_.value(b.record), b.source));
  }

  int wave_lanes_;
  std::mt19937 random_{7};
  expr::NodeManager nodes_;
  canonical::Builder builder_;
  LaneSpace space_;
  VectorOps ops_;
  SharedMemory order_;
  Lds quick_, plain_;
  std::vector<Place> places_;
  expr::BufferId buffer_ = 0;
  int quick_writes_ = 0, quick_reads_ = 0, races_ = 0;
};

TEST_P(LdsTest, ShortcutsChangeNothing) {
  for (int round = 0; round < 400; ++round) {
    quick_ = Lds(kBytes, 4, wave_lanes_);
    plain_ = Lds(kBytes, 4, wave_lanes_);
    places_.clear();
    for (int i = 0; i < 6; ++i) places_.push_back(RandomPlace());
    Lds::Race race = Lds::Race::kNone;
    for (int step = 0; step < 60 && race == Lds::Race::kNone; ++step) {
      Place& p = places_[random_() % places_.size()];
      race = random_() % 2 ? Write(&p) : Read(p);
      if (wave_lanes_ == kLanes || random_() % 8) Advance();  // a wave that is alone is ordered by its instructions
      ASSERT_FALSE(HasFailure()) << "round " << round << ", step " << step;
    }
    races_ += race != Lds::Race::kNone;
  }
  EXPECT_GT(quick_writes_, 100);
  EXPECT_GT(quick_reads_, 100);
  EXPECT_GT(races_, wave_lanes_ < kLanes ? 20 : -1);
}

INSTANTIATE_TEST_SUITE_P(OneWaveAndFour, LdsTest, ::testing::Values(kLanes, kWave));

TEST_P(LdsTest, ARewriteReplacesTheValueAndALaterWriteEndsIt) {
  Place p;
  p.addresses.resize(kLanes);
  for (uint16_t l = 0; l < kLanes; ++l) p.lanes.push_back(l), p.addresses[l] = 4 * l;
  const Lanes first = RandomValue();
  Lanes second = first;
  second.anchors[0].constant += 64;
  ASSERT_EQ(quick_.Write(p.lanes, p.addresses.data(), 0, 4, first, ops_, order_, &p.written), Lds::Race::kNone);
  EXPECT_FALSE(quick_.Rewrite(p.written, 4, second, order_)) << "nothing orders it after the write";
  ++order_.block_epoch;
  EXPECT_FALSE(quick_.Rewrite(p.written, 2, second, order_)) << "another size";
  EXPECT_TRUE(quick_.Rewrite(p.written, 4, second, order_));
  Lds::Place from;
  ASSERT_TRUE(quick_.From(4, 4, &from));
  EXPECT_TRUE(expr::Same(ops_.At(quick_.value(from.record), from.source), ops_.At(second, 1)));
  ++order_.block_epoch;
  const std::vector<uint16_t> one = {2};
  ASSERT_EQ(quick_.Write(one, p.addresses.data(), 0, 4, first, ops_, order_), Lds::Race::kNone);
  EXPECT_FALSE(quick_.Stands(p.written));
}

}  // namespace
}  // namespace samebits::symexec
