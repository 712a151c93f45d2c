#include "workers/cuda/kernels/place_rows.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/interpreter/interpreter.h"
#include "core/isa/ptx/parser.h"

namespace samebits::workers {
namespace {

using interpreter::Bytes;

class PlaceRowsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    auto module = isa::ptx::Parse(PlaceRowsPtx());
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::make_unique<isa::Module>(*std::move(module));
  }
  void Run(const std::string& entry, const std::vector<uint64_t>& arguments) {
    interpreter::LaunchConfig config{.grid = {3, 1, 1}, .block = {32, 1, 1}};
    for (uint64_t argument : arguments) config.args.push_back(Bytes(argument));
    const auto result = interpreter::Run(*module_, absl::StrCat(entry, "_", GetParam()), config, memory_);
    ASSERT_TRUE(result.ok()) << result.status();
  }
  uint64_t Upload(const std::vector<uint64_t>& values, int64_t width) {
    std::vector<uint8_t> bytes(values.size() * width);
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * width], &values[i], width);
    return memory_.Allocate(bytes);
  }
  std::vector<uint64_t> Download(uint64_t address, size_t count) {
    std::vector<uint64_t> values(count);
    const auto bytes = memory_.Buffer(address);
    for (size_t i = 0; i < count; ++i) std::memcpy(&values[i], &bytes[i * GetParam()], GetParam());
    return values;
  }

  std::unique_ptr<isa::Module> module_;
  interpreter::Memory memory_;
};

TEST_P(PlaceRowsTest, RowsGoWhereTheLayoutSays) {
  const int64_t width = GetParam(), side = 11, k = 57;
  const std::vector<uint64_t> index{0, 4, 10};
  const uint64_t mask = width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1;
  std::mt19937_64 random(5);
  std::vector<uint64_t> rows(index.size() * k);
  for (uint64_t& value : rows) value = random() & mask;
  for (bool contiguous : {true, false}) {
    const uint64_t matrix = Upload(std::vector<uint64_t>(side * k, 0x5555555555555555 & mask), width);
    const uint64_t from = Upload(rows, width), places = Upload(index, 8), count = rows.size();
    const uint64_t row_stride = contiguous ? k : 1, k_stride = contiguous ? 1 : side;
    Run("scatter", {matrix, from, places, count, static_cast<uint64_t>(k), row_stride, k_stride});
    std::vector<uint64_t> expected(side * k, 0x5555555555555555 & mask);
    for (size_t r = 0; r < index.size(); ++r) {
      for (int64_t i = 0; i < k; ++i) expected[index[r] * row_stride + i * k_stride] = rows[r * k + i];
    }
    EXPECT_EQ(Download(matrix, expected.size()), expected);
    Run("scatter", {matrix, 0, places, count, static_cast<uint64_t>(k), row_stride, k_stride});
    for (size_t r = 0; r < index.size(); ++r) {
      for (int64_t i = 0; i < k; ++i) expected[index[r] * row_stride + i * k_stride] = 0;
    }
    EXPECT_EQ(Download(matrix, expected.size()), expected);
  }
}

TEST_P(PlaceRowsTest, ElementsAreGathered) {
  const int64_t width = GetParam();
  std::vector<uint64_t> values(200), index(131), expected;
  for (size_t i = 0; i < values.size(); ++i) values[i] = i + 1;
  for (size_t i = 0; i < index.size(); ++i) expected.push_back(values[index[i] = i * 37 % values.size()]);
  const uint64_t to = Upload(std::vector<uint64_t>(index.size(), 0), width);
  Run("gather", {to, Upload(values, width), Upload(index, 8), index.size()});
  EXPECT_EQ(Download(to, index.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(Widths, PlaceRowsTest, ::testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace samebits::workers
