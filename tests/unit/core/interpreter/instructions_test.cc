#include <bit>

#include "gtest/gtest.h"
#include "tests/unit/core/interpreter/run_kernel.h"

namespace samebits::interpreter {
namespace {

struct Case {
  const char* body;  // reads %r1, %r2, %r3 (also %d1 = r2:r1), writes %r0
  uint32_t a, b, c, want;
};

uint32_t Evaluate(const Case& test) {
  const std::string text = Kernel(std::string("ld.global.v2.b32 {%r1, %r2}, [%in]; ld.global.b32 %r3, [%in+8];"
                                              "mov.b64 %d1, {%r1, %r2}; mov.b32 {%h1, %h2}, %r1;") +
                                  test.body + "st.global.b32 [%out], %r0;");
  const auto out = RunText(text, {test.a, test.b, test.c, 0}, 1);
  EXPECT_TRUE(out.ok()) << test.body << out.status();
  return out.ok() ? (*out)[0] : ~test.want;
}

TEST(Instructions, Integers) {
  const Case cases[] = {
      {"add.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
      {"add.sat.s32 %r0, %r1, %r2;", 0x7fffffff, 1, 0, 0x7fffffff},
      {"sub.sat.s32 %r0, %r1, %r2;", 0x80000000, 1, 0, 0x80000000},
      {"mul.lo.s32 %r0, %r1, %r2;", 0x10000, 0x10001, 0, 0x10000},
      {"mul.hi.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 0xffffffff},
      {"mul.hi.u32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
      {"mul.wide.s32 %d0, %r1, %r2; mov.b64 {%r4, %r0}, %d0;", 0xffffffff, 3, 0, 0xffffffff},
      {"mad.wide.u32 %d0, %r1, %r2, %d1; mov.b64 {%r4, %r0}, %d0;", 0x80000000, 4, 0, 6},
      {"mad24.lo.s32 %r0, %r1, %r2, %r3;", 0x01ffffff, 5, 7, 2},
      {"div.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xfffffffd},
      {"rem.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xffffffff},
      {"div.u32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0x7ffffffc},
      {"div.s32 %r0, %r1, %r2;", 0x80000000, 0xffffffff, 0, 0x80000000},
      {"sad.s32 %r0, %r1, %r2, %r3;", 0xffffffff, 4, 10, 15},
      {"min.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
      {"min.u32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 1},
      {"max.relu.s32 %r0, %r1, %r2;", 0xffffffff, 0xfffffffe, 0, 0},
      {"min.s16x2 %r0, %r1, %r2;", 0x8000ffff, 0x00010001, 0, 0x8000ffff},
      {"min.u16x2 %r0, %r1, %r2;", 0x8000ffff, 0x00010001, 0, 0x00010001},
      {"abs.s32 %r0, %r1;", 0xfffffff0, 0, 0, 0x10},
      {"shl.b32 %r0, %r1, %r2;", 1, 32, 0, 0},
      {"shr.u32 %r0, %r1, %r2;", 0x80000000, 31, 0, 1},
      {"shr.s32 %r0, %r1, %r2;", 0x80000000, 200, 0, 0xffffffff},
      {"shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33, 0x80000000},
      {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33, 3},
      {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 0x12345678, 0x9abcdef0, 8, 0xf0123456},
      {"bfe.u32 %r0, %r1, %r2, %r3;", 0x12345678, 8, 12, 0x456},
      {"bfe.s32 %r0, %r1, %r2, %r3;", 0x00000f00, 8, 4, 0xffffffff},
      {"bfe.s32 %r0, %r1, %r2, %r3;", 0x80000000, 28, 16, 0xfffffff8},
      {"bfi.b32 %r0, %r1, %r2, 8, 12;", 0xabc, 0xffffffff, 0, 0xfffabcff},
      {"bfind.u32 %r0, %r1;", 0x00010000, 0, 0, 16},
      {"bfind.s32 %r0, %r1;", 0xfffffffe, 0, 0, 0},
      {"bfind.shiftamt.u32 %r0, %r1;", 0x00010000, 0, 0, 15},
      {"bfind.u32 %r0, %r1;", 0, 0, 0, 0xffffffff},
      {"popc.b32 %r0, %r1;", 0xf00f, 0, 0, 8},
      {"clz.b64 %r0, %d1;", 0, 1, 0, 31},
      {"brev.b32 %r0, %r1;", 0x1, 0, 0, 0x80000000},
      {"prmt.b32 %r0, %r1, %r2, 0x7531;", 0x33221100, 0x77665544, 0, 0x77553311},
      {"prmt.b32 %r0, %r1, %r2, 0x000a;", 0x00800000, 0, 0, 0x000000ff},
      {"prmt.b32.rc16 %r0, %r1, %r2, %r3;", 0x33221100, 0, 1, 0x33223322},
      {"prmt.b32.b4e %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x66770011},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0xca;", 0xff00ff00, 0x12345678, 0x9abcdef0, 0x12bc56f0},
      {"lop3.or.b32 %r4|%p1, %r1, %r2, %r3, 0x80, 0; selp.b32 %r0, 1, 0, %p1;", 1, 3, 5, 1},
      {"dp4a.s32.u32 %r0, %r1, %r2, %r3;", 0xff01ff02, 0x01020304, 100, 106},
      {"dp2a.hi.s32.s32 %r0, %r1, %r2, %r3;", 0x0003fffe, 0x05040000, 1, 8},
      {"add.cc.u32 %r4, %r1, %r2; addc.u32 %r0, %r3, 0;", 0xffffffff, 1, 7, 8},
      {"sub.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r3, 0;", 0, 1, 7, 6},
      {"cvt.s32.s8 %r0, %r1;", 0x180, 0, 0, 0xffffff80},
      {"cvt.sat.u8.s32 %r0, %r1;", 300, 0, 0, 255},
      {"cvt.s64.s32 %d0, %r1; mov.b64 {%r4, %r0}, %d0;", 0x80000000, 0, 0, 0xffffffff},
      {"cvt.pack.sat.s8.s32.b32 %r0, %r1, %r2, %r3;", 300, 0xfffffed4, 0x1234, 0x12347f80},
      {"mov.b32 %r0, {%h2, %h1};", 0x12345678, 0, 0, 0x56781234},
      {"slct.s32.s32 %r0, %r1, %r2, %r3;", 5, 6, 0x80000000, 6},
      {"setp.lt.s32 %p1|%p2, %r1, %r2; selp.b32 %r0, 1, 2, %p2;", 0xffffffff, 0, 0, 2},
      {"setp.lo.u32 %p1, %r1, %r2; selp.b32 %r0, 1, 2, %p1;", 0xffffffff, 0, 0, 2},
      {"setp.eq.s32 %p3, %r3, 7; setp.lt.and.s32 %p1, %r1, %r2, !%p3; selp.b32 %r0, 1, 2, %p1;", 0, 1, 7, 2},
      {"set.ne.u32.u32 %r0, %r1, %r2;", 1, 2, 0, 0xffffffff},
      {"cnot.b32 %r0, %r1;", 0, 0, 0, 1},
  };
  for (const Case& test : cases) EXPECT_EQ(Evaluate(test), test.want) << test.body;
}

TEST(Instructions, Floats) {
  const Case cases[] = {
      {"add.rn.f32 %r0, %r1, %r2;", 0x3f800000, 0x33800001, 0, 0x3f800001},
      {"add.rz.f32 %r0, %r1, %r2;", 0x3f800000, 0x33ffffff, 0, 0x3f800000},
      {"add.ftz.f32 %r0, %r1, %r2;", 0x00000001, 0x80000000, 0, 0},
      {"sub.f32 %r0, %r1, %r2;", 0x3f800000, 0x3f800000, 0, 0},
      {"mul.f32 %r0, %r1, 0f40000000;", 0x3fc00000, 0, 0, 0x40400000},
      {"mul.f32 %r0, %r1, 2.0;", 0x3fc00000, 0, 0, 0x40400000},
      {"fma.rm.f32 %r0, %r1, %r2, %r3;", 0x3f800001, 0x3f800001, 0, 0x3f800002},
      {"fma.rp.f32 %r0, %r1, %r2, %r3;", 0x3f800001, 0x3f800001, 0, 0x3f800003},
      {"add.sat.f32 %r0, %r1, %r2;", 0x40000000, 0x3f800000, 0, 0x3f800000},
      {"fma.rn.f16x2 %r0, %r1, %r2, %r3;", 0x3c004000, 0x40003c00, 0x3c003c00, 0x42004200},
      {"add.f16x2 %r0, %r1, %r2;", 0x7c003c00, 0xfc003c00, 0, 0x7fff4000},
      {"fma.rn.relu.bf16x2 %r0, %r1, %r2, %r3;", 0xbf803f80, 0x3f803f80, 0x00000000, 0x00003f80},
      {"max.NaN.f32 %r0, %r1, %r2;", 0x7fc00000, 0x3f800000, 0, 0x7fffffff},
      {"max.f32 %r0, %r1, %r2;", 0x7fc00000, 0x3f800000, 0, 0x3f800000},
      {"max.f32 %r0, %r1, %r2;", 0x80000000, 0, 0, 0},
      {"neg.f32 %r0, %r1;", 0, 0, 0, 0x80000000},
      {"div.rn.f32 %r0, %r1, %r2;", 0x3f800000, 0x40400000, 0, 0x3eaaaaab},
      {"sqrt.rn.f32 %r0, %r1;", 0x40000000, 0, 0, 0x3fb504f3},
      {"cvt.rn.f16x2.f32 %r0, %r1, %r2;", 0x3f800000, 0x40000000, 0, 0x3c004000},
      {"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", 0x3f800000, 0x40000000, 0, 0x3f804000},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2; cvt.u32.u16 %r0, %h0;", 0x3f800000, 0xff800000, 0, 0x38fe},
      {"cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x38c0, 0, 0, 0x3c00c000},
      {"cvt.f32.f16 %r0, %h2;", 0xc0000000, 0, 0, 0xc0000000},
      {"cvt.rna.tf32.f32 %r0, %r1;", 0x3f801000, 0, 0, 0x3f802000},
      {"cvt.rzi.s32.f32 %r0, %r1;", 0xbfc00000, 0, 0, 0xffffffff},
      {"cvt.rmi.s32.f32 %r0, %r1;", 0xbfc00000, 0, 0, 0xfffffffe},
      {"cvt.rni.f32.f32 %r0, %r1;", 0x40200000, 0, 0, 0x40000000},
      {"cvt.rn.f32.u32 %r0, %r1;", 0xffffffff, 0, 0, 0x4f800000},
      {"cvt.rn.f32.s8 %r0, %r1;", 0xff, 0, 0, 0xbf800000},
      {"setp.neu.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 2, %p1;", 0x7fc00000, 0, 0, 1},
      {"setp.ne.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 2, %p1;", 0x7fc00000, 0, 0, 2},
      {"setp.gt.f16x2 %p1|%p2, %r1, %r2; selp.b32 %r4, 1, 0, %p1; selp.b32 %r5, 2, 0, %p2; or.b32 %r0, %r4, %r5;",
       0x3c000000, 0, 0, 2},
      {"set.lt.f32.f32 %r0, %r1, %r2;", 0, 0x3f800000, 0, 0x3f800000},
      {"testp.subnormal.f32 %p1, %r1; selp.b32 %r0, 1, 2, %p1;", 1, 0, 0, 1},
      {"copysign.f32 %r0, %r1, %r2;", 0x80000000, 0x3f800000, 0, 0xbf800000},
      {"ex2.approx.ftz.f32 %r0, %r1;", 0x40400000, 0, 0, 0x41000000},
      {"rcp.approx.ftz.f32 %r0, %r1;", 0x40800000, 0, 0, 0x3e800000},
      {"add.f64 %d0, %d1, %d1; mov.b64 {%r4, %r0}, %d0;", 0, 0x3ff00000, 0, 0x40000000},
  };
  for (const Case& test : cases) EXPECT_EQ(Evaluate(test), test.want) << test.body;
}

TEST(Instructions, StandInsAreCounted) {
  const auto module = isa::ptx::Parse(Header() + R"(
.visible .entry k() { .reg .f32 %f<3>; ex2.approx.f32 %f0, 0f3F000000; ex2.approx.f32 %f1, 0fFF800000; ret; })");
  ASSERT_TRUE(module.ok()) << module.status();
  Memory memory;
  const auto result = interpreter::Run(*module, "k", {}, memory);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->model_results, 1u);
  EXPECT_EQ(result->steps, 3u);
}

}  // namespace
}  // namespace samebits::interpreter
