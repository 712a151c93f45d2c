#include "workers/executor/cpu/cpu_executor.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/amdgcn_kernels.h"

namespace samebits::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each thread reads a word of its own, `body` turns %f1 (or %r5) into %f3 (or %r6), and a word is written.
std::string Text(const std::string& body) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .b64 %d<8>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p;
ld.param.u64 %d1, [in];
ld.param.u64 %d2, [out];
ld.param.u32 %r4, [n];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d3, %r1, 4;
add.s64 %d4, %d1, %d3;
add.s64 %d5, %d2, %d3;
ld.global.f32 %f1, [%d4];
)" + body + "\nst.global.f32 [%d5], %f3;\nret;\n}\n";
}

std::vector<uint8_t> Words(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

KernelLaunch Launch(const std::string& body, uint32_t threads = 2) {
  KernelLaunch launch;
  launch.text = Text(body);
  launch.block = {threads, 1, 1};
  launch.arguments = {{0, {}}, {1, {}}, {{}, Words({5, 0})}};
  return launch;
}

class CpuExecutorTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<uint32_t>> Run(const KernelLaunch& launch, std::vector<uint32_t> in, uint32_t variant = 0) {
    if (absl::Status status = executor_->Prepare(launch); !status.ok()) return status;
    Buffers buffers = {Words(in), std::vector<uint8_t>(in.size() * 4, 0x5a)};
    if (absl::Status status = executor_->Run(variant, &buffers); !status.ok()) return status;
    std::vector<uint32_t> out(in.size());
    std::memcpy(out.data(), buffers[1].data(), buffers[1].size());
    return out;
  }
  const std::unique_ptr<Executor> executor_ = MakeCpuExecutor({.max_steps = 100'000}, 3);
};

TEST_F(CpuExecutorTest, ComputesBits) {
  const auto out = Run(Launch("add.rn.f32 %f3, %f1, %f1;"), {0x3f800000, 0x7f800001});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(*out, ElementsAre(0x40000000, 0x7fffffff));
  EXPECT_EQ(executor_->device().backend, "cpu");
  EXPECT_EQ(executor_->device().index, 3);
}

TEST_F(CpuExecutorTest, LeavesBytesThatNobodyWrites) {
  EXPECT_THAT(*Run(Launch("mov.f32 %f3, %f1;", 1), {1, 2}), ElementsAre(1, 0x5a5a5a5a));
}

TEST_F(CpuExecutorTest, TakesNumbersByTheirParametersWidth) {
  EXPECT_THAT(*Run(Launch("mov.b32 %f3, %r4;", 1), {1}), ElementsAre(5));
}

TEST_F(CpuExecutorTest, RefusesWhatItWouldHaveToGuess) {
  const auto approximate = Run(Launch("sin.approx.f32 %f3, %f1;"), {0x3f800000, 0});
  EXPECT_TRUE(absl::IsUnimplemented(approximate.status())) << approximate.status();
  EXPECT_TRUE(Run(Launch("ex2.approx.f32 %f3, %f1;"), {0x7f800000, 0xff800000}).ok());  // fixed by the ISA
  const auto contracted = Run(Launch("mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1;"), {0, 0});
  EXPECT_TRUE(absl::IsUnimplemented(contracted.status()));
  EXPECT_THAT(std::string(contracted.status().message()), HasSubstr("line 15"));
  EXPECT_TRUE(absl::IsUnimplemented(Run(Launch("frobnicate.f32 %f3, %f1;"), {0, 0}).status()));
}

TEST_F(CpuExecutorTest, ReportsWhatKernelsDoWrong) {
  EXPECT_TRUE(absl::IsOutOfRange(Run(Launch("add.s64 %d5, %d5, 4096; mov.f32 %f3, %f1;"), {0, 0}).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(Run(Launch("$L: bra $L;"), {0, 0}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Run(Launch("trap;"), {0, 0}).status()));
  KernelLaunch launch = Launch("mov.f32 %f3, %f1;");
  launch.entry = "other";
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->Prepare(launch)));
  launch.entry.clear();
  launch.arguments.pop_back();
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->Prepare(launch)));
  launch.text = "no PTX";
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->Prepare(launch)));
}

TEST_F(CpuExecutorTest, VariantsShowResultsThatDependOnOrder) {
  const std::string last_writer = "mov.f32 %f3, %f1; st.global.f32 [%d2], %f1; mov.u64 %d5, %d2;";
  const KernelLaunch race = Launch(last_writer);
  EXPECT_NE((*Run(race, {1, 2}, 0))[0], (*Run(race, {1, 2}, 1))[0]);
  const KernelLaunch fixed = Launch("add.rn.f32 %f3, %f1, %f1;");
  EXPECT_EQ(*Run(fixed, {7, 9}, 0), *Run(fixed, {7, 9}, 1));
}

KernelLaunch AmdgcnLaunch(const test::AmdgcnText& text, uint32_t items = 2) {
  KernelLaunch launch = Launch("", items);
  launch.text = test::AmdgcnElement(text);
  launch.arguments[2].bytes = Words({0x3f800000, 0});
  return launch;
}

TEST_F(CpuExecutorTest, ComputesBitsOfAmdgcn) {
  EXPECT_THAT(*Run(AmdgcnLaunch({}), {0x3f800000, 0x40000000}), ElementsAre(0x40000000, 0x40400000));
  EXPECT_THAT(*Run(AmdgcnLaunch({}, 1), {0, 0}), ElementsAre(0x3f800000, 0x5a5a5a5a));
  const KernelLaunch race = AmdgcnLaunch({.body = "\tv_mov_b32_e32 v3, v1\n\tv_mov_b32_e32 v0, 0\n"}, 2);
  KernelLaunch blocks = race;
  blocks.grid = {2, 1, 1};
  blocks.block = {1, 1, 1};
  std::vector<uint32_t> in(33, 0);
  in[0] = 1, in[32] = 2;
  EXPECT_NE((*Run(blocks, in, 0))[0], (*Run(blocks, in, 1))[0]);
}

TEST_F(CpuExecutorTest, RefusesWhatItWouldHaveToGuessOfAmdgcn) {
  const auto code = [&](const test::AmdgcnText& text) { return Run(AmdgcnLaunch(text), {0x3f800000, 0}).status().code(); };
  EXPECT_EQ(code({.body = "\tv_exp_f32_e32 v3, v1\n"}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({.body = "\tv_frobnicate_f32 v3, v1\n"}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({.processor = "gfx1100"}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({.body = "\tv_cvt_f32_u32_e32 v3, s9\n"}), absl::StatusCode::kOk);  // the count of workgroups
  test::AmdgcnText text;
  KernelLaunch launch = AmdgcnLaunch(text);
  launch.text.replace(launch.text.find("hidden_block_count_x"), 20, "hidden_hostcall_buffer");
  const absl::Status hidden = Run(launch, {0, 0}).status();
  EXPECT_TRUE(absl::IsUnimplemented(hidden));
  EXPECT_THAT(std::string(hidden.message()), HasSubstr("line 9: 's_load_dword': reads an argument that only the runtime knows"));
  launch = AmdgcnLaunch(text);
  launch.text.replace(launch.text.find("denorm_mode_32 3"), 16, "denorm_mode_32 0");
  EXPECT_TRUE(absl::IsUnimplemented(Run(launch, {0, 0}).status()));
}

TEST_F(CpuExecutorTest, ReportsWhatAmdgcnKernelsDoWrong) {
  const auto code = [&](const test::AmdgcnText& text, uint32_t items = 2) {
    return Run(AmdgcnLaunch(text, items), std::vector<uint32_t>(items, 0)).status().code();
  };
  EXPECT_EQ(code({.body = "\tv_mov_b32_e32 v3, v1\n\tv_add_u32_e32 v0, 0x2000, v0\n"}), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code({.body = ".Lagain:\n\ts_branch .Lagain\n"}), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code({}, 257), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.metadata = "    .reqd_workgroup_size:\n      - 64\n      - 1\n      - 1\n"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.body = "\t.incbin \"/etc/passwd\"\n"}), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace samebits::workers
