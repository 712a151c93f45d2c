#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_GPU_BLACK_BOX_CHECKS_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_GPU_BLACK_BOX_CHECKS_H_

// What a black box over the stand-ins owes: products in every layout as the emulator computes them.

#include <vector>

#include <gtest/gtest.h>

#include "core/gemm/simulated_library.h"
#include "core/gemm/survey.h"
#include "tests/support/fake_gpu/scoped_variable.h"

namespace samebits::fake_gpu {

inline gemm::GemmProblem Problem(const char* types, gemm::Layout layout, int64_t m = 9, int64_t n = 7, int64_t k = 37) {
  gemm::GemmProblem problem;
  EXPECT_TRUE(gemm::ParseTypes(types, &problem).ok());
  problem.layout = layout;
  problem.m = m, problem.n = n, problem.k = k;
  return problem;
}

// The same arithmetic behind the same interface: a chain of fused multiply-adds.
inline std::vector<uint64_t> Expected(const gemm::GemmProblem& p, const gemm::DrawnOperands& drawn) {
  gemm::HiddenGemm hidden{.problem = p, .summed_k = p.k};
  hidden.desc.a_type = p.a_type, hidden.desc.b_type = p.b_type, hidden.desc.output_type = p.output_type;
  hidden.desc.accumulate_type = hidden.desc.partial_type = hidden.desc.merge_type = p.accumulate_type;
  hidden.desc.instruction = gemm::Instruction::kFma;
  hidden.desc.instruction_k = 1;
  auto patterns = gemm::SimulatedLibrary(hidden).Multiply(p, drawn.a, drawn.b, drawn.outputs);
  EXPECT_TRUE(patterns.ok()) << patterns.status();
  return patterns.ok() ? *patterns : std::vector<uint64_t>();
}

inline void ExpectProduct(gemm::BlackBox* box, const gemm::GemmProblem& p, uint64_t seed, int64_t side = 3) {
  const gemm::DrawnOperands drawn = gemm::DrawOperands(p, side, seed, static_cast<int>(seed % 3));
  const auto patterns = box->Multiply(p, drawn.a, drawn.b, drawn.outputs);
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  EXPECT_EQ(*patterns, Expected(p, drawn)) << TypesText(p) << " " << gemm::ToText(p.layout) << ", seed " << seed;
}

// Every layout and type, each with other rows and distributions.
inline void ExpectProductsOfAllLayouts(gemm::BlackBox* box) {
  uint64_t seed = 1;
  for (const char* types : {"f16,f16,f32,f16", "f16,f16,f32,f32", "bf16,bf16,f32,bf16", "f32,f32,f32,f32", "f64,f64,f64,f64"}) {
    for (gemm::Layout layout : {gemm::Layout::kTN, gemm::Layout::kNN, gemm::Layout::kNT, gemm::Layout::kTT}) {
      for (int i = 0; i < 3; ++i) ExpectProduct(box, Problem(types, layout), seed++);
    }
  }
}

}  // namespace samebits::fake_gpu

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_GPU_BLACK_BOX_CHECKS_H_
