// The kernels compile for every arithmetic, without a GPU. What their text computes, compiled for the host, is in
// output_walk_test.cc; what they compute on a GPU is seen on one (tests/device).

#include "workers/cuda/emulator/gpu_emulator.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace samebits::workers {
namespace {

TEST(GpuEmulator, CompilesForEveryArithmetic) {
  const auto nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  for (const char* text : {"types=f16,f16,f32,f16 instruction=wgmma:16", "types=f16,f16,f16,f16 instruction=mma:16",
                           "types=e4m3,e5m2,f32,bf16 instruction=wgmma:32", "types=tf32,tf32,f32,f32 instruction=mma:8",
                           "types=f32,f32,f32,f32 instruction=mul_add", "types=f64,f64,f64,f64 instruction=fma"}) {
    const auto desc = gemm::ParseGemmDesc(std::string("gemm/1 ") + text);
    ASSERT_TRUE(desc.ok()) << desc.status();
    const auto plan = gemm::Compile(*desc, 64, 90);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto flat = gemm::Flatten(*plan, desc->a_type, desc->b_type);
    ASSERT_TRUE(flat.ok()) << flat.status();
    const auto cubin = CompileEmulator(**nvrtc, 90, *flat, desc->a_type);
    ASSERT_TRUE(cubin.ok()) << text << ": " << cubin.status().message();
    for (const char* kernel : {"decode", "fill", "emulate", "check"}) EXPECT_TRUE(absl::StrContains(*cubin, kernel)) << text;
  }
}

}  // namespace
}  // namespace samebits::workers
