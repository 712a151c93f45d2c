// Pairs that a checker may not call equal (or must call equal), one for each way in which a semantics could be wrong.

#include "gtest/gtest.h"
#include "tests/support/pairs/pairs.h"

namespace samebits::checker {
namespace {

#define LOAD "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd5];\n"
#define ILOAD "ld.global.u32 %r3, [%rd4];\nld.global.u32 %r4, [%rd5];\n"
#define FSTORE "st.global.f32 [%rd6], %f2;\n"
#define ISTORE "st.global.u32 [%rd6], %r5;\n"

void CheckAll(const std::vector<Pair>& pairs) {
  for (const Pair& p : pairs) CheckPair(p);
}

TEST(Soundness, FloatRewrites) {
  CheckAll({
      {"min of equal operands flushes subnormals", LOAD "add.f32 %f3, %f0, %f1;\nmin.ftz.f32 %f2, %f3, %f3;\n" FSTORE,
       LOAD "add.f32 %f2, %f0, %f1;\n" FSTORE, Expect::kDistinct},
      {"min of equal canonical operands", LOAD "add.f32 %f3, %f0, %f1;\nmin.f32 %f2, %f3, %f3;\n" FSTORE,
       LOAD "add.f32 %f2, %f0, %f1;\n" FSTORE, Expect::kEquivalent},
      {"ftz min of a subnormal constant", "mov.f32 %f3, 0f00000001;\nmin.ftz.f32 %f2, %f3, %f3;\n" FSTORE,
       "mov.f32 %f2, 0f00000001;\n" FSTORE, Expect::kDistinct},
      {"negated factor and negated product differ in NaN",
       LOAD "neg.f32 %f3, %f0;\nmul.rn.f32 %f2, %f3, %f1;\n" FSTORE,
       LOAD "mul.rn.f32 %f3, %f0, %f1;\nmov.b32 %r3, %f3;\nxor.b32 %r3, %r3, 0x80000000;\nst.global.u32 [%rd6], %r3;\n",
       Expect::kDistinct},
      {"either factor negated", LOAD "neg.f32 %f3, %f0;\nmul.rn.f32 %f2, %f3, %f1;\n" FSTORE,
       LOAD "neg.f32 %f3, %f1;\nmul.rn.f32 %f2, %f3, %f0;\n" FSTORE, Expect::kEquivalent},
      {"negated product in a sum",
       LOAD "neg.f32 %f3, %f0;\nmul.rn.f32 %f3, %f3, %f1;\nadd.rn.f32 %f2, %f3, %f1;\n" FSTORE,
       LOAD "mul.rn.f32 %f3, %f0, %f1;\nsub.rn.f32 %f2, %f1, %f3;\n" FSTORE, Expect::kEquivalent},
      {"bf16 results are not canonical f16",
       "ld.global.b16 %h0, [%rd4];\nadd.rn.bf16 %h1, %h0, %h0;\nmov.b16 %h2, 0x8000;\nadd.rn.f16 %h3, %h1, %h2;\n"
       "st.global.b16 [%rd6], %h3;\n",
       "ld.global.b16 %h0, [%rd4];\nadd.rn.bf16 %h1, %h0, %h0;\nst.global.b16 [%rd6], %h1;\n", Expect::kDistinct,
       32, 1, "sm_90"},
      {"folded product of constants may be contracted",
       LOAD "mov.f32 %f3, 0f3DCCCCCD;\nmov.f32 %f4, 0f3DCCCCCD;\nmul.f32 %f5, %f3, %f4;\nadd.f32 %f2, %f0, %f5;\n" FSTORE,
       LOAD "mov.f32 %f3, 0f3DCCCCCD;\nmov.f32 %f4, 0f3DCCCCCD;\nmul.rn.f32 %f5, %f3, %f4;\nadd.f32 %f2, %f0, %f5;\n" FSTORE,
       Expect::kDistinct},
      {"saturating conversion of a known integer",
       "mov.u32 %r3, 7;\ncvt.rn.sat.f32.u32 %f2, %r3;\n" FSTORE, "mov.f32 %f2, 0f40E00000;\n" FSTORE, Expect::kDistinct},
      {"ftz", LOAD "add.rn.ftz.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "add.rn.f32 %f2, %f0, %f1;\n" FSTORE, Expect::kDistinct},
      {"rounding", LOAD "add.rz.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "add.rn.f32 %f2, %f0, %f1;\n" FSTORE, Expect::kDistinct},
      {"fma against mul and add", LOAD "fma.rn.f32 %f2, %f0, %f1, %f1;\n" FSTORE,
       LOAD "mul.rn.f32 %f3, %f0, %f1;\nadd.rn.f32 %f2, %f3, %f1;\n" FSTORE, Expect::kDistinct},
      {"approximate division", LOAD "div.approx.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "div.rn.f32 %f2, %f0, %f1;\n" FSTORE,
       Expect::kDistinct},
      {"order of subtraction", LOAD "sub.rn.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "sub.rn.f32 %f2, %f1, %f0;\n" FSTORE,
       Expect::kDistinct},
      {"addition of +0 keeps -0 apart", LOAD "add.rn.f32 %f2, %f0, 0f00000000;\n" FSTORE, LOAD "mov.f32 %f2, %f0;\n" FSTORE,
       Expect::kDistinct},
      {"product by one canonicalises NaN", LOAD "mul.rn.f32 %f2, %f0, 0f3F800000;\n" FSTORE,
       LOAD "mov.f32 %f2, %f0;\n" FSTORE, Expect::kDistinct},
      {"NaN-propagating minimum", LOAD "min.NaN.f32 %f2, %f0, %f1;\n" FSTORE, LOAD "min.f32 %f2, %f0, %f1;\n" FSTORE,
       Expect::kDistinct},
      {"xorsign minimum is not associative",
       LOAD "min.xorsign.abs.f32 %f3, %f0, %f1;\nmin.xorsign.abs.f32 %f2, %f3, %f0;\n" FSTORE,
       LOAD "min.xorsign.abs.f32 %f3, %f0, %f0;\nmin.xorsign.abs.f32 %f2, %f3, %f1;\n" FSTORE, Expect::kDistinct},
      {"unordered comparison", LOAD "setp.lt.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, %f1, %p0;\n" FSTORE,
       LOAD "setp.ltu.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, %f1, %p0;\n" FSTORE, Expect::kDistinct},
      {"complement of a comparison", LOAD "setp.lt.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, %f1, %p0;\n" FSTORE,
       LOAD "setp.geu.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f1, %f0, %p0;\n" FSTORE, Expect::kEquivalent},
      {"complement that forgets NaN", LOAD "setp.lt.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f0, %f1, %p0;\n" FSTORE,
       LOAD "setp.ge.f32 %p0, %f0, %f1;\nselp.f32 %f2, %f1, %f0, %p0;\n" FSTORE, Expect::kDistinct},
  });
}

TEST(Soundness, IntegerSemantics) {
  CheckAll({
      {"comparison of loads at 16 and 32 bits",
       "ld.global.u16 %h0, [%rd4];\nld.global.u16 %h1, [%rd5];\nsetp.eq.u16 %p0, %h0, %h1;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE,
       ILOAD "setp.eq.u32 %p0, %r3, %r4;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE, Expect::kDistinct},
      {"signed comparison of loads at 16 and 32 bits",
       "ld.global.u16 %h0, [%rd4];\nld.global.u16 %h1, [%rd5];\nsetp.lt.s16 %p0, %h0, %h1;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE,
       ILOAD "setp.lt.s32 %p0, %r3, %r4;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE, Expect::kDistinct},
      {"signed against unsigned comparison", ILOAD "setp.lt.s32 %p0, %r3, %r4;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE,
       ILOAD "setp.lt.u32 %p0, %r3, %r4;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE, Expect::kDistinct},
      {"vector load of signed bytes extends their sign",
       "ld.global.v2.s8 {%r3, %r4}, [%rd4];\nadd.s32 %r5, %r3, %r4;\n" ISTORE,
       "ld.global.v2.u8 {%r3, %r4}, [%rd4];\nadd.s32 %r5, %r3, %r4;\n" ISTORE, Expect::kDistinct},
      {"vector load of signed bytes is two loads",
       "ld.global.v2.s8 {%r3, %r4}, [%rd4];\nadd.s32 %r5, %r3, %r4;\n" ISTORE,
       "ld.global.s8 %r3, [%rd4];\nld.global.s8 %r4, [%rd4+1];\nadd.s32 %r5, %r3, %r4;\n" ISTORE, Expect::kEquivalent},
      {"saturating conversion to a signed byte extends into the register",
       ILOAD "cvt.sat.s8.s32 %r5, %r3;\n" ISTORE, ILOAD "cvt.sat.s8.s32 %r5, %r3;\nand.b32 %r5, %r5, 255;\n" ISTORE,
       Expect::kDistinct},
      {"saturating conversion to a byte", ILOAD "cvt.sat.u8.s32 %r5, %r3;\n" ISTORE,
       ILOAD "cvt.u8.s32 %r5, %r3;\n" ISTORE, Expect::kDistinct},
      {"second predicate of setp without the first",
       ILOAD "setp.lt.s32 %p1, %r3, %r4;\nsetp.eq.s32 _|%p1, %r3, %r4;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       ILOAD "setp.lt.s32 %p1, %r3, %r4;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE, Expect::kDistinct},
      {"second predicate of setp is the complement",
       ILOAD "setp.eq.s32 %p0|%p1, %r3, %r4;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       ILOAD "setp.ne.s32 %p1, %r3, %r4;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE, Expect::kEquivalent},
      {"combined predicates: and, or",
       ILOAD "setp.lt.s32 %p0, %r3, 5;\nsetp.lt.and.s32 %p1, %r4, 7, %p0;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       ILOAD "setp.lt.s32 %p0, %r3, 5;\nsetp.lt.or.s32 %p1, %r4, 7, %p0;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       Expect::kDistinct},
      {"the complement combines after negation",
       ILOAD "setp.lt.s32 %p0, %r3, 5;\nsetp.lt.and.s32 %p1|%p2, %r4, 7, %p0;\nselp.u32 %r5, 1, 0, %p2;\n" ISTORE,
       ILOAD "setp.lt.s32 %p0, %r3, 5;\nsetp.ge.and.s32 %p2, %r4, 7, %p0;\nselp.u32 %r5, 1, 0, %p2;\n" ISTORE,
       Expect::kEquivalent},
      {"right shift: arithmetic, logical", ILOAD "shr.s32 %r5, %r3, 4;\n" ISTORE, ILOAD "shr.u32 %r5, %r3, 4;\n" ISTORE,
       Expect::kDistinct},
      {"shift amounts clamp", ILOAD "shl.b32 %r5, %r3, 33;\n" ISTORE, ILOAD "mov.u32 %r5, 0;\n" ISTORE, Expect::kEquivalent},
      {"shift amounts do not wrap", ILOAD "shl.b32 %r5, %r3, 33;\n" ISTORE, ILOAD "shl.b32 %r5, %r3, 1;\n" ISTORE,
       Expect::kDistinct},
      {"funnel shift: wrap, clamp", ILOAD "shf.l.wrap.b32 %r5, %r3, %r4, 33;\n" ISTORE,
       ILOAD "shf.l.clamp.b32 %r5, %r3, %r4, 33;\n" ISTORE, Expect::kDistinct},
      {"funnel shift: sides", ILOAD "shf.l.wrap.b32 %r5, %r3, %r4, 8;\n" ISTORE,
       ILOAD "shf.r.wrap.b32 %r5, %r3, %r4, 8;\n" ISTORE, Expect::kDistinct},
      {"funnel shift: left by n is right by 32 - n", ILOAD "shf.l.wrap.b32 %r5, %r3, %r4, 8;\n" ISTORE,
       ILOAD "shf.r.wrap.b32 %r5, %r3, %r4, 24;\n" ISTORE, Expect::kEquivalent},
      {"bfe: sign", ILOAD "bfe.s32 %r5, %r3, 4, 8;\n" ISTORE, ILOAD "bfe.u32 %r5, %r3, 4, 8;\n" ISTORE, Expect::kDistinct},
      {"bfe: length past the end", ILOAD "bfe.u32 %r5, %r3, 24, 20;\n" ISTORE, ILOAD "shr.u32 %r5, %r3, 24;\n" ISTORE,
       Expect::kEquivalent},
      {"bfe: length zero", ILOAD "bfe.s32 %r5, %r3, 24, 0;\n" ISTORE, ILOAD "mov.u32 %r5, 0;\n" ISTORE, Expect::kEquivalent},
      {"bfe: position wraps at 256", ILOAD "bfe.u32 %r5, %r3, 264, 8;\n" ISTORE, ILOAD "bfe.u32 %r5, %r3, 8, 8;\n" ISTORE,
       Expect::kEquivalent},
      {"bfi: operands", ILOAD "bfi.b32 %r5, %r3, %r4, 4, 8;\n" ISTORE, ILOAD "bfi.b32 %r5, %r4, %r3, 4, 8;\n" ISTORE,
       Expect::kDistinct},
      {"bfi: length zero keeps the base", ILOAD "bfi.b32 %r5, %r3, %r4, 4, 0;\n" ISTORE, ILOAD "mov.b32 %r5, %r4;\n" ISTORE,
       Expect::kEquivalent},
      {"prmt: sign replication", ILOAD "prmt.b32 %r5, %r3, %r4, 0x8888;\n" ISTORE,
       ILOAD "prmt.b32 %r5, %r3, %r4, 0x0000;\n" ISTORE, Expect::kDistinct},
      {"prmt: order of bytes", ILOAD "prmt.b32 %r5, %r3, %r4, 0x5410;\n" ISTORE,
       ILOAD "prmt.b32 %r5, %r3, %r4, 0x7632;\n" ISTORE, Expect::kDistinct},
      {"lop3: table", ILOAD "lop3.b32 %r5, %r3, %r4, %r0, 0x96;\n" ISTORE, ILOAD "lop3.b32 %r5, %r3, %r4, %r0, 0xE8;\n" ISTORE,
       Expect::kDistinct},
      {"mul.wide: sign", ILOAD "mul.wide.s32 %rd8, %r3, %r4;\nst.global.u64 [%rd7], %rd8;\n",
       ILOAD "mul.wide.u32 %rd8, %r3, %r4;\nst.global.u64 [%rd7], %rd8;\n", Expect::kDistinct},
      {"mul: high, low", ILOAD "mul.hi.u32 %r5, %r3, %r4;\n" ISTORE, ILOAD "mul.lo.u32 %r5, %r3, %r4;\n" ISTORE,
       Expect::kDistinct},
      {"mul.hi: sign", ILOAD "mul.hi.u32 %r5, %r3, %r4;\n" ISTORE, ILOAD "mul.hi.s32 %r5, %r3, %r4;\n" ISTORE,
       Expect::kDistinct},
      {"mul.hi of known numbers", "mov.u32 %r3, 0xFFFFFFFF;\nmul.hi.u32 %r5, %r3, %r3;\n" ISTORE,
       "mov.u32 %r5, 0xFFFFFFFE;\n" ISTORE, Expect::kEquivalent},
      {"division: sign", ILOAD "div.s32 %r5, %r3, %r4;\n" ISTORE, ILOAD "div.u32 %r5, %r3, %r4;\n" ISTORE, Expect::kDistinct},
      {"division by zero", "mov.u32 %r3, 0;\ndiv.u32 %r5, %r0, %r3;\n" ISTORE, "mov.u32 %r5, 0xFFFFFFFF;\n" ISTORE,
       Expect::kUnknown},
      {"minimum: sign", ILOAD "min.s32 %r5, %r3, %r4;\n" ISTORE, ILOAD "min.u32 %r5, %r3, %r4;\n" ISTORE, Expect::kDistinct},
      {"32-bit wrap before widening",
       "add.u32 %r3, %r0, 0xFFFFFFF0;\nadd.u32 %r3, %r3, 0x10;\ncvt.u64.u32 %rd8, %r3;\nst.global.u64 [%rd7], %rd8;\n",
       "cvt.u64.u32 %rd8, %r0;\nst.global.u64 [%rd7], %rd8;\n", Expect::kEquivalent},
      {"32-bit wrap is not 64-bit carry",
       "add.u32 %r3, %r0, 0xFFFFFFF0;\ncvt.u64.u32 %rd8, %r3;\nst.global.u64 [%rd7], %rd8;\n",
       "cvt.u64.u32 %rd8, %r0;\nadd.u64 %rd8, %rd8, 0xFFFFFFF0;\nst.global.u64 [%rd7], %rd8;\n", Expect::kDistinct},
      {"64-bit comparison of wrapped numbers",
       "cvt.u64.u32 %rd8, %r0;\nshl.b64 %rd8, %rd8, 58;\nadd.s64 %rd8, %rd8, 0x4000000000000000;\n"
       "setp.gt.s64 %p0, %rd8, 0x3fffffffffffffff;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE,
       "mov.u32 %r5, 1;\n" ISTORE, Expect::kDistinct},
      {"logical 64-bit shift of a negative index",
       "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r3, %r3, 32, %r0;\ncvt.s64.s32 %rd8, %r3;\nsub.s64 %rd8, %rd8, 1024;\n"
       "shr.u64 %rd8, %rd8, 3;\nmul.wide.u32 %rd9, %r3, 16;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.u64 [%rd9], %rd8;\n",
       "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r3, %r3, 32, %r0;\ncvt.s64.s32 %rd8, %r3;\nsub.s64 %rd8, %rd8, 1024;\n"
       "shr.s64 %rd8, %rd8, 3;\nmul.wide.u32 %rd9, %r3, 16;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.u64 [%rd9], %rd8;\n",
       Expect::kDistinct, 32, 4},
  });
}

TEST(Soundness, SharedMemory) {
  CheckAll({
      {"packed halves through 32-bit shared memory",
       LOAD "cvt.rn.f16x2.f32 %r3, %f0, %f1;\nst.shared.b32 [%r1], %r3;\nbar.sync 0;\nld.shared.b32 %r5, [%r1];\n" ISTORE,
       LOAD "add.rn.f32 %f0, %f0, %f1;\ncvt.rn.f16x2.f32 %r3, %f0, %f1;\nst.shared.b32 [%r1], %r3;\nbar.sync 0;\n"
       "ld.shared.b32 %r5, [%r1];\n" ISTORE, Expect::kDistinct},
      {"packed halves survive shared memory",
       LOAD "cvt.rn.f16x2.f32 %r3, %f0, %f1;\nst.shared.b32 [%r1], %r3;\nbar.sync 0;\nld.shared.b32 %r5, [%r1];\n" ISTORE,
       LOAD "cvt.rn.f16x2.f32 %r5, %f0, %f1;\n" ISTORE, Expect::kEquivalent},
      {"size of a partial asynchronous copy",
       "shl.b32 %r3, %r0, 4;\nmov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\nmul.wide.u32 %rd8, %r0, 16;\nadd.s64 %rd8, %rd0, %rd8;\n"
       "cp.async.cg.shared.global [%r3], [%rd8], 16, 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
       "ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3];\nst.global.v4.b32 [%rd7], {%r5, %r6, %r7, %r8};\n",
       "shl.b32 %r3, %r0, 4;\nmov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\nmul.wide.u32 %rd8, %r0, 16;\nadd.s64 %rd8, %rd0, %rd8;\n"
       "cp.async.cg.shared.global [%r3], [%rd8], 16, 8;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
       "ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3];\nst.global.v4.b32 [%rd7], {%r5, %r6, %r7, %r8};\n",
       Expect::kDistinct},
      {"a partial asynchronous copy fills with zeros",
       "shl.b32 %r3, %r0, 4;\nmov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\nmul.wide.u32 %rd8, %r0, 16;\nadd.s64 %rd8, %rd0, %rd8;\n"
       "cp.async.cg.shared.global [%r3], [%rd8], 16, 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
       "ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3];\nst.global.v4.b32 [%rd7], {%r5, %r6, %r7, %r8};\n",
       "mul.wide.u32 %rd8, %r0, 16;\nadd.s64 %rd8, %rd0, %rd8;\nld.global.b32 %r5, [%rd8];\nmov.b32 %r6, 0;\n"
       "st.global.v4.b32 [%rd7], {%r5, %r6, %r6, %r6};\n",
       Expect::kEquivalent},
      {"a copy not waited for",
       "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.commit_group;\nbar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kNondeterministic},
      {"a copy waited for too little",
       "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 0;\n"
       "ld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kNondeterministic},
      {"a copy never committed, waited for by group",
       "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kNondeterministic},
      {"a copy never committed, waited for with all",
       "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kEquivalent},
      {"another lane reads a copy without a barrier",
       "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.wait_all;\nxor.b32 %r3, %r1, 4;\nld.shared.u32 %r5, [%r3];\n" ISTORE,
       "xor.b32 %r3, %r2, 4;\ncvt.u64.u32 %rd8, %r3;\nadd.s64 %rd8, %rd0, %rd8;\nld.global.u32 %r5, [%rd8];\n" ISTORE,
       Expect::kNondeterministic},
      {"a barrier removed",
       ILOAD "st.shared.u32 [%r1], %r3;\nxor.b32 %r6, %r1, 4;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       ILOAD "st.shared.u32 [%r1], %r3;\nbar.sync 0;\nxor.b32 %r6, %r1, 4;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       Expect::kNondeterministic},
      {"a warp barrier orders within a warp only",
       ILOAD "st.shared.u32 [%r1], %r3;\nbar.warp.sync 0xffffffff;\nxor.b32 %r6, %r1, 128;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       ILOAD "st.shared.u32 [%r1], %r3;\nbar.sync 0;\nxor.b32 %r6, %r1, 128;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       Expect::kNondeterministic, 64},
      {"write after read",
       ILOAD "st.shared.u32 [%r1], %r3;\nbar.sync 0;\nxor.b32 %r6, %r1, 4;\nld.shared.u32 %r5, [%r6];\n"
       "st.shared.u32 [%r1], %r4;\n" ISTORE,
       ILOAD "st.shared.u32 [%r1], %r3;\nbar.sync 0;\nxor.b32 %r6, %r1, 4;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       Expect::kNondeterministic},
      {"one lane reads before all write one value",
       "mov.u32 %r6, s;\nsetp.eq.u32 %p0, %r0, 0;\nmov.u32 %r7, 5;\n@%p0 st.shared.u32 [%r6], %r7;\nmov.u32 %r5, 0;\n"
       "@%p0 ld.shared.u32 %r5, [%r6];\nmov.u32 %r8, 9;\nst.shared.u32 [%r6], %r8;\n" ISTORE,
       "setp.eq.u32 %p0, %r0, 0;\nselp.u32 %r5, 5, 0, %p0;\n" ISTORE, Expect::kNondeterministic},
      {"all lanes write one value",
       "mov.u32 %r6, s;\nmov.u32 %r8, 9;\nst.shared.u32 [%r6], %r8;\nbar.sync 0;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       "mov.u32 %r5, 9;\n" ISTORE, Expect::kEquivalent},
      {"lanes write different values",
       "mov.u32 %r6, s;\nst.shared.u32 [%r6], %r0;\nbar.sync 0;\nld.shared.u32 %r5, [%r6];\n" ISTORE,
       "mov.u32 %r5, 31;\n" ISTORE, Expect::kNondeterministic},
      {"shared memory that was never written", "bar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "bar.sync 0;\nld.shared.u32 %r5, [%r1+64];\n" ISTORE, Expect::kNotEquivalent},
      {"misaligned shared access", ILOAD "st.shared.u32 [%r1+2], %r3;\n" "mov.u32 %r5, 1;\n" ISTORE,
       "mov.u32 %r5, 1;\n" ISTORE, Expect::kUnknown},
  });
}

TEST(Soundness, ControlFlowAndRegisters) {
  CheckAll({
      {"registers never written", "st.global.u32 [%rd6], %r20;\n", "st.global.u32 [%rd6], %r21;\n", Expect::kNotEquivalent},
      {"lanes keep registers over a data-dependent branch of others",
       ILOAD "setp.ge.u32 %p0, %r0, 16;\nmov.u32 %r5, %r3;\n@%p0 bra HIGH;\nadd.u32 %r7, %r3, 1;\nbra JOIN;\n"
       "HIGH:\nsetp.eq.u32 %p1, %r3, 7;\n@%p1 bra SKIP;\nmov.u32 %r7, %r4;\nSKIP:\nmov.u32 %r8, %r4;\nJOIN:\n"
       "setp.lt.u32 %p2, %r0, 16;\n@%p2 st.global.u32 [%rd6], %r7;\n",
       ILOAD "setp.ge.u32 %p0, %r0, 16;\nmov.u32 %r5, %r3;\n@%p0 bra HIGH;\nadd.u32 %r7, %r3, 2;\nbra JOIN;\n"
       "HIGH:\nsetp.eq.u32 %p1, %r3, 7;\n@%p1 bra SKIP;\nmov.u32 %r7, %r4;\nSKIP:\nmov.u32 %r8, %r4;\nJOIN:\n"
       "setp.lt.u32 %p2, %r0, 16;\n@%p2 st.global.u32 [%rd6], %r7;\n",
       Expect::kDistinct},
      {"sides that meet at the last block of a loop, placed first",
       "mov.u32 %r5, 0;\nmov.f32 %f2, 0f00000000;\nbra BODY;\nNEXT:\nadd.rn.f32 %f2, %f2, %f1;\nadd.u32 %r5, %r5, 1;\n"
       "add.s64 %rd4, %rd4, 128;\nsetp.eq.u32 %p1, %r5, 3;\n@%p1 bra DONE;\nBODY:\nld.global.f32 %f0, [%rd4];\n"
       "mov.f32 %f1, %f0;\nsetp.lt.f32 %p0, %f0, 0f00000000;\n@!%p0 bra NEXT;\nex2.approx.f32 %f1, %f0;\nbra NEXT;\n"
       "DONE:\nst.global.f32 [%rd6], %f2;\n",
       "mov.u32 %r5, 0;\nmov.f32 %f2, 0f00000000;\nBODY:\nld.global.f32 %f0, [%rd4];\nmov.f32 %f1, %f0;\n"
       "setp.lt.f32 %p0, %f0, 0f00000000;\n@!%p0 bra NEXT;\nex2.approx.f32 %f1, %f0;\nNEXT:\nadd.rn.f32 %f2, %f2, %f1;\n"
       "add.u32 %r5, %r5, 1;\nadd.s64 %rd4, %rd4, 128;\nsetp.lt.u32 %p1, %r5, 3;\n@%p1 bra BODY;\n"
       "st.global.f32 [%rd6], %f2;\n",
       Expect::kEquivalent},
      {"a loop whose end depends on data",
       ILOAD "mov.u32 %r5, 0;\nLOOP:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, %r3;\n@%p0 bra LOOP;\n" ISTORE,
       ILOAD "mov.u32 %r5, 0;\nLOOP:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, %r3;\n@%p0 bra LOOP;\n" ISTORE,
       Expect::kUnknown},
      {"a wait under a data-dependent predicate",
       ILOAD "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.commit_group;\nsetp.eq.u32 %p0, %r3, 7;\n"
       "@%p0 cp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kNotEquivalent},
      {"a wait on one side of a data-dependent branch",
       ILOAD "cp.async.ca.shared.global [%r1], [%rd4], 4;\ncp.async.commit_group;\nsetp.eq.u32 %p0, %r3, 7;\n"
       "@%p0 bra SKIP;\ncp.async.wait_group 0;\nSKIP:\nmov.u32 %r6, 0;\nbar.sync 0;\nld.shared.u32 %r5, [%r1];\n" ISTORE,
       "ld.global.u32 %r5, [%rd4];\n" ISTORE, Expect::kNotEquivalent},
      {"a warp barrier under a data-dependent predicate",
       ILOAD "st.shared.u32 [%r1], %r3;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bar.warp.sync 0xffffffff;\nxor.b32 %r6, %r1, 4;\n"
       "ld.shared.u32 %r5, [%r6];\n" ISTORE,
       "xor.b32 %r3, %r2, 4;\ncvt.u64.u32 %rd8, %r3;\nadd.s64 %rd8, %rd0, %rd8;\nld.global.u32 %r5, [%rd8];\n" ISTORE,
       Expect::kNotEquivalent},
      {"a shuffle on one side of a data-dependent branch",
       ILOAD "mov.u32 %r5, 0;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bra SKIP;\n"
       "shfl.sync.bfly.b32 %r5, %r3, 1, 31, 0xffffffff;\nSKIP:\n" ISTORE,
       ILOAD "shfl.sync.bfly.b32 %r6, %r3, 1, 31, 0xffffffff;\nsetp.eq.u32 %p0, %r3, 7;\nselp.u32 %r5, 0, %r6, %p0;\n" ISTORE,
       Expect::kNotEquivalent},
      {"active lanes under a data-dependent branch",
       ILOAD "mov.u32 %r5, 0;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bra SKIP;\nactivemask.b32 %r5;\nSKIP:\n" ISTORE,
       ILOAD "mov.u32 %r5, 0;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bra SKIP;\nmov.u32 %r5, 0xffffffff;\nSKIP:\n" ISTORE,
       Expect::kNotEquivalent},
      {"active lanes of a diverged warp",
       "mov.u32 %r5, 0;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 bra SKIP;\nactivemask.b32 %r5;\nSKIP:\n" ISTORE,
       "mov.u32 %r5, 0;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 bra SKIP;\nmov.u32 %r5, 0xffffff80;\nSKIP:\n" ISTORE,
       Expect::kNotEquivalent},
      {"guard", ILOAD "setp.lt.u32 %p0, %r3, 7;\n@%p0 st.global.u32 [%rd6], %r4;\n",
       ILOAD "setp.lt.u32 %p0, %r3, 7;\n@!%p0 st.global.u32 [%rd6], %r4;\n", Expect::kDistinct},
      {"guard against none", ILOAD "setp.lt.u32 %p0, %r3, 7;\n@%p0 st.global.u32 [%rd6], %r4;\n",
       ILOAD "st.global.u32 [%rd6], %r4;\n", Expect::kDistinct},
      {"guarded load merges with what was there",
       ILOAD "mov.u32 %r5, 1;\nsetp.lt.u32 %p0, %r3, 7;\n@%p0 ld.global.u32 %r5, [%rd5];\n" ISTORE,
       ILOAD "mov.u32 %r5, 2;\nsetp.lt.u32 %p0, %r3, 7;\n@%p0 ld.global.u32 %r5, [%rd5];\n" ISTORE, Expect::kDistinct},
      {"guarded load is a select",
       ILOAD "mov.u32 %r5, 1;\nsetp.lt.u32 %p0, %r3, 7;\n@%p0 ld.global.u32 %r5, [%rd5];\n" ISTORE,
       ILOAD "setp.lt.u32 %p0, %r3, 7;\nselp.u32 %r5, %r4, 1, %p0;\n" ISTORE, Expect::kEquivalent},
      {"stored lanes", ILOAD "setp.lt.u32 %p0, %r0, 16;\n@%p0 st.global.u32 [%rd6], %r4;\n",
       ILOAD "setp.lt.u32 %p0, %r0, 17;\n@%p0 st.global.u32 [%rd6], %r4;\n", Expect::kDistinct},
  });
}

TEST(Soundness, WarpInstructions) {
  CheckAll({
      {"second predicate of a shuffle without its value",
       ILOAD "setp.lt.u32 %p0, %r0, 3;\nshfl.sync.down.b32 _|%p0, %r3, 1, 31, 0xffffffff;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE,
       ILOAD "setp.lt.u32 %p0, %r0, 3;\nselp.u32 %r5, 1, 0, %p0;\n" ISTORE, Expect::kNotEquivalent},
      {"shuffle: down, up", ILOAD "shfl.sync.down.b32 %r5, %r3, 1, 31, 0xffffffff;\n" ISTORE,
       ILOAD "shfl.sync.up.b32 %r5, %r3, 1, 0, 0xffffffff;\n" ISTORE, Expect::kDistinct},
      {"shuffle: width of the segment", ILOAD "shfl.sync.down.b32 %r5, %r3, 1, 31, 0xffffffff;\n" ISTORE,
       ILOAD "shfl.sync.down.b32 %r5, %r3, 1, 0x101f, 0xffffffff;\n" ISTORE, Expect::kDistinct},
      {"shuffle: butterfly is indexed by lane xor", ILOAD "shfl.sync.bfly.b32 %r5, %r3, 5, 31, 0xffffffff;\n" ISTORE,
       ILOAD "xor.b32 %r6, %r0, 5;\nshfl.sync.idx.b32 %r5, %r3, %r6, 31, 0xffffffff;\n" ISTORE, Expect::kEquivalent},
      {"shuffle: a lane outside its own member mask", ILOAD "shfl.sync.idx.b32 %r5, %r3, 0, 31, 1;\n" ISTORE,
       ILOAD "shfl.sync.idx.b32 %r5, %r3, 0, 31, 0xffffffff;\n" ISTORE, Expect::kUnknown},
      {"vote: a lane outside the member mask",
       "setp.lt.u32 %p0, %r0, 20;\nvote.sync.ballot.b32 %r5, %p0, 0xffff;\n" ISTORE,
       "setp.lt.u32 %p0, %r0, 20;\nvote.sync.ballot.b32 %r5, %p0, 0xffffffff;\n" ISTORE, Expect::kUnknown},
      {"vote: any, all", "setp.lt.u32 %p0, %r0, 20;\nvote.sync.any.pred %p1, %p0, 0xffffffff;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       "setp.lt.u32 %p0, %r0, 20;\nvote.sync.all.pred %p1, %p0, 0xffffffff;\nselp.u32 %r5, 1, 0, %p1;\n" ISTORE,
       Expect::kDistinct},
      {"redux: add, xor", ILOAD "redux.sync.add.s32 %r5, %r3, 0xffffffff;\n" ISTORE,
       ILOAD "redux.sync.xor.b32 %r5, %r3, 0xffffffff;\n" ISTORE, Expect::kDistinct},
      {"redux: signed, unsigned maximum", ILOAD "redux.sync.max.s32 %r5, %r3, 0xffffffff;\n" ISTORE,
       ILOAD "redux.sync.max.u32 %r5, %r3, 0xffffffff;\n" ISTORE, Expect::kDistinct},
  });
}

// A warpgroup multiplies a 64 x 16 tile by a 16 x 8 tile from shared memory.
#define TILES                                                                                                        \
  "mul.wide.u32 %rd8, %r0, 16;\nadd.s64 %rd9, %rd0, %rd8;\nadd.s64 %rd10, %rd1, %rd8;\nshl.b32 %r3, %r0, 4;\n"       \
  "mov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\nld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd9];\n"                   \
  "st.shared.v4.u32 [%r3], {%r10, %r11, %r12, %r13};\nsetp.lt.u32 %p0, %r0, 16;\n"                                  \
  "@%p0 ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd10];\n"                                                      \
  "@%p0 st.shared.v4.u32 [%r3+2048], {%r14, %r15, %r16, %r17};\n"                                                   \
  "shr.u32 %r5, %r4, 4;\ncvt.u64.u32 %rd11, %r5;\nor.b64 %rd11, %rd11, 0x1000080000;\nadd.s64 %rd12, %rd11, 128;\n" \
  "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\nsetp.eq.u32 %p1, %r0, %r0;\n"
#define PROXY "fence.proxy.async.shared::cta;\n"
#define BAR "bar.sync 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define MMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd11, %rd12, %p1, 1, 1, 0, 0;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define RESULT "st.global.v4.f32 [%rd7], {%f0, %f1, %f2, %f3};\n"

TEST(Soundness, WarpgroupMatrices) {
  const char* good = TILES PROXY BAR FENCE MMA COMMIT WAIT RESULT;
  CheckAll({
      {"as it should be", good, TILES BAR PROXY BAR FENCE MMA COMMIT WAIT RESULT, Expect::kEquivalent, 128, 1, "sm_90a"},
      {"no wait", good, TILES PROXY BAR FENCE MMA COMMIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"weaker wait", good, TILES PROXY BAR FENCE MMA COMMIT "wgmma.wait_group.sync.aligned 1;\n" RESULT,
       Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"no commit", good, TILES PROXY BAR FENCE MMA WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"no fence of registers", good, TILES PROXY BAR MMA COMMIT WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"fence of registers before they are written", good,
       FENCE TILES PROXY BAR MMA COMMIT WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"no proxy fence", good, TILES BAR FENCE MMA COMMIT WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"proxy fence of global memory", good, TILES "fence.proxy.async.global;\n" BAR FENCE MMA COMMIT WAIT RESULT,
       Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"no barrier", good, TILES PROXY FENCE MMA COMMIT WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"tile overwritten before the wait", good,
       TILES PROXY BAR FENCE MMA COMMIT "st.shared.u32 [%r3], %r0;\n" WAIT RESULT, Expect::kNondeterministic, 128, 1, "sm_90a"},
      {"tile overwritten after the wait", good, TILES PROXY BAR FENCE MMA COMMIT WAIT "st.shared.u32 [%r3], %r0;\n" RESULT,
       Expect::kEquivalent, 128, 1, "sm_90a"},
      {"accumulators dropped", TILES "mov.f32 %f0, 0f3F800000;\n" PROXY BAR FENCE MMA COMMIT WAIT RESULT,
       good, Expect::kDistinct, 128, 1, "sm_90a"},
      {"accumulators not read", TILES "mov.f32 %f0, 0f3F800000;\nsetp.ne.u32 %p1, %r0, %r0;\n" PROXY BAR FENCE MMA COMMIT WAIT RESULT,
       good, Expect::kEquivalent, 128, 1, "sm_90a"},
      {"operand tiles exchanged in place", good, TILES "add.s64 %rd12, %rd11, 112;\n" PROXY BAR FENCE MMA COMMIT WAIT RESULT,
       Expect::kNotEquivalent, 128, 1, "sm_90a"},
      {"another stride", good, TILES "or.b64 %rd11, %rd11, 0x800000000;\n" PROXY BAR FENCE MMA COMMIT WAIT RESULT,
       Expect::kNotEquivalent, 128, 1, "sm_90a"},
      {"one step more", good, TILES PROXY BAR FENCE MMA MMA COMMIT WAIT RESULT, Expect::kDistinct, 128, 1, "sm_90a"},
  });
}

TEST(Soundness, Calls) {
  const char* functions =
      ".func (.param .b32 q) inc(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [x];\nadd.u32 %r1, %r1, 1;\n"
      "st.param.b32 [q], %r1;\nret;\n}\n"
      ".func (.param .b32 q) wide(.param .b64 x)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, [x];\n"
      "cvt.u32.u64 %r1, %rd1;\nst.param.b32 [q], %r1;\nret;\n}\n"
      ".func (.param .b32 q) down(.param .b32 x)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n.param .b32 y;\n.param .b32 z;\n"
      "ld.param.u32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nsub.u32 %r1, %r1, 1;\nst.param.b32 [y], %r1;\n"
      "call.uni (z), down, (y);\nld.param.b32 %r1, [z];\nDONE:\nst.param.b32 [q], %r1;\nret;\n}\n";
  CheckAll({
      {"a function is its body",
       ILOAD "{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %r3;\ncall.uni (q0), inc, (p0);\nld.param.b32 %r5, [q0];\n}\n" ISTORE,
       ILOAD "add.u32 %r5, %r3, 1;\n" ISTORE, Expect::kEquivalent, 32, 1, "sm_80", functions},
      {"an argument passed anew on one side of a data-dependent branch",
       ILOAD "{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %r3;\nsetp.eq.u32 %p0, %r3, 7;\n@%p0 bra SKIP;\n"
       "st.param.b32 [p0], %r4;\nSKIP:\ncall.uni (q0), inc, (p0);\nld.param.b32 %r5, [q0];\n}\n" ISTORE,
       ILOAD "add.u32 %r5, %r4, 1;\n" ISTORE, Expect::kNotEquivalent, 32, 1, "sm_80", functions},
      {"half of an argument passed anew",
       ILOAD "{\n.param .b64 p0;\n.param .b32 q0;\nmov.b64 %rd8, {%r3, %r3};\nst.param.b64 [p0], %rd8;\nst.param.b32 [p0], %r4;\n"
       "call.uni (q0), wide, (p0);\nld.param.b32 %r5, [q0];\n}\n" ISTORE,
       ILOAD "mov.u32 %r5, %r3;\n" ISTORE, Expect::kNotEquivalent, 32, 1, "sm_80", functions},
      {"lanes that return apart keep their values",
       ILOAD "{\n.param .b32 p0;\n.param .b32 q0;\nsetp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\nst.param.b32 [p0], %r3;\n"
       "call (q0), inc, (p0);\nbra JOIN;\nLOW:\nst.param.b32 [p0], %r4;\ncall (q0), inc, (p0);\nJOIN:\n"
       "ld.param.b32 %r5, [q0];\n}\n" ISTORE,
       ILOAD "setp.lt.u32 %p0, %r0, 16;\nselp.u32 %r5, %r4, %r3, %p0;\nadd.u32 %r5, %r5, 1;\n" ISTORE, Expect::kEquivalent,
       32, 1, "sm_80", functions},
      {"recursion",
       "{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], 3;\ncall.uni (q0), down, (p0);\nld.param.b32 %r5, [q0];\n}\n" ISTORE,
       "mov.u32 %r5, 0;\n" ISTORE, Expect::kUnknown, 32, 1, "sm_80", functions},
  });
}

TEST(Soundness, GlobalMemory) {
  CheckAll({
      {"load offset", ILOAD "mov.u32 %r5, %r3;\n" ISTORE, "ld.global.u32 %r5, [%rd4+4];\n" ISTORE, Expect::kDistinct},
      {"swapped buffers", ILOAD "sub.u32 %r5, %r3, %r4;\n" ISTORE, ILOAD "sub.u32 %r5, %r4, %r3;\n" ISTORE, Expect::kDistinct},
      {"two lanes store different values to one address", "st.global.u32 [%rd2], %r0;\n", "st.global.u32 [%rd2], 31;\n",
       Expect::kNotEquivalent},
      {"all lanes store one value to one address", "mov.u32 %r5, 3;\nst.global.u32 [%rd2], %r5;\n",
       "mov.u32 %r5, 3;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 st.global.u32 [%rd2], %r5;\n", Expect::kEquivalent},
      {"the later store of one lane counts", ILOAD "st.global.u32 [%rd6], %r3;\nst.global.u32 [%rd6], %r4;\n",
       ILOAD "st.global.u32 [%rd6], %r4;\n", Expect::kEquivalent},
      {"stores that overlap in part", ILOAD "st.global.u32 [%rd6], %r3;\nst.global.u16 [%rd6+2], %r4;\n",
       ILOAD "st.global.u32 [%rd6], %r3;\n", Expect::kNotEquivalent},
      {"a stored value read back", ILOAD "st.global.u32 [%rd6], %r3;\nld.global.u32 %r5, [%rd6];\nst.global.u32 [%rd6+128], %r5;\n",
       ILOAD "st.global.u32 [%rd6], %r3;\nst.global.u32 [%rd6+128], %r3;\n", Expect::kNotEquivalent},
      {"another lane's element read in place",
       "xor.b32 %r3, %r2, 4;\ncvt.u64.u32 %rd8, %r3;\nadd.s64 %rd8, %rd2, %rd8;\nld.global.u32 %r5, [%rd8];\n" ISTORE,
       "ld.global.u32 %r5, [%rd6];\n" ISTORE, Expect::kNondeterministic},
      {"an asynchronous copy of an element stored meanwhile",
       "cp.async.ca.shared.global [%r1], [%rd6], 4;\ncp.async.commit_group;\nmov.u32 %r6, 1;\nst.global.u32 [%rd6], %r6;\n"
       "cp.async.wait_group 0;\nld.shared.u32 %r5, [%r1];\nst.global.u32 [%rd6+128], %r5;\n",
       "ld.global.u32 %r5, [%rd6];\nmov.u32 %r6, 1;\nst.global.u32 [%rd6], %r6;\nst.global.u32 [%rd6+128], %r5;\n",
       Expect::kNotEquivalent},
      {"a floating-point atomic", LOAD "red.global.add.f32 [%rd6], %f0;\n", LOAD "red.global.add.f32 [%rd6], %f0;\n",
       Expect::kNondeterministic},
  });
}

}  // namespace
}  // namespace samebits::checker
