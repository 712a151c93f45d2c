// The ordering model of shared memory: each kind of race, and the order that prevents it.

#include "core/symexec/shared_memory.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

using Race = SharedMemory::Race;

class SharedMemoryTest : public ::testing::Test {
 protected:
  SharedMemoryTest() : memory_(256, 4, 256) {}

  static expr::Scalar Value(expr::NodeId node) {
    expr::Scalar s;
    s.node = node;
    return s;
  }
  Race Write(int lane, uint32_t address, expr::NodeId node = 1, uint32_t bytes = 4) {
    return memory_.Write(lane, address, bytes, Value(node), 0);
  }
  Race Copy(int lane, uint32_t address, expr::NodeId node = 1) {
    return memory_.Write(lane, address, 4, Value(node), memory_.copies[static_cast<size_t>(lane)].issued);
  }
  void Commit(int lane) { ++memory_.copies[static_cast<size_t>(lane)].issued; }
  // All but the `pending` youngest committed groups.
  void Wait(int lane, uint32_t pending = 0) {
    AsyncGroups& g = memory_.copies[static_cast<size_t>(lane)];
    g.CompleteUpTo(g.issued - 1 - pending, memory_.Now(lane));
  }
  Race Read(int lane, uint32_t address, uint32_t bytes = 4) {
    fragments_.clear();
    return memory_.Read(lane, address, bytes, &fragments_);
  }
  Race ReadMatrix(int warpgroup, uint32_t address) {
    fragments_.clear();
    return memory_.ReadAsync(warpgroup, memory_.matrix[static_cast<size_t>(warpgroup)].issued, address, 4, &fragments_);
  }
  void WaitMatrix(int warpgroup) {
    AsyncGroups& g = memory_.matrix[static_cast<size_t>(warpgroup)];
    ++g.issued;
    g.CompleteUpTo(g.issued - 1, memory_.Now(warpgroup * 128));
  }
  void Barrier() {
    ++memory_.block_epoch;
    for (uint32_t& w : memory_.warp_epoch) ++w;
  }
  void WarpBarrier(size_t warp) { ++memory_.warp_epoch[warp]; }
  void ProxyFence(size_t lane) { ++memory_.proxy_fences[lane]; }

  SharedMemory memory_;
  std::vector<SharedMemory::Fragment> fragments_;
};

TEST_F(SharedMemoryTest, ALaneSeesItsOwnWrites) {
  EXPECT_EQ(Write(0, 0), Race::kNone);
  EXPECT_EQ(Read(0, 0), Race::kNone);
  EXPECT_EQ(Write(0, 0, 2), Race::kNone);
}

TEST_F(SharedMemoryTest, ReadAfterWrite) {
  Write(0, 0);
  EXPECT_EQ(Read(1, 0), Race::kReadAfterWrite);
  WarpBarrier(0);
  EXPECT_EQ(Read(1, 0), Race::kNone) << "of the same warp";
  EXPECT_EQ(Read(32, 0), Race::kReadAfterWrite) << "of another warp";
  WarpBarrier(1);
  EXPECT_EQ(Read(32, 0), Race::kReadAfterWrite) << "another warp's barrier orders nothing here";
  Barrier();
  EXPECT_EQ(Read(32, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, WriteAfterRead) {
  Write(0, 0);
  Barrier();
  EXPECT_EQ(Read(1, 0), Race::kNone);
  EXPECT_EQ(Write(2, 0), Race::kWriteAfterRead);
}

TEST_F(SharedMemoryTest, WriteAfterReadOfTheSameLaneOrBehindABarrier) {
  Write(0, 0);
  Barrier();
  Read(1, 0);
  EXPECT_EQ(Write(1, 0), Race::kNone);
  Barrier();
  Read(1, 0);
  WarpBarrier(0);
  EXPECT_EQ(Write(2, 0), Race::kNone) << "ordered by the warp's barrier";
  Barrier();
  Read(1, 0);
  Barrier();
  EXPECT_EQ(Write(200, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, ReadersOfSeveralLanesAndWarpsAreAllRemembered) {
  Write(0, 0);
  Barrier();
  Read(1, 0);
  Read(2, 0);
  EXPECT_EQ(Write(2, 0), Race::kWriteAfterRead) << "lane 1 read too";
  Barrier();
  Read(1, 0);
  Read(40, 0);
  WarpBarrier(0);
  EXPECT_EQ(Write(1, 0), Race::kWriteAfterRead) << "another warp read too";
}

TEST_F(SharedMemoryTest, WriteAfterWrite) {
  Write(0, 0, 1);
  EXPECT_EQ(Write(1, 0, 2), Race::kWriteAfterWrite);
  Write(0, 4, 1);
  Barrier();
  EXPECT_EQ(Write(1, 4, 2), Race::kNone);
}

TEST_F(SharedMemoryTest, EqualWritesAreOneWriteBySeveral) {
  EXPECT_EQ(Write(0, 0, 5), Race::kNone);
  EXPECT_EQ(Write(1, 0, 5), Race::kNone);
  EXPECT_EQ(Read(0, 0), Race::kReadAfterWrite) << "not even the first writer may read before the others are done";
  Write(0, 8, 5);
  Write(40, 8, 5);
  WarpBarrier(0);
  WarpBarrier(1);
  EXPECT_EQ(Read(0, 8), Race::kReadAfterWrite) << "the writers are of two warps";
  Barrier();
  EXPECT_EQ(Read(0, 8), Race::kNone);
  EXPECT_EQ(Write(1, 16, 5, 8), Race::kNone);
  EXPECT_EQ(Write(2, 16, 5, 4), Race::kWriteAfterWrite) << "part of a value is another value";
}

TEST_F(SharedMemoryTest, AnEqualWriteDoesNotHideAnEarlierRead) {
  Write(0, 0, 1);
  Barrier();
  Read(0, 0);
  EXPECT_EQ(Write(0, 0, 5), Race::kNone);
  EXPECT_EQ(Write(1, 0, 5), Race::kWriteAfterRead) << "lane 0 may have read lane 1's value";
  // Nor in a cell behind the first.
  Write(0, 32, 1, 8);
  Barrier();
  Read(0, 36);
  EXPECT_EQ(Write(0, 32, 5, 8), Race::kNone);
  EXPECT_EQ(Write(1, 32, 5, 8), Race::kWriteAfterRead);
}

TEST_F(SharedMemoryTest, CopiesLandAtTheirWait) {
  EXPECT_EQ(Copy(0, 0), Race::kNone);
  EXPECT_EQ(Read(0, 0), Race::kAsyncCopy);
  Wait(0);
  EXPECT_EQ(Read(0, 0), Race::kAsyncCopy) << "not committed";
  Commit(0);
  Wait(0, 1);
  EXPECT_EQ(Read(0, 0), Race::kAsyncCopy) << "one group may be pending";
  Wait(0);
  EXPECT_EQ(Read(0, 0), Race::kNone);
  EXPECT_EQ(Read(1, 0), Race::kAsyncCopy) << "the wait is the issuer's";
  Barrier();
  EXPECT_EQ(Read(1, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, ABarrierBeforeTheWaitOrdersNothing) {
  Copy(0, 0);
  Commit(0);
  Barrier();
  Wait(0);
  EXPECT_EQ(Read(1, 0), Race::kAsyncCopy);
}

TEST_F(SharedMemoryTest, GroupsCompleteInOrder) {
  Copy(0, 0);
  Commit(0);
  Copy(0, 4);
  Commit(0);
  Wait(0, 1);
  EXPECT_EQ(Read(0, 0), Race::kNone);
  EXPECT_EQ(Read(0, 4), Race::kAsyncCopy);
}

TEST_F(SharedMemoryTest, PendingCopiesMayNotBeOverwritten) {
  Copy(0, 0);
  EXPECT_EQ(Write(0, 0), Race::kAsyncCopy);
  Copy(0, 4);
  EXPECT_EQ(Copy(0, 4, 2), Race::kAsyncCopy);
  Write(0, 8);
  Barrier();
  Read(1, 8);
  EXPECT_EQ(Copy(0, 8), Race::kWriteAfterRead);
}

TEST_F(SharedMemoryTest, MatrixReadsNeedBarrierAndProxyFence) {
  Write(0, 0);
  EXPECT_EQ(ReadMatrix(0, 0), Race::kReadAfterWrite);
  Barrier();
  EXPECT_EQ(ReadMatrix(0, 0), Race::kProxy);
  ProxyFence(1);
  EXPECT_EQ(ReadMatrix(0, 0), Race::kProxy) << "another lane's fence";
  ProxyFence(0);
  EXPECT_EQ(ReadMatrix(0, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, MatrixReadsOfCopies) {
  Copy(0, 0);
  Commit(0);
  Barrier();
  EXPECT_EQ(ReadMatrix(0, 0), Race::kAsyncCopy);
  Wait(0);
  EXPECT_EQ(ReadMatrix(0, 0), Race::kAsyncCopy) << "no barrier since the wait";
  Barrier();
  EXPECT_EQ(ReadMatrix(0, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, MatrixTilesMayNotBeOverwrittenBeforeTheWait) {
  Write(0, 0);
  ProxyFence(0);
  Barrier();
  EXPECT_EQ(ReadMatrix(0, 0), Race::kNone);
  EXPECT_EQ(Write(0, 0), Race::kMatrixRead);
}

TEST_F(SharedMemoryTest, MatrixTilesAfterTheWait) {
  Write(0, 0);
  ProxyFence(0);
  Barrier();
  ReadMatrix(0, 0);
  WaitMatrix(0);
  EXPECT_EQ(Write(128, 0), Race::kMatrixRead) << "another warpgroup knows of the wait by a barrier only";
  EXPECT_EQ(Write(5, 0), Race::kNone) << "a lane of the warpgroup that waited";
  EXPECT_EQ(Write(128, 0), Race::kMatrixRead) << "the write in between changes nothing";
  Barrier();
  EXPECT_EQ(Write(128, 0), Race::kNone);
}

TEST_F(SharedMemoryTest, FragmentsNameValuesAndOffsets) {
  Write(0, 0, 1, 8);
  Write(0, 8, 2, 4);
  Write(0, 4, 3, 4);
  ASSERT_EQ(Read(0, 0, 16), Race::kNone);
  ASSERT_EQ(fragments_.size(), 4u);
  EXPECT_EQ(fragments_[0].value->node(), 1u);
  EXPECT_EQ(fragments_[0].bytes, 4u);
  EXPECT_EQ(fragments_[0].value_bytes, 8u);
  EXPECT_EQ(fragments_[1].value->node(), 3u);
  EXPECT_EQ(fragments_[2].value->node(), 2u);
  EXPECT_EQ(fragments_[3].value, nullptr) << "never written";
  EXPECT_EQ(fragments_[3].bytes, 4u);
  ASSERT_EQ(Read(0, 4, 4), Race::kNone);
  EXPECT_EQ(fragments_[0].offset, 0u);
  Write(0, 32, 4, 8);
  ASSERT_EQ(Read(0, 36, 4), Race::kNone);
  EXPECT_EQ(fragments_[0].offset, 4u);
}

TEST_F(SharedMemoryTest, EachRaceHasAText) {
  for (int r = 1; r <= static_cast<int>(Race::kProxy); ++r) EXPECT_FALSE(SharedMemory::RaceText(static_cast<Race>(r)).empty());
}

// The same accesses 4 bytes further on never cover a line of 16 bytes, so that each cell is on its own there.
TEST(SharedMemoryLinesTest, WholeLinesAnswerAsTheirCells) {
  constexpr uint32_t kBytes = 64, kLanes = 128, kOff = 4;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    SharedMemory lines(kBytes, 4, kLanes), cells(kBytes + 16, 4, kLanes);
    for (int step = 0; step < 400; ++step) {
      const int lane = static_cast<int>(random() % 4 * 31);
      const uint32_t bytes = 4u << random() % 3, address = random() % (kBytes / bytes) * bytes;
      expr::Scalar value;
      value.node = 1 + random() % 3;
      std::vector<SharedMemory::Fragment> a, b;
      Race expected = Race::kNone, race = Race::kNone;
      switch (random() % 8) {
        case 0: case 1: {
          const uint32_t group = random() % 2 ? lines.copies[static_cast<size_t>(lane)].issued : 0;
          expected = cells.Write(lane, address + kOff, bytes, value, group);
          race = lines.Write(lane, address, bytes, value, group);
          break;
        }
        case 2: case 3:
          expected = cells.Read(lane, address + kOff, bytes, &b);
          race = lines.Read(lane, address, bytes, &a);
          break;
        case 4: case 5:
          expected = cells.ReadAsync(0, cells.matrix[0].issued, address + kOff, bytes, &b);
          race = lines.ReadAsync(0, lines.matrix[0].issued, address, bytes, &a);
          break;
        case 6:
          for (SharedMemory* m : {&lines, &cells}) {
            AsyncGroups& copies = m->copies[static_cast<size_t>(lane)];
            copies.CompleteUpTo(copies.issued++, m->Now(lane));
            m->matrix[0].CompleteUpTo(m->matrix[0].issued++, m->Now(0));
            ++m->proxy_fences[static_cast<size_t>(lane)];
          }
          break;
        default:
          for (SharedMemory* m : {&lines, &cells}) {
            ++m->block_epoch;
            for (uint32_t& w : m->warp_epoch) ++w;
          }
      }
      ASSERT_EQ(race, expected) << "seed " << seed << ", step " << step;
      ASSERT_EQ(a.size(), b.size()) << "seed " << seed << ", step " << step;
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i].value == nullptr, b[i].value == nullptr);
        ASSERT_EQ(a[i].bytes, b[i].bytes);
        if (a[i].value == nullptr) continue;
        ASSERT_EQ(a[i].value->node(), b[i].value->node()) << "seed " << seed << ", step " << step;
        ASSERT_EQ(a[i].offset, b[i].offset);
        ASSERT_EQ(a[i].value_bytes, b[i].value_bytes);
        ASSERT_EQ(a[i].writer, b[i].writer);
      }
    }
  }
}

}  // namespace
}  // namespace samebits::symexec
