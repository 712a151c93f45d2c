#include "core/interpreter/contraction.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/core/interpreter/run_kernel.h"

namespace samebits::interpreter {
namespace {

std::optional<uint32_t> Find(const std::string& body) {
  const auto module = isa::ptx::Parse(Header() + ".visible .entry k()\n{\n.reg .f32 %f<9>; .reg .b64 %d<9>; .reg .f64 %e<9>; .reg .b32 %r<9>;\n" +
                                      body + "\nret;\n}\n");
  EXPECT_TRUE(module.ok()) << module.status();
  return FindContractibleSum(*module);
}

TEST(ContractionTest, FindsASumThatReadsAProduct) {
  EXPECT_EQ(Find("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f5, %f1;"), 8);
  EXPECT_TRUE(Find("mul.ftz.f32 %f1, %f2, %f3; sub.f32 %f4, %f1, %f5;"));
  EXPECT_TRUE(Find("mul.f64 %e1, %e2, %e3; add.f64 %e4, %e1, %e5;"));
  EXPECT_TRUE(Find("mul.f16x2 %r1, %r2, %r3; add.f16x2 %r4, %r1, %r5;"));
  EXPECT_TRUE(Find("div.full.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;"));
}

TEST(ContractionTest, FollowsMovesAndSigns) {
  EXPECT_TRUE(Find("mul.f32 %f1, %f2, %f3; mov.f32 %f6, %f1; neg.f32 %f7, %f6; add.f32 %f4, %f5, %f7;"));
  EXPECT_TRUE(Find("mul.f32 %f1, %f2, %f3; mov.b64 %d1, {%f1, %f2}; mov.b64 {%f5, %f6}, %d1; add.f32 %f4, %f6, %f3;"));
  EXPECT_TRUE(Find("$L: add.f32 %f4, %f5, %f7; mov.f32 %f7, %f6; mov.f32 %f6, %f1; mul.f32 %f1, %f2, %f3; bra $L;"));
}

TEST(ContractionTest, LeavesFixedFormsAlone) {
  EXPECT_FALSE(Find("mul.rn.f32 %f1, %f2, %f3; add.f32 %f4, %f5, %f1;"));
  EXPECT_FALSE(Find("mul.f32 %f1, %f2, %f3; add.rn.f32 %f4, %f5, %f1;"));
  EXPECT_FALSE(Find("mul.f32 %f1, %f2, %f3; add.f32 %f4, %f5, %f6;"));
  EXPECT_FALSE(Find("fma.rn.f32 %f1, %f2, %f3, %f5; add.f32 %f4, %f5, %f1;"));
  EXPECT_FALSE(Find("mul.lo.s32 %r1, %r2, %r3; add.s32 %r4, %r5, %r1;"));
  EXPECT_FALSE(Find("mul.f32 %f1, %f2, %f3; max.f32 %f6, %f1, %f2; add.f32 %f4, %f5, %f6;"));
}

}  // namespace
}  // namespace samebits::interpreter
