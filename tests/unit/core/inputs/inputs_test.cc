#include "core/inputs/inputs.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/sha256.h"

namespace samebits::inputs {
namespace {

// table.txt is what the Python generator makes (tests/device/inputs_test.py --update).
TEST(InputsTest, MakesTheBytesOfThePythonGenerator) {
  std::ifstream table(SAMEBITS_SOURCE_DIR "/tests/unit/core/inputs/table.txt");
  std::string type, distribution, values, digest;
  int rows = 0;
  while (table >> type >> distribution >> values >> digest) {
    ++rows;
    const auto t = ParseDataType(type);
    const auto d = ParseDistribution(distribution);
    ASSERT_TRUE(t && d) << type << " " << distribution;
    const auto bytes = MakeBuffer("seed", {"x", *t, 1001, values == "unit", -7, 90}, *d);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(Sha256Hex({reinterpret_cast<const char*>(bytes->data()), bytes->size()}), digest)
        << type << " " << distribution << " " << values;
  }
  EXPECT_EQ(rows, kDataTypes * kDistributions * 2);
}

TEST(InputsTest, NamesGoBothWays) {
  for (int i = 0; i < kDistributions; ++i) {
    const auto distribution = static_cast<Distribution>(i);
    EXPECT_EQ(ParseDistribution(DistributionName(distribution)), distribution);
  }
  for (int i = 0; i < kDataTypes; ++i) EXPECT_EQ(ParseDataType(DataTypeName(static_cast<DataType>(i))), static_cast<DataType>(i));
  EXPECT_FALSE(ParseDistribution("gaussian"));
  EXPECT_FALSE(ParseDataType("f128"));
}

TEST(InputsTest, RefusesBoundsOutsideTheType) {
  for (const auto& [low, high] : {std::pair<int64_t, int64_t>{5, 5}, {5, 4}, {-129, 0}, {0, 129}})
    EXPECT_TRUE(absl::IsInvalidArgument(
        MakeBuffer("s", {"x", DataType::kI8, 4, false, low, high}, Distribution::kUniform).status()))
        << low << " " << high;
  EXPECT_TRUE(MakeBuffer("s", {"x", DataType::kI8, 4, false, -128, 128}, Distribution::kUniform).ok());
}

TEST(InputsTest, RangesAreThoseOfTheWholeBuffer) {
  for (const DataType type : {DataType::kF32, DataType::kBf16, DataType::kE4m3, DataType::kRaw}) {
    const BufferSpec buffer{"x", type, 41};
    const auto whole = MakeBuffer("seed", buffer, Distribution::kWide);
    ASSERT_TRUE(whole.ok());
    const uint32_t bytes = ElementBytes(type);
    for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, 41}, {1, 3}, {3, 9}, {4, 4}, {40, 1}, {7, 0}}) {
      const auto part = MakeElements("seed", buffer, Distribution::kWide, first, count);
      ASSERT_TRUE(part.ok());
      EXPECT_EQ(*part, std::vector<uint8_t>(whole->begin() + first * bytes, whole->begin() + (first + count) * bytes)) << first;
    }
  }
}

}  // namespace
}  // namespace samebits::inputs
