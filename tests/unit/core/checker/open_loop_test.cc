// Loops of open trip count: equal where steps, bounds and first values are, and nowhere else.

#include <string>

#include "core/checker/checker.h"
#include "core/expr/fn.h"
#include "gtest/gtest.h"

namespace samebits::checker {
namespace {

std::string Whole(const std::string& body) {
  return
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 o, .param .u32 n, .param .u32 m)\n{\n"
      ".reg .pred %p<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<32>;\n.shared .align 16 .b8 s[4096];\n"
      "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nld.param.u64 %rd2, [o];\n"
      "ld.param.u32 %r8, [n];\nld.param.u32 %r9, [m];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n" +
      body + "ret;\n}\n";
}

Signature Of(const std::string& body, uint32_t threads = 64) {
  Launch launch;
  launch.block = {threads, 1, 1};
  auto signature = ComputeSignature(Whole(body), launch);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.ok() ? *signature : Signature{};
}

void ExpectSame(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << a.reason_code << " " << a.reason << ", line " << a.place.line;
  EXPECT_EQ(b.status, SignatureStatus::kOk) << b.reason_code << " " << b.reason << ", line " << b.place.line;
  EXPECT_EQ(a.digest, b.digest);
}

void ExpectDifferent(const Signature& a, const Signature& b) {
  EXPECT_EQ(a.status, SignatureStatus::kOk) << a.reason_code << " " << a.reason << ", line " << a.place.line;
  EXPECT_EQ(b.status, SignatureStatus::kOk) << b.reason_code << " " << b.reason << ", line " << b.place.line;
  EXPECT_NE(a.digest, b.digest);
}

// o[tid] = sum of x[block * n + i] for i = tid, tid + step, ... while i < bound.
struct Sum {
  std::string seed = "0f00000000", first = "mov.u32 %r10, %r0;\n", step = "64", load = "0", bound = "%r8", op = "add.rn.f32 %f0, %f0, %f1;\n",
              compare = "lt", between, after;
};

std::string Text(const Sum& s) {
  return "mov.f32 %f0, " + s.seed + ";\n" + s.first +
         "mul.lo.s32 %r11, %r1, %r8;\n"
         "L:\nadd.s32 %r12, %r11, %r10;\nmul.wide.s32 %rd8, %r12, 4;\nadd.s64 %rd8, %rd0, %rd8;\n"
         "ld.global.f32 %f1, [%rd8+" + s.load + "];\n" + s.op + s.between + "add.s32 %r10, %r10, " + s.step +
         ";\nsetp." + s.compare + ".s32 %p0, %r10, " + s.bound + ";\n@%p0 bra L;\n" + s.after +
         "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
}

TEST(OpenLoop, AttacksOnTheLoop) {
  const Signature a = Of(Text({}));
  ASSERT_EQ(a.status, SignatureStatus::kOk) << a.reason;
  const auto with = [](auto change) {
    Sum s;
    change(&s);
    return Of(Text(s));
  };
  ExpectSame(a, with([](Sum* s) { s->op = "add.rn.f32 %f0, %f1, %f0;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->step = "80"; }));                                 // another stride
  ExpectDifferent(a, with([](Sum* s) { s->step = "128"; }));
  ExpectDifferent(a, with([](Sum* s) { s->bound = "%r9"; }));                               // another bound
  ExpectDifferent(a, with([](Sum* s) { s->bound = "4096"; }));
  ExpectDifferent(a, with([](Sum* s) { s->seed = "0f3F800000"; }));                         // another seed
  ExpectDifferent(a, with([](Sum* s) { s->load = "4"; }));                                  // another element
  ExpectDifferent(a, with([](Sum* s) { s->op = "sub.rn.f32 %f0, %f0, %f1;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->op = "add.rz.f32 %f0, %f0, %f1;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->op = "fma.rn.f32 %f0, %f1, %f1, %f0;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->op = "add.rn.f32 %f0, %f0, %f1;\nadd.rn.f32 %f0, %f0, %f1;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->first = "add.s32 %r10, %r0, 64;\n"; }));          // dropped first trip
  ExpectDifferent(a, with([](Sum* s) { s->first = "sub.s32 %r8, %r8, 16;\nmov.u32 %r10, %r0;\n"; }));
  ExpectDifferent(a, with([](Sum* s) { s->between = "add.s32 %r14, %r8, 16;\n"; s->bound = "%r14"; }));  // further trips
  ExpectDifferent(a, with([](Sum* s) { s->compare = "le"; }));
  ExpectDifferent(a, with([](Sum* s) { s->after = "neg.f32 %f0, %f0;\n"; }));
  // One element more in some sizes: i < n - 64 + 64 is the same, i < n + 64 is not.
  ExpectDifferent(a, with([](Sum* s) { s->between = "add.s32 %r14, %r8, 64;\n"; s->bound = "%r14"; }));
}

TEST(OpenLoop, IsShownAsAFold) {
  EXPECT_EQ(expr::AttrName(expr::Fn::kFold, ~uint64_t{0}), "");
  Launch launch;
  launch.block = {64, 1, 1};
  for (const Sum& other : {Sum{.step = "128"}, Sum{.load = "4"}, Sum{.op = "fma.rn.f32 %f0, %f1, %f1, %f0;\n"}}) {
    const auto c = Explain(Whole(Text({})), launch, Whole(Text(other)), launch);
    ASSERT_TRUE(c.ok() && c->difference) << c.status();
    EXPECT_NE(c->difference->a.tree.find("fold"), std::string::npos) << c->difference->a.tree;
    EXPECT_LT(c->difference->a.tree.size(), 20000u);
  }
  const auto map = Inspect(Whole(Text({})), launch);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_NE(map->find("fold"), std::string::npos) << *map;
}

TEST(OpenLoop, WalkedBackwards) {
  const std::string back =
      "mov.f32 %f0, 0f00000000;\nsub.s32 %r10, %r8, 1;\nsub.s32 %r10, %r10, %r0;\nmul.lo.s32 %r11, %r1, %r8;\n"
      "L:\nadd.s32 %r12, %r11, %r10;\nmul.wide.s32 %rd8, %r12, 4;\nadd.s64 %rd8, %rd0, %rd8;\n"
      "ld.global.f32 %f1, [%rd8];\nadd.rn.f32 %f0, %f0, %f1;\nsub.s32 %r10, %r10, 64;\nsetp.ge.s32 %p0, %r10, 0;\n@%p0 bra L;\n"
      "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
  ExpectSame(Of(back), Of(back));
  ExpectDifferent(Of(Text({})), Of(back));
}

// A pointer that steps, and the same address from the counter.
TEST(OpenLoop, PointersAndCountersAreOne) {
  const std::string pointer =
      "mov.f32 %f0, 0f00000000;\nmov.u32 %r10, %r0;\nmul.lo.s32 %r11, %r1, %r8;\nadd.s32 %r11, %r11, %r0;\n"
      "mul.wide.s32 %rd8, %r11, 4;\nadd.s64 %rd8, %rd0, %rd8;\n"
      "L:\nld.global.f32 %f1, [%rd8];\nadd.rn.f32 %f0, %f0, %f1;\nadd.s64 %rd8, %rd8, 256;\nadd.s32 %r10, %r10, 64;\n"
      "setp.lt.s32 %p0, %r10, %r8;\n@%p0 bra L;\n"
      "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
  ExpectSame(Of(Text({})), Of(pointer));
  std::string faster = pointer;
  faster.replace(faster.find("%rd8, 256"), 9, "%rd8, 260");
  ExpectDifferent(Of(pointer), Of(faster));
}

// Two accumulators that take each other's place.
TEST(OpenLoop, CoupledAccumulators) {
  const auto pair = [](const char* body, const char* seed) {
    return Of(std::string("mov.f32 %f2, ") + seed + ";\n" +
              Text({.op = body, .after = "add.rn.f32 %f0, %f0, %f2;\n"}));
  };
  const char* own = "add.rn.f32 %f0, %f0, %f1;\nmul.rn.f32 %f2, %f2, %f1;\n";
  const char* crossed = "mov.f32 %f3, %f0;\nadd.rn.f32 %f0, %f2, %f1;\nmul.rn.f32 %f2, %f3, %f1;\n";
  ExpectDifferent(pair(own, "0f3F800000"), pair(crossed, "0f3F800000"));
  ExpectDifferent(pair(crossed, "0f3F800000"), pair(crossed, "0f40000000"));
  ExpectSame(pair(crossed, "0f3F800000"), pair(crossed, "0f3F800000"));
}

// Each trip sums over the block through shared memory; all lanes leave together.
std::string Exchanged(const std::string& barrier_before, const std::string& barrier_after, const std::string& value,
                      const std::string& neighbour = "4") {
  return "mov.f32 %f0, 0f00000000;\nmov.u32 %r10, 0;\nmul.lo.s32 %r11, %r1, %r8;\nadd.s32 %r11, %r11, %r0;\n"
         "mov.u32 %r20, s;\nshl.b32 %r21, %r0, 2;\nadd.s32 %r22, %r20, %r21;\nxor.b32 %r23, %r21, " + neighbour +
         ";\nadd.s32 %r23, %r20, %r23;\nL:\nadd.s32 %r12, %r11, %r10;\nmul.wide.s32 %rd8, %r12, 4;\nadd.s64 %rd8, %rd0, %rd8;\n"
         "ld.global.f32 %f1, [%rd8];\n" + barrier_before + "st.shared.f32 [%r22], " + value + ";\n" + barrier_after +
         "ld.shared.f32 %f2, [%r23];\nadd.rn.f32 %f3, %f1, %f2;\nadd.rn.f32 %f0, %f0, %f3;\nadd.s32 %r10, %r10, 64;\n"
         "setp.lt.s32 %p0, %r10, %r8;\n@%p0 bra L;\n"
         "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
}

TEST(OpenLoop, BarriersAndSharedMemoryInStep) {
  const char* bar = "bar.sync 0;\n";
  const Signature a = Of(Exchanged(bar, bar, "%f1"));
  ExpectSame(a, a);
  ExpectDifferent(a, Of(Exchanged(bar, bar, "%f1", "8")));
  EXPECT_EQ(Of(Exchanged("", bar, "%f1")).reason_code, "DATA_RACE") << "the next trip overwrites what this one reads";
  EXPECT_EQ(Of(Exchanged(bar, "", "%f1")).reason_code, "DATA_RACE");
}

TEST(OpenLoop, StateOfOtherLanesIsNotFolded) {
  const char* bar = "bar.sync 0;\n";
  EXPECT_EQ(Of(Exchanged(bar, bar, "%f0")).reason_code, "LOOP");
  const std::string shuffled = Text({.first = "mov.u32 %r10, 0;\n", .op = "shfl.sync.bfly.b32 %f2, %f0, 1, 31, -1;\nadd.rn.f32 %f0, %f2, %f1;\n"});
  EXPECT_EQ(Of(shuffled, 32).reason_code, "LOOP");
  const std::string joined =
      Text({.first = "mov.u32 %r10, 0;\n", .op = "shfl.sync.bfly.b32 %f2, %f0, 1, 31, -1;\nadd.rn.f32 %f0, %f2, %f0;\nadd.rn.f32 %f0, %f0, %f1;\n"});
  EXPECT_EQ(Of(joined, 32).reason_code, "LOOP");
}

TEST(OpenLoop, WhatAnIterationLeavesInSharedMemoryIsUnknown) {
  const std::string carried =
      "mov.f32 %f0, 0f00000000;\nmov.u32 %r10, 0;\nmov.u32 %r20, s;\nshl.b32 %r21, %r0, 2;\nadd.s32 %r22, %r20, %r21;\n"
      "st.shared.f32 [%r22], %f0;\nL:\nld.shared.f32 %f1, [%r22];\nadd.rn.f32 %f0, %f0, %f1;\nadd.rn.f32 %f1, %f1, 0f3F800000;\n"
      "st.shared.f32 [%r22], %f1;\nadd.s32 %r10, %r10, 16;\nsetp.lt.s32 %p0, %r10, %r8;\n@%p0 bra L;\n"
      "mad.lo.u32 %r13, %r1, 64, %r0;\nmul.wide.u32 %rd9, %r13, 4;\nadd.s64 %rd9, %rd2, %rd9;\nst.global.f32 [%rd9], %f0;\n";
  EXPECT_EQ(Of(carried).status, SignatureStatus::kUnknown);
}

TEST(OpenLoop, TheLastValueOfATemporaryIsKnown) {
  ExpectDifferent(Of(Text({})), Of(Text({.after = "mov.f32 %f0, %f1;\n"})));
  EXPECT_NE(Of(Text({.step = "65"})).digest, Of(Text({})).digest) << "no closed form, or another sum";
}

TEST(OpenLoop, StoresInsideStayUnknown) {
  EXPECT_EQ(Of(Text({.between = "st.global.f32 [%rd8], %f0;\n"})).status, SignatureStatus::kUnknown);
}

}  // namespace
}  // namespace samebits::checker
