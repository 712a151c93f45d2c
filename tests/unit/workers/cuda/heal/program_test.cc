// The kernels compile for every configuration, without a GPU. What they compute is seen on one (tests/device/heal).

#include "workers/cuda/heal/program.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "workers/cuda/heal/cuda_backend.h"

namespace samebits::workers {
namespace {

using heal::AttentionMode;

heal::ModelShape Shape(int head_dim, int group) {
  heal::ModelShape shape;
  shape.head_dim = head_dim;
  shape.kv_heads = 2;
  shape.heads = 2 * group;
  return shape;
}

TEST(Program, CompilesForEveryConfiguration) {
  const auto nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  for (const char* name : {"bf16", "fp16", "fp32", "heal+", "heal-full", "trunc:7"}) {
    const heal::Configuration configuration = *heal::ParseConfiguration(name);
    for (const heal::ModelShape& shape : {Shape(64, 3), Shape(128, 5)}) {
      const auto cubin = CompileCubin(**nvrtc, 90, KeyOf(configuration, configuration.AttentionOf(0), shape));
      ASSERT_TRUE(cubin.ok()) << name << ": " << cubin.status().message();
      for (const char* kernel : {"AddNorm", "RopeCache", "Attend", "Merge", "SwiGlu", "ArgMax"}) {
        EXPECT_TRUE(absl::StrContains(*cubin, kernel)) << name << ": " << kernel;
      }
    }
  }
}

TEST(Program, EngineHasAKernelForEachKindOfAttention) {
  if (const auto nvrtc = NvrtcApi::Load(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  heal::ModelShape shape = Shape(64, 3);
  shape.layers = 4;
  EXPECT_EQ(CompileEngineKernels(*heal::ParseConfiguration("heal+"), shape, 90)->size(), 1);
  EXPECT_EQ(CompileEngineKernels(*heal::ParseConfiguration("heal++:2"), shape, 90)->size(), 2);
  EXPECT_EQ(CompileEngineKernels(*heal::ParseConfiguration("heal++:9"), shape, 90).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Program, ErrorsQuoteTheCompiler) {
  const auto nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  ProgramKey key;
  key.head_dim = 0;  // no kernel can be made of that
  const auto cubin = CompileCubin(**nvrtc, 90, key);
  ASSERT_FALSE(cubin.ok());
  EXPECT_TRUE(absl::StrContains(std::string(cubin.status().message()), "error")) << cubin.status().message();
}

TEST(Program, LayersOfOneConfigurationDifferByTheirAttention) {
  const heal::Configuration configuration = *heal::ParseConfiguration("heal++:1");
  const heal::ModelShape shape = Shape(128, 4);
  const ProgramKey first = KeyOf(configuration, configuration.AttentionOf(0), shape);
  const ProgramKey second = KeyOf(configuration, configuration.AttentionOf(1), shape);
  EXPECT_EQ(first.attention, static_cast<int>(AttentionMode::kF16));
  EXPECT_EQ(second.attention, static_cast<int>(AttentionMode::kInt16));
  EXPECT_EQ(first.gemm, second.gemm);
}

}  // namespace
}  // namespace samebits::workers
