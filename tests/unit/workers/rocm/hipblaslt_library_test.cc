#include "workers/rocm/hipblaslt_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_gpu/black_box_checks.h"

namespace samebits::workers {
namespace {

using ::samebits::fake_gpu::Problem;
using ::samebits::fake_gpu::ScopedVariable;
using ::testing::HasSubstr;

class HipblasLtLibraryTest : public ::testing::Test {
 protected:
  std::unique_ptr<HipblasLtLibrary> Open() {
    auto library = HipblasLtLibrary::Open({});
    EXPECT_TRUE(library.ok()) << library.status();
    return library.ok() ? *std::move(library) : nullptr;
  }

  ScopedVariable runtime_{"SAMEBITS_HIP", SAMEBITS_FAKE_HIP}, blas_{"SAMEBITS_HIPBLASLT", SAMEBITS_FAKE_HIPBLASLT};
};

TEST_F(HipblasLtLibraryTest, ComputesEveryLayout) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->device_name(), "stand-in of AMD");
  EXPECT_EQ(library->compute_units(), 304);
  EXPECT_EQ(library->version(), 100000);
  fake_gpu::ExpectProductsOfAllLayouts(library.get());
}

TEST_F(HipblasLtLibraryTest, TellsTheWordsOfItsAlgorithm) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  const auto algorithm = library->Choose(Problem("f16,f16,f32,f16", gemm::Layout::kTN));
  ASSERT_TRUE(algorithm.ok()) << algorithm.status();
  EXPECT_EQ(*algorithm, (gemm::Algorithm{.id = 0x1234, .custom = 1, .cluster = 2}));
  EXPECT_EQ(*gemm::ParseAlgorithm(gemm::ToText(*algorithm)), *algorithm);
}

TEST_F(HipblasLtLibraryTest, RecoversScalarArithmetic) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  gemm::RuleBook book;
  const auto shape = gemm::StudyShape(library.get(), &book, Problem("f16,f16,f32,f32", gemm::Layout::kNT, 8, 8, 90), {});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->explained) << shape->reason;
  EXPECT_EQ(shape->desc.instruction, gemm::Instruction::kFma);
}

TEST_F(HipblasLtLibraryTest, TypesThatItLacksAreNotSupported) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  gemm::RuleBook book;
  const auto shape = gemm::StudyShape(library.get(), &book, Problem("e4m3,e4m3,f32,f16", gemm::Layout::kTN), {});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_FALSE(shape->supported);
  EXPECT_THAT(shape->reason, HasSubstr("cost model: not supported by the library (7)"));
}

TEST_F(HipblasLtLibraryTest, AFailedProductIsAnErrorAndTheNextOneIsRight) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  const gemm::GemmProblem p = Problem("bf16,bf16,f32,f32", gemm::Layout::kTT);
  {
    const ScopedVariable fails("SAMEBITS_FAKE_HIPBLASLT_FAILS", "1");
    const gemm::DrawnOperands drawn = gemm::DrawOperands(p, 3, 1, 0);
    EXPECT_TRUE(absl::IsInternal(library->Multiply(p, drawn.a, drawn.b, drawn.outputs).status()));
  }
  fake_gpu::ExpectProduct(library.get(), p, 2);
}

TEST_F(HipblasLtLibraryTest, MatricesLargerThanAnyDeviceAreRefused) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  const gemm::GemmProblem p = Problem("f16,f16,f32,f16", gemm::Layout::kTN, int64_t{1} << 62, 7, 37);
  const gemm::SparseRows rows{{0}, std::vector<uint64_t>(p.k)};
  EXPECT_TRUE(absl::IsResourceExhausted(library->Multiply(p, rows, rows, {}).status()));
}

TEST_F(HipblasLtLibraryTest, SaysWhatCannotBeLoaded) {
  {
    const ScopedVariable missing("SAMEBITS_HIPBLASLT", "/nowhere/libhipblaslt.so");
    const absl::Status status = HipblasLtLibrary::Open({}).status();
    EXPECT_TRUE(absl::IsUnavailable(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/libhipblaslt.so is not found; SAMEBITS_HIPBLASLT may name it"));
  }
  {
    const ScopedVariable missing("SAMEBITS_HIP", "/nowhere/libamdhip64.so");
    EXPECT_THAT(std::string(HipblasLtLibrary::Open({}).status().message()), HasSubstr("SAMEBITS_HIP may name it"));
  }
  {
    const ScopedVariable other("SAMEBITS_HIPBLASLT", SAMEBITS_FAKE_HIP);
    EXPECT_EQ(HipblasLtLibrary::Open({}).status(), absl::UnavailableError("hipblasLtCreate is not found"));
  }
  EXPECT_EQ(HipblasLtLibrary::Open({.device = 3}).status(), absl::UnavailableError("no such HIP device"));
}

}  // namespace
}  // namespace samebits::workers
