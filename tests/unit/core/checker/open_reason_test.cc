// Reasons of UNKNOWN name what the launch leaves open, and speak of loaded data only where it takes part.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/checker/checker.h"

namespace samebits::checker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Parameters: pointers 0 and 1, an integer 2, a float 3, an integer 4. %r1 lane, %r2 and %r3 the integers, %r4 and %f2
// loaded.
std::string Kernel(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o, .param .u32 n, .param .f32 s, .param .u32 m)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [o];
  ld.param.u32 %r2, [n];
  ld.param.f32 %f1, [s];
  ld.param.u32 %r3, [m];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r4, [%rd4];
  mov.b32 %f2, %r4;
  mov.u32 %r5, 0;
)" + body + "\n  st.global.u32 [%rd5], %r5;\nEND:\n  ret;\n}\n";
}

Argument Pointer() {
  Argument a;
  a.kind = Argument::Kind::kPointer;
  return a;
}

Signature Check(const std::string& body, bool with_pointers = true) {
  Launch launch;
  launch.block = {32, 1, 1};
  launch.grid = Dim3{4, 1, 1};
  if (with_pointers) launch.args = {Pointer(), Pointer(), {}, {}, {}};
  const auto s = ComputeSignature(Kernel(body), launch);
  EXPECT_TRUE(s.ok()) << s.status();
  return s.ok() ? *s : Signature();
}

constexpr char kLoop[] = "LOOP:\n  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p1, %r5, ";

TEST(OpenReasonTest, ALoopOfOpenLengthNamesItsArgument) {
  for (const bool with_pointers : {true, false}) {
    const Signature s = Check(std::string(kLoop) + "%r2;\n  @%p1 bra LOOP;", with_pointers);
    EXPECT_EQ(s.status, SignatureStatus::kUnknown);
    EXPECT_EQ(s.reason_code, "OPEN_ARGUMENT");
    EXPECT_THAT(s.reason, AllOf(HasSubstr("branch on argument 2, which the launch leaves open,"), Not(HasSubstr("data"))));
  }
}

TEST(OpenReasonTest, AllThatTakePartAreNamed) {
  const Signature sum = Check("add.u32 %r6, %r2, %r3;\n" + std::string(kLoop) + "%r6;\n  @%p1 bra LOOP;");
  EXPECT_EQ(sum.reason_code, "OPEN_ARGUMENT");
  EXPECT_THAT(sum.reason, HasSubstr("arguments 2, 4, which"));
  const Signature real = Check("setp.gt.f32 %p1, %f1, 0f00000000;\n  @%p1 bra END;");
  EXPECT_EQ(real.reason_code, "OPEN_ARGUMENT") << real.reason;
  EXPECT_THAT(real.reason, HasSubstr("argument 3, which"));
}

TEST(OpenReasonTest, LoadedDataStaysLoadedData) {
  const Signature data = Check(std::string(kLoop) + "%r4;\n  @%p1 bra LOOP;");
  EXPECT_EQ(data.reason_code, "BRANCH_ON_DATA");
  EXPECT_THAT(data.reason, AllOf(HasSubstr("loaded data"), Not(HasSubstr("argument"))));
  const Signature both = Check("add.u32 %r6, %r2, %r4;\n" + std::string(kLoop) + "%r6;\n  @%p1 bra LOOP;");
  EXPECT_EQ(both.reason_code, "BRANCH_ON_DATA");
  EXPECT_THAT(both.reason, AllOf(HasSubstr("loaded data"), HasSubstr("argument 2, too, which the launch leaves open")));
}

TEST(OpenReasonTest, BranchesAroundABarrierAreNamed) {
  const std::string guarded = "setp.lt.u32 %p1, %r1, %r2;\n  @%p1 bra SKIP;\n  bar.sync 0;\nSKIP:";
  const Signature s = Check(guarded);
  EXPECT_EQ(s.reason_code, "OPEN_ARGUMENT") << s.reason;
  EXPECT_THAT(s.reason, HasSubstr("barrier under a data-dependent branch; it depends on argument 2, which"));
  const Signature inner = Check("setp.lt.u32 %p2, %r4, 7;\n  @%p2 bra SKIP;\n  " + guarded);
  EXPECT_EQ(inner.reason_code, "BARRIER_IN_BRANCH");
  EXPECT_THAT(inner.reason, HasSubstr("argument 2, too"));
}

TEST(OpenReasonTest, OpenSizesInAddressesAreNamed) {
  const Signature s = Check("mov.u32 %r6, tile;\n  add.u32 %r6, %r6, %r3;\n  st.shared.u32 [%r6], %r1;");
  EXPECT_EQ(s.reason_code, "OPEN_SIZE") << s.reason;
  EXPECT_THAT(s.reason, HasSubstr("open size: argument 4, which the launch leaves open"));
}

TEST(OpenReasonTest, GivenArgumentsDecide) {
  Launch launch;
  launch.block = {32, 1, 1};
  launch.grid = Dim3{4, 1, 1};
  launch.args = {Pointer(), Pointer(), {}, {}, {}};
  (*launch.args)[2].kind = Argument::Kind::kInteger;
  (*launch.args)[2].bits = 5;
  const auto s = ComputeSignature(Kernel(std::string(kLoop) + "%r2;\n  @%p1 bra LOOP;"), launch);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->status, SignatureStatus::kOk) << s->reason;
}

// Of the kernel above with n or s given.
std::string ErrorWith(size_t at, Argument::Kind kind, uint64_t bits) {
  Launch launch;
  launch.block = {32, 1, 1};
  launch.args = {Pointer(), Pointer(), {}, {}, {}};
  (*launch.args)[at].kind = kind;
  (*launch.args)[at].bits = bits;
  return std::string(ComputeSignature(Kernel(""), launch).status().message());
}

TEST(LaunchErrorTest, NumbersFitTheirParameters) {
  using enum Argument::Kind;
  for (const int64_t good : {int64_t{7}, int64_t{-1}, int64_t{4294967295}, -(int64_t{1} << 31)})
    EXPECT_EQ(ErrorWith(2, kInteger, static_cast<uint64_t>(good)), "") << good;
  for (const int64_t bad : {int64_t{1} << 32, -(int64_t{1} << 31) - 1, INT64_MIN})
    EXPECT_THAT(ErrorWith(2, kInteger, static_cast<uint64_t>(bad)), AllOf(HasSubstr("parameter 2 ('n') is .u32"), HasSubstr(std::to_string(bad) + " does not fit")));
  EXPECT_EQ(ErrorWith(3, kFloat, 0xffffffff), "");
  EXPECT_THAT(ErrorWith(3, kFloat, 0x4004000000000000), AllOf(HasSubstr("parameter 3 ('s') is .f32"), HasSubstr("float of 64 bits")));
}

TEST(LaunchErrorTest, OutputsThatAreNoneListThoseThatAre) {
  Launch launch;
  launch.block = {32, 1, 1};
  launch.args = {Pointer(), Pointer(), {}, {}, {}};
  (*launch.args)[1].buffer = "out";
  launch.outputs = {"ouch"};
  const auto s = ComputeSignature(Kernel(""), launch);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.status().message()), AllOf(HasSubstr("'ouch'"), HasSubstr("they are: arg0, out")));
}

}  // namespace
}  // namespace samebits::checker
