#include "core/softfloat/approximate.h"

#include <bit>
#include <cmath>

#include "gtest/gtest.h"

namespace samebits::softfloat {
namespace {

TEST(Approximate, OrdinaryResultsAreNeverCalledExact) {
  for (ApproxOp op : {ApproxOp::kEx2, ApproxOp::kLg2, ApproxOp::kSin, ApproxOp::kCos, ApproxOp::kTanh, ApproxOp::kRcp,
                      ApproxOp::kRsqrt, ApproxOp::kSqrt}) {
    EXPECT_FALSE(ModelApprox(op, kF32, 0x3f9df3b6, false).exact);
  }
  EXPECT_FALSE(ModelDivide(0x3f800000, 0x40400000, false, false).exact);
}

TEST(Approximate, SpecialOperands) {
  struct Case {
    ApproxOp op;
    uint64_t a, want;
  };
  const Case cases[] = {
      {ApproxOp::kEx2, 0xff800000, 0},           {ApproxOp::kEx2, 0x80000000, 0x3f800000},
      {ApproxOp::kEx2, 0x7f800000, 0x7f800000},  {ApproxOp::kEx2, 0xffc00001, 0x7fffffff},
      {ApproxOp::kLg2, 0, 0xff800000},           {ApproxOp::kLg2, 0x7f800000, 0x7f800000},
      {ApproxOp::kRcp, 0x80000000, 0xff800000},  {ApproxOp::kRcp, 0xff800000, 0x80000000},
      {ApproxOp::kRsqrt, 0, 0x7f800000},         {ApproxOp::kRsqrt, 0x80000000, 0xff800000},
      {ApproxOp::kSqrt, 0x80000000, 0x80000000}, {ApproxOp::kTanh, 0xff800000, 0xbf800000},
      {ApproxOp::kSin, 0x7f800000, 0x7fffffff},  {ApproxOp::kCos, 0x80000000, 0x3f800000},
  };
  for (const Case& test : cases) {
    const ModelResult result = ModelApprox(test.op, kF32, test.a, false);
    EXPECT_EQ(result.bits, test.want) << static_cast<int>(test.op) << " " << std::hex << test.a;
    EXPECT_TRUE(result.exact);
  }
}

TEST(Approximate, FlushesWithFtz) {
  EXPECT_EQ(ModelApprox(ApproxOp::kRcp, kF32, 0x80000001, true).bits, 0xff800000u);
  EXPECT_EQ(ModelApprox(ApproxOp::kEx2, kF32, 0xc3000000, false).bits, 0x00200000u);
  EXPECT_EQ(ModelApprox(ApproxOp::kEx2, kF32, 0xc3000000, true).bits, 0u);
}

TEST(Approximate, StaysCloseToTheTrueValue) {
  for (float x : {0.1f, 0.7f, 1.0f, 1.3f, 2.9f}) {
    const double got = std::bit_cast<float>(
        static_cast<uint32_t>(ModelApprox(ApproxOp::kEx2, kF32, std::bit_cast<uint32_t>(x), false).bits));
    EXPECT_NEAR(got, std::exp2(double{x}), std::exp2(double{x}) * 0x1p-24);
  }
}

TEST(Divide, HugeDivisors) {
  EXPECT_EQ(ModelDivide(0x3f800000, 0x7f000000, true, false).bits, 0u);
  EXPECT_EQ(ModelDivide(0xbf800000, 0x7f000000, true, false).bits, 0x80000000u);
  EXPECT_EQ(ModelDivide(0x7f800000, 0x7f000000, true, false).bits, 0x7fffffffu);
  EXPECT_EQ(ModelDivide(0x3f800000, 0x7f000000, false, false).bits, 0x00400000u);
}

}  // namespace
}  // namespace samebits::softfloat
