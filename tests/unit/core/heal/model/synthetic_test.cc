#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "core/heal/model/checkpoint.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

// Computed from the recipe by another program.
TEST(SyntheticTest, KnownValues) {
  EXPECT_EQ(SyntheticValue(7, 0, TensorId::kEmbedding, 0, 0x1p-20f), 0x3b3d);
  EXPECT_EQ(SyntheticValue(7, 1, TensorId::kQkv, 12345, 3e-6f), 0xbcf9);
  EXPECT_EQ(SyntheticValue(0, 3, TensorId::kDown, (int64_t{1} << 33) + 5, 1e-5f), 0x3ec1);
  EXPECT_EQ(SyntheticValue(~uint64_t{0}, 35, TensorId::kInputNorm, 9, 2e-6f), 0x3f59);
  EXPECT_EQ(SyntheticValue(7, 0, TensorId::kFinalNorm, 63, 1e-5f), 0x3f12);
}

TEST(SyntheticTest, TensorsHoldTheValues) {
  ModelShape shape = *PublishedShape("tiny");
  shape.qk_norm = shape.qkv_bias = true;
  shape.tied = false;
  const auto checkpoint = MakeSyntheticCheckpoint(shape, 7);
  EXPECT_EQ(checkpoint->synthetic_seed(), 7);
  for (int number = 0; number <= static_cast<int>(TensorId::kHead); ++number) {
    const TensorId id = static_cast<TensorId>(number);
    const int layer = IsOfLayer(id) ? 1 : 0;
    const auto values = checkpoint->Tensor(layer, id);
    ASSERT_EQ(values.size(), RowsOf(shape, id) * ColumnsOf(shape, id)) << number;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], SyntheticValue(7, layer, id, static_cast<int64_t>(i), SyntheticScale(shape, id)));
    }
  }
}

TEST(SyntheticTest, MomentsAreThoseOfTheScale) {
  const ModelShape shape = *PublishedShape("tiny");
  const auto checkpoint = MakeSyntheticCheckpoint(shape, 3);
  double sum = 0, squares = 0;
  const auto values = checkpoint->Tensor(0, TensorId::kEmbedding);
  for (const uint16_t bits : values) {
    const double x = FromBf16(bits);
    sum += x, squares += x * x;
  }
  const double count = static_cast<double>(values.size()), deviation = 1 / std::sqrt(shape.hidden);
  EXPECT_NEAR(sum / count, 0, 5 * deviation / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), deviation, 0.02 * deviation);
}

TEST(SyntheticTest, AbsentTensorsAreEmptyAndTiedHeadsAreTheEmbedding) {
  const auto checkpoint = MakeSyntheticCheckpoint(*PublishedShape("tiny"), 3);
  EXPECT_TRUE(checkpoint->Tensor(0, TensorId::kQkvBias).empty());
  EXPECT_TRUE(checkpoint->Tensor(0, TensorId::kQueryNorm).empty());
  EXPECT_EQ(checkpoint->Tensor(0, TensorId::kHead).data(), checkpoint->Tensor(0, TensorId::kEmbedding).data());
}

TEST(SyntheticTest, ThreadsGetTheSameTensor) {
  const auto checkpoint = MakeSyntheticCheckpoint(*PublishedShape("tiny"), 3);
  const uint16_t* seen[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { seen[i] = checkpoint->Tensor(1, TensorId::kGateUp).data(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(seen[i], seen[0]);
}

TEST(OpenCheckpointTest, SyntheticNames) {
  const auto opened = OpenCheckpoint("synthetic:tiny:7");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)->shape(), *PublishedShape("tiny"));
  EXPECT_EQ((*opened)->synthetic_seed(), 7);
  EXPECT_EQ((*OpenCheckpoint("synthetic:smollm2-135m"))->synthetic_seed(), 1);
  EXPECT_EQ(OpenCheckpoint("synthetic:nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenCheckpoint("synthetic:tiny:x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenCheckpoint("synthetic:tiny:1:2").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenCheckpoint("/nowhere/at/all").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace samebits::heal
