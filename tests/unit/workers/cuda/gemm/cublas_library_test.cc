#include "workers/cuda/cublas_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_gpu/black_box_checks.h"
#include "workers/cuda/cublaslt_library.h"

namespace samebits::workers {
namespace {

using ::samebits::fake_gpu::Problem;
using ::samebits::fake_gpu::ScopedVariable;
using ::testing::HasSubstr;

class CublasLibraryTest : public ::testing::Test {
 protected:
  std::unique_ptr<CublasLibrary> Open() {
    auto library = CublasLibrary::Open({});
    EXPECT_TRUE(library.ok()) << library.status();
    return library.ok() ? *std::move(library) : nullptr;
  }

  ScopedVariable runtime_{"SAMEBITS_CUDART", SAMEBITS_FAKE_CUDA}, driver_{"SAMEBITS_CUDA_DRIVER", SAMEBITS_FAKE_CUDA};
  ScopedVariable lt_{"SAMEBITS_CUBLASLT", SAMEBITS_FAKE_CUDA}, classic_{"SAMEBITS_CUBLAS", SAMEBITS_FAKE_CUDA};
};

TEST_F(CublasLibraryTest, ComputesEveryLayout) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->sm(), 90);
  EXPECT_EQ(library->multiprocessors(), 132);
  EXPECT_EQ(library->version(), 130100);
  fake_gpu::ExpectProductsOfAllLayouts(library.get());
}

TEST_F(CublasLibraryTest, CublasLtComputesEveryLayoutWithTheSameBuffers) {
  const auto library = CublasLtLibrary::Open({});
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ((*library)->Choose(Problem("f16,f16,f32,f16", gemm::Layout::kTN))->id, 66);
  fake_gpu::ExpectProductsOfAllLayouts(library->get());
}

TEST_F(CublasLibraryTest, RecoveryNeedsNoAlgorithm) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  EXPECT_FALSE(library->tells_algorithm());
  EXPECT_TRUE(absl::IsUnimplemented(library->Choose(Problem("f16,f16,f32,f16", gemm::Layout::kTN)).status()));
  gemm::RuleBook book;
  const auto shape = gemm::StudyShape(library.get(), &book, Problem("f16,f16,f32,f32", gemm::Layout::kNN, 8, 8, 90), {});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->explained) << shape->reason;
  EXPECT_EQ(shape->desc.instruction, gemm::Instruction::kFma);
  EXPECT_TRUE(shape->desc.k_cuts.empty());
  EXPECT_TRUE(book.Entries().empty());
  EXPECT_THAT(shape->evidence[0], HasSubstr("what it launches is not known"));
}

TEST_F(CublasLibraryTest, TypesThatItLacksAreNotSupported) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  gemm::RuleBook book;
  const auto shape = gemm::StudyShape(library.get(), &book, Problem("e4m3,e4m3,f32,f16", gemm::Layout::kTN), {});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_FALSE(shape->supported);
  EXPECT_THAT(shape->reason, HasSubstr("cublasGemmEx: not supported"));
}

TEST_F(CublasLibraryTest, AFailedProductIsAnErrorAndTheNextOneIsRight) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  const gemm::GemmProblem p = Problem("bf16,bf16,f32,f32", gemm::Layout::kNT);
  {
    const ScopedVariable fails("SAMEBITS_FAKE_CUBLAS_FAILS", "1");
    const gemm::DrawnOperands drawn = gemm::DrawOperands(p, 3, 1, 0);
    EXPECT_TRUE(absl::IsInternal(library->Multiply(p, drawn.a, drawn.b, drawn.outputs).status()));
  }
  fake_gpu::ExpectProduct(library.get(), p, 2);
}

TEST_F(CublasLibraryTest, MatricesLargerThanAnyDeviceAreRefused) {
  const auto library = Open();
  ASSERT_NE(library, nullptr);
  const gemm::GemmProblem p = Problem("f16,f16,f32,f16", gemm::Layout::kTN, int64_t{1} << 62, 7, 37);
  const gemm::SparseRows rows{{0}, std::vector<uint64_t>(p.k)};
  EXPECT_TRUE(absl::IsResourceExhausted(library->Multiply(p, rows, rows, {}).status()));
}

TEST_F(CublasLibraryTest, SaysWhatCannotBeLoaded) {
  {
    const ScopedVariable missing("SAMEBITS_CUBLAS", "/nowhere/libcublas.so");
    const absl::Status status = CublasLibrary::Open({}).status();
    EXPECT_TRUE(absl::IsUnavailable(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/libcublas.so is not found; SAMEBITS_CUBLAS may name it"));
  }
  {
    const ScopedVariable other("SAMEBITS_CUBLAS", SAMEBITS_FAKE_HIP);
    EXPECT_EQ(CublasLibrary::Open({}).status(), absl::UnavailableError("cublasCreate_v2 is not found"));
  }
  {
    const ScopedVariable missing("SAMEBITS_CUDART", "/nowhere/libcudart.so");
    EXPECT_TRUE(absl::IsUnavailable(CublasLibrary::Open({}).status()));
  }
  EXPECT_EQ(CublasLibrary::Open({.device = 3}).status(), absl::UnavailableError("no such CUDA device"));
}

}  // namespace
}  // namespace samebits::workers
