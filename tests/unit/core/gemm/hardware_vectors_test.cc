#include "core/gemm/hardware_vectors.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::gemm {
namespace {

using ::testing::HasSubstr;

// A folder of one GPU and type with two rows of four ones: 4 + c.
class VectorFolder {
 public:
  explicit VectorFolder(const std::string& gpu, const std::string& type = "fp16")
      : root_(std::filesystem::path(::testing::TempDir()) /
              ("vectors_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + gpu + type)),
        folder_(root_ / gpu / type),
        gpu_(gpu) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(folder_);
    const std::string ones = "3f800000 3f800000 3f800000 3f800000\n";
    Write("a_" + gpu + "_" + type, ones + ones);
    Write("b_" + gpu + "_" + type, ones + ones);
    Write("c_" + gpu + "_fp32", kZero + kOne);
    Write("d_" + gpu + "_fp32", kFour + kFive);
  }
  ~VectorFolder() { std::filesystem::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / (name + ".txt")) << text; }
  std::string path() const { return root_.string(); }

  inline static const std::string kZero = "00000000000000000000000000000000\n";
  inline static const std::string kOne = "00111111100000000000000000000000\n";
  inline static const std::string kFour = "01000000100000000000000000000000\n";
  inline static const std::string kFive = "01000000101000000000000000000000\n";

 private:
  std::filesystem::path root_, folder_;
  std::string gpu_;
};

TEST(HardwareVectorsTest, CountsMismatchesOfClaimedUnits) {
  VectorFolder folder("A100");
  auto checks = CheckVectors(folder.path());
  ASSERT_TRUE(checks.ok()) << checks.status();
  ASSERT_EQ(checks->size(), 1u);
  EXPECT_EQ((*checks)[0].gpu, "A100");
  EXPECT_EQ((*checks)[0].type, "fp16");
  EXPECT_EQ((*checks)[0].unit, "sm_80 mma");
  EXPECT_TRUE((*checks)[0].claimed);
  EXPECT_EQ((*checks)[0].rows, 2);
  EXPECT_EQ((*checks)[0].mismatches, 0);
  folder.Write("d_A100_fp32", VectorFolder::kFour + VectorFolder::kFour);
  checks = CheckVectors(folder.path());
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_EQ((*checks)[0].mismatches, 1);
}

TEST(HardwareVectorsTest, UnknownGpusAndUnitsAreNotClaimed) {
  for (const auto& [gpu, type] : {std::pair{"X1", "fp16"}, std::pair{"A100", "E4M3"}, std::pair{"A100", "int8"}}) {
    const VectorFolder folder(gpu, type);
    const auto checks = CheckVectors(folder.path());
    ASSERT_TRUE(checks.ok()) << checks.status();
    ASSERT_EQ(checks->size(), 1u);
    EXPECT_FALSE((*checks)[0].claimed);
    EXPECT_EQ((*checks)[0].mismatches, 0);
  }
}

TEST(HardwareVectorsTest, MalformedFilesAreNamed) {
  VectorFolder folder("V100");
  const auto message = [&] { return std::string(CheckVectors(folder.path()).status().message()); };
  folder.Write("c_V100_fp32", VectorFolder::kZero + "0012\n");
  EXPECT_THAT(message(), HasSubstr("c_V100_fp32.txt:2: not a 32-bit pattern"));
  folder.Write("c_V100_fp32", VectorFolder::kZero);
  EXPECT_THAT(message(), HasSubstr("differ in their number of rows"));
  folder.Write("c_V100_fp32", VectorFolder::kZero + VectorFolder::kOne);
  folder.Write("a_V100_fp16", "3f800000\n3f800000\n");
  EXPECT_THAT(message(), HasSubstr("row 1 is not of one length"));
}

TEST(HardwareVectorsTest, AFolderWithoutVectorsIsAnError) {
  EXPECT_EQ(CheckVectors("/nonexistent/folder").status().code(), absl::StatusCode::kNotFound);
  const std::string empty = ::testing::TempDir() + "/no_vectors";
  std::filesystem::create_directories(empty);
  EXPECT_EQ(CheckVectors(empty).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace samebits::gemm
