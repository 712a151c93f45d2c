// Control flow, memory, barriers, warps, errors.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/interpreter/run_kernel.h"

namespace samebits::interpreter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint32_t> MustRun(const std::string& text, const std::vector<uint32_t>& in, size_t words,
                              const Launch& launch = {}) {
  const auto out = RunText(text, in, words, launch);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : std::vector<uint32_t>(words);
}

absl::Status StatusOf(const std::string& text, const Launch& launch = {}) {
  return RunText(text, {1, 2, 3, 4}, 64, launch).status();
}

TEST(Execution, LoopAndGuards) {
  const std::string text = Kernel(R"(
  mov.b32 %r1, 0; mov.b32 %r2, 1;
again:
  add.s32 %r1, %r1, %r2;
  add.s32 %r2, %r2, 1;
  setp.le.s32 %p1, %r2, 10;
  @%p1 bra again;
  @!%p1 add.s32 %r1, %r1, 100;
  st.global.b32 [%out], %r1;)");
  EXPECT_THAT(MustRun(text, {}, 1), ElementsAre(155));
}

TEST(Execution, DivergentLanesMeetAtShuffle) {
  // Odd lanes take a longer path before the shuffle that all lanes execute.
  const std::string text = Kernel(R"(
  mov.b32 %r1, %tid0;
  and.b32 %r2, %tid0, 1;
  setp.eq.s32 %p1, %r2, 0;
  @%p1 bra join;
  mov.b32 %r3, 0;
spin:
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p2, %r3, 20;
  @%p2 bra spin;
  add.s32 %r1, %r1, %r3;
join:
  shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;
  st.global.b32 [%out], %r4;)");
  const auto out = MustRun(text, {}, 32, {.block = {32, 1, 1}});
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane % 2 == 0 ? lane + 21 : lane - 1);
}

TEST(Execution, ShuffleModesAndSegments) {
  const std::string text = Kernel(R"(
  shfl.sync.up.b32 %r1|%p1, %tid0, 3, 0x1800, -1;
  shfl.sync.down.b32 %r2|%p2, %tid0, 3, 0x181f, -1;
  shfl.sync.idx.b32 %r3|%p3, %tid0, 5, 0x181f, -1;
  shl.b32 %r4, %r1, 16; shl.b32 %r5, %r2, 8; or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r3;
  selp.b32 %r5, 0x1000000, 0, %p1; or.b32 %r4, %r4, %r5;
  selp.b32 %r5, 0x2000000, 0, %p2; or.b32 %r4, %r4, %r5;
  st.global.b32 [%out], %r4;)");
  const auto out = MustRun(text, {}, 32, {.block = {32, 1, 1}});
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t first = lane / 8 * 8, in_segment = lane % 8;
    const bool up_ok = in_segment >= 3, down_ok = in_segment < 5;
    const uint32_t up = up_ok ? lane - 3 : lane, down = down_ok ? lane + 3 : lane;
    EXPECT_EQ(out[lane], up << 16 | down << 8 | (first + 5) | up_ok << 24 | down_ok << 25) << lane;
  }
}

TEST(Execution, VotesReductionsAndElection) {
  const std::string text = Kernel(R"(
  setp.lt.u32 %p1, %tid0, 5;
  vote.sync.ballot.b32 %r1, %p1, 0xffff;
  redux.sync.add.s32 %r2, %tid0, 0xffff;
  vote.sync.any.pred %p2, %p1, 0xffff;
  vote.sync.all.pred %p3, %p1, 0xffff;
  and.b32 %r6, %tid0, 3;
  match.any.sync.b32 %r3, %r6, 0xffff;
  elect.sync %r4|%p4, 0xffff;
  selp.b32 %r5, 1, 0, %p4;
  add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r5;
  @%p2 add.s32 %r1, %r1, 0x100000;
  @%p3 add.s32 %r1, %r1, 0x200000;
  st.global.b32 [%out], %r1;)");
  const auto out = MustRun(text, {}, 16, {.block = {16, 1, 1}});
  for (uint32_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(out[lane], 0x1fu + 120 + (0x1111u << lane % 4) + (lane == 0) + 0x100000u) << lane;
  }
}

TEST(Execution, SharedMemoryBarrierReversesBlock) {
  const std::string text = Kernel(R"(
  mov.u32 %r1, tile;
  shl.b32 %r2, %tid0, 2;
  add.s32 %r3, %r1, %r2;
  ld.global.b32 %r4, [%in];
  st.shared.b32 [%r3], %r4;
  bar.sync 0;
  sub.s32 %r5, %r1, %r2;
  ld.shared.b32 %r6, [%r5+508];
  st.global.b32 [%out], %r6;)",
                                  ".shared .align 4 .b8 tile[512];\n");
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i) in[i] = i * i;
  const auto out = MustRun(text, in, 128, {.block = {128, 1, 1}});
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], (127 - i) * (127 - i));
}

TEST(Execution, NamedBarriersAndReductions) {
  // The upper warp produces, the lower consumes: bar.arrive does not wait.
  const std::string text = Kernel(R"(
  mov.u32 %r1, cell;
  setp.ge.u32 %p1, %tid0, 32;
  @%p1 bra producer;
  bar.sync 3, 64;
  ld.shared.b32 %r2, [%r1];
  bra done;
producer:
  setp.eq.u32 %p2, %tid0, 32;
  @%p2 st.shared.b32 [%r1], 77;
  bar.arrive 3, 64;
  mov.b32 %r2, 5;
done:
  setp.lt.u32 %p3, %tid0, 9;
  bar.red.popc.u32 %r3, 1, %p3;
  add.s32 %r2, %r2, %r3;
  st.global.b32 [%out], %r2;)",
                                  ".shared .align 4 .b8 cell[4];\n");
  const auto out = MustRun(text, {}, 64, {.block = {64, 1, 1}});
  EXPECT_EQ(out[0], 86u);
  EXPECT_EQ(out[63], 14u);
}

TEST(Execution, CallsReturnsAndLocalMemory) {
  const std::string functions = R"(
.func (.param .b32 result) twice(.param .b32 x)
{
  .local .align 4 .b8 spill[8];
  .reg .b32 %a<3>;
  .reg .b64 %l;
  ld.param.b32 %a0, [x];
  st.local.b32 [spill+4], %a0;
  mov.u64 %l, spill;
  cvta.local.u64 %l, %l;
  ld.b32 %a1, [%l+4];
  add.s32 %a2, %a0, %a1;
  st.param.b32 [result], %a2;
  ret;
}
)";
  const std::string text = Kernel(R"(
  ld.global.b32 %r1, [%in];
  { .param .b32 argument; .param .b32 got;
    st.param.b32 [argument], %r1;
    call (got), twice, (argument);
    ld.param.b32 %r2, [got]; }
  mov.u64 %d1, twice;
  { .param .b32 argument2; .param .b32 got2;
    st.param.b32 [argument2], %r2;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (got2), %d1, (argument2), proto;
    ld.param.b32 %r3, [got2]; }
  st.global.b32 [%out], %r3;)",
                                  functions);
  EXPECT_THAT(MustRun(text, {11, 5}, 2, {.block = {2, 1, 1}}), ElementsAre(44, 20));
}

TEST(Execution, BranchTable) {
  const std::string text = Kernel(R"(
  brx.idx %tid0, table;
table: .branchtargets first, second, third;
first: mov.b32 %r1, 10; bra done;
second: mov.b32 %r1, 20; bra done;
third: mov.b32 %r1, 30;
done: st.global.b32 [%out], %r1;)");
  EXPECT_THAT(MustRun(text, {}, 3, {.block = {3, 1, 1}}), ElementsAre(10, 20, 30));
}

TEST(Execution, GridBlocksAndSpecialRegisters) {
  const std::string text = Header() + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %o, %t; .reg .b32 %r<12>;
  ld.param.u64 %o, [out];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y;
  mov.u32 %r5, %ntid.x; mov.u32 %r6, %ntid.y;
  mad.lo.u32 %r7, %r1, %r2, %r0;
  mad.lo.u32 %r7, %r7, %r6, %r4;
  mad.lo.u32 %r7, %r7, %r5, %r3;
  mul.wide.u32 %t, %r7, 4;
  add.s64 %o, %o, %t;
  st.global.u32 [%o], %r7;
  ret;
})";
  const auto out = MustRun(text, {}, 60, {.grid = {3, 2, 1}, .block = {5, 2, 1}});
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(out[i], i);
}

TEST(Execution, VectorAndNarrowAccess) {
  const std::string text = Kernel(R"(
  ld.global.v4.b32 {%r1, %r2, %r3, _}, [%in];
  ld.global.s8 %r4, [%in+4];
  ld.global.u16 %h1, [%in+6];
  cvt.u32.u16 %r5, %h1;
  st.global.v2.b32 [%out], {%r3, %r1};
  st.global.v2.b32 [%out+8], {%r4, %r5};
  st.global.b8 [%out+16], %r2;
  st.global.b16 [%out+18], %h1;)");
  EXPECT_THAT(MustRun(text, {1, 0xabcd1280, 3, 4}, 5), ElementsAre(3, 1, 0xffffff80, 0xabcd, 0xabcd0080));
}

TEST(Execution, AsynchronousCopyFillsWithZeros) {
  const std::string text = Kernel(R"(
  mov.u32 %r1, tile;
  setp.eq.s32 %p1, %tid0, 0;
  st.shared.b32 [%r1+24], -1;
  cp.async.cg.shared.global [%r1], [%in], 16, 8;
  cp.async.ca.shared.global [%r1+16], [%in+16], 8;
  cp.async.ca.shared.global [%r1+24], [%in+24], 4, %p1;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];
  st.global.v4.b32 [%out], {%r2, %r3, %r4, %r5};
  ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1+16];
  st.global.v4.b32 [%out+16], {%r2, %r3, %r4, %r5};)",
                                  ".shared .align 16 .b8 tile[32];\n");
  EXPECT_THAT(MustRun(text, {1, 2, 3, 4, 5, 6, 7, 8}, 8), ElementsAre(1, 2, 0, 0, 5, 6, 0, 0));
}

TEST(Execution, Atomics) {
  const std::string text = Kernel(R"(
  sub.s64 %out, %out, %off;
  atom.global.add.u32 %r1, [%out], 3;
  red.global.max.s32 [%out+4], %tid0;
  atom.global.cas.b32 %r2, [%out+8], %tid0, 9;
  atom.global.inc.u32 %r3, [%out+12], 2;
  red.global.add.f32 [%out+16], 0f3F800000;
  atom.global.exch.b32 %r4, [%out+20], %r1;
  red.global.xor.b32 [%out+24], %tid0;
  red.global.add.noftz.f16x2 [%out+28], 0x3c004000;)");
  EXPECT_THAT(MustRun(text, {}, 8, {.block = {7, 1, 1}}), ElementsAre(21, 6, 9, 1, 0x40e00000, 18, 7, 0x47004b00));
}

TEST(Execution, WrittenBytesAreTracked) {
  const auto module = isa::ptx::Parse(Header() + R"(
.visible .entry k(.param .u64 out) { .reg .b64 %o; ld.param.u64 %o, [out]; st.global.b16 [%o+2], 0; ret; })");
  ASSERT_TRUE(module.ok());
  Memory memory;
  const uint64_t out = memory.Allocate(8);
  ASSERT_TRUE(interpreter::Run(*module, "", {.args = {Bytes(out)}}, memory).ok());
  EXPECT_THAT(memory.Written(out), ElementsAre(false, false, true, true, false, false, false, false));
}

TEST(Execution, ModuleVariables) {
  const std::string text = Kernel(R"(
  mov.u64 %d1, table;
  add.s64 %d1, %d1, %off;
  ld.const.u32 %r1, [%d1];
  ld.global.u32 %r2, [counter];
  add.s32 %r1, %r1, %r2;
  st.global.u32 [%out], %r1;)",
                                  ".const .align 4 .u32 table[3] = {7, 8, 9};\n.global .align 4 .u32 counter = 100;\n");
  EXPECT_THAT(MustRun(text, {}, 3, {.block = {3, 1, 1}}), ElementsAre(107, 108, 109));
}

struct ErrorCase {
  const char* what;
  std::string text;
  Launch launch;
  absl::StatusCode code;
  const char* message;
};

TEST(Execution, Errors) {
  const std::string half_barrier = "setp.lt.u32 %p1, %tid0, 3; @%p1 bar.sync 1, 32;";
  const std::string lonely = "setp.eq.u32 %p1, %tid0, 0; @%p1 shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; bar.sync 0;";
  const ErrorCase cases[] = {
      {"past the buffer", Kernel("ld.global.b32 %r1, [%in+4096];"), {}, absl::StatusCode::kOutOfRange, "outside"},
      {"misaligned", Kernel("ld.global.b32 %r1, [%in+2];"), {}, absl::StatusCode::kOutOfRange, "misaligned"},
      {"shared", Kernel("st.shared.b32 [%tid0], 1;"), {}, absl::StatusCode::kOutOfRange, "outside"},
      {"barrier", Kernel(half_barrier), {.block = {32, 1, 1}}, absl::StatusCode::kFailedPrecondition, "forever"},
      {"shuffle", Kernel(lonely), {.block = {32, 1, 1}}, absl::StatusCode::kFailedPrecondition, "forever"},
      {"own lane", Kernel("shfl.sync.idx.b32 %r1, %r2, 0, 31, 2;"), {}, absl::StatusCode::kFailedPrecondition, "mask"},
      {"absent lane",
       Kernel("shfl.sync.idx.b32 %r1, %r2, 9, 31, 0xf;"),
       {.block = {4, 1, 1}},
       absl::StatusCode::kFailedPrecondition,
       "no part"},
      {"trap", Kernel("trap;"), {}, absl::StatusCode::kFailedPrecondition, "trap"},
      {"steps", Kernel("loop: bra loop;"), {.max_steps = 500}, absl::StatusCode::kResourceExhausted, "max_steps"},
      {"clock", Kernel("mov.u32 %r1, %clock;"), {}, absl::StatusCode::kUnimplemented, "special"},
      {"opcode", Kernel("frobnicate.b32 %r1, %r2;"), {}, absl::StatusCode::kUnimplemented, "frobnicate"},
      {"modifier", Kernel("add.quickly.s32 %r1, %r2, %r3;"), {}, absl::StatusCode::kUnimplemented, "modifier"},
      {"block", Kernel(""), {.block = {2000, 1, 1}}, absl::StatusCode::kInvalidArgument, "1024"},
  };
  for (const ErrorCase& test : cases) {
    const absl::Status status = StatusOf(test.text, test.launch);
    EXPECT_EQ(status.code(), test.code) << test.what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message)) << test.what;
  }
  const auto module = isa::ptx::Parse(Kernel(""));
  ASSERT_TRUE(module.ok());
  Memory memory;
  EXPECT_EQ(interpreter::Run(*module, "other", {}, memory).status().code(), absl::StatusCode::kNotFound);
  LaunchConfig many;
  many.args.resize(3);
  EXPECT_EQ(interpreter::Run(*module, "k", many, memory).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace samebits::interpreter
