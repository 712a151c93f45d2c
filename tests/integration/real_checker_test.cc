// The service with the static checker: real texts in, verdicts and errors out.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// y[i] = x[i] * 2 for i = blockIdx.x * BLOCK + threadIdx.x.
constexpr char kScale[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 s)
{
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f3, [s];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r3, %r2, BLOCK, %r1;
  mul.wide.s32 %rd3, %r3, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mul.rn.f32 %f2, %f1, %f3;
  st.global.f32 [%rd5], %f2;
  ret;
}
)";

// A loop of 2^31 trips whose sum depends on data.
constexpr char kEndless[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 x)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, 0;
  ld.global.f32 %f1, [%rd1];
  mov.f32 %f2, %f1;
LOOP:
  mul.rn.f32 %f2, %f2, %f1;
  add.rn.f32 %f2, %f2, %f1;
  add.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 2147483648;
  @%p1 bra LOOP;
  st.global.f32 [%rd1], %f2;
  ret;
}
)";

std::string Scale(int block) { return absl::StrReplaceAll(kScale, {{"BLOCK", absl::StrCat(block)}}); }

void SetScaleLaunch(uint32_t block, uint32_t grid, float factor, v1::Launch* launch) {
  launch->mutable_block()->set_x(block);
  launch->mutable_block()->set_y(1);
  launch->mutable_block()->set_z(1);
  *launch->mutable_grid() = launch->block();
  launch->mutable_grid()->set_x(grid);
  launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("x");
  launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("y");
  uint32_t bits;
  static_assert(sizeof(bits) == sizeof(factor));
  memcpy(&bits, &factor, sizeof(bits));
  launch->mutable_args()->add_arguments()->set_float32_bits(bits);
}

class RealCheckerTest : public ServiceTest {
 protected:
  RealCheckerTest() { config_.checker = nullptr; }
  // Blocks of 128 and 64 over the same 512 elements.
  static v1::CompareKernelsRequest Pair() {
    v1::CompareKernelsRequest request;
    request.mutable_a()->set_text(Scale(128));
    SetScaleLaunch(128, 4, 2.0f, request.mutable_a()->mutable_launch());
    request.mutable_b()->set_text(Scale(64));
    SetScaleLaunch(64, 8, 2.0f, request.mutable_b()->mutable_launch());
    return request;
  }
};

TEST_F(RealCheckerTest, ProvesEqualAcrossBlockSizes) {
  v1::CompareKernelsRequest request = Pair();
  const auto comparison = client().Compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->verdict(), v1::Comparison::EQUIVALENT) << comparison->DebugString();
  EXPECT_EQ(comparison->a().digest().size(), 32);
  EXPECT_GT(comparison->a().times().execute_micros(), 0);
  EXPECT_EQ(comparison->a().output_bytes(), 512 * 4);
  request.mutable_a()->set_kernel(Register(Scale(128)));
  request.mutable_b()->set_kernel(Register(Scale(64)));
  EXPECT_EQ(client().Compare(request)->verdict(), v1::Comparison::EQUIVALENT);
}

TEST_F(RealCheckerTest, DescribesARegisteredText) {
  const auto kernel = client().RegisterKernel(Scale(128));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->isa(), "ptx");
  EXPECT_EQ(kernel->isa_version(), "8.0");
  EXPECT_EQ(kernel->target(), "sm_80");
  ASSERT_EQ(kernel->entries_size(), 1);
  EXPECT_EQ(kernel->entries(0).name(), "scale");
  ASSERT_EQ(kernel->entries(0).parameters_size(), 3);
  EXPECT_EQ(kernel->entries(0).parameters(2).size_bytes(), 4);
}

TEST_F(RealCheckerTest, TellsDifferentFactorsApartAndExplains) {
  v1::CompareKernelsRequest request = Pair();
  request.mutable_b()->set_text(
      absl::StrReplaceAll(Scale(64), {{"mul.rn.f32 %f2, %f1, %f3", "add.rn.f32 %f2, %f1, %f3"}}));
  const auto comparison = client().Compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_THAT(comparison->verdict(), AnyOf(v1::Comparison::DISTINCT, v1::Comparison::DIFFERENT));
  v1::ExplainDifferenceRequest explain;
  *explain.mutable_a() = request.a();
  *explain.mutable_b() = request.b();
  const auto explained = client().Explain(explain);
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_THAT(explained->verdict(), AnyOf(v1::Comparison::DISTINCT, v1::Comparison::DIFFERENT));
  ASSERT_TRUE(explained->has_difference());
  EXPECT_NE(explained->difference().summary(), "");
  EXPECT_EQ(explained->difference().a().place().line(), 19) << explained->difference().DebugString();
  EXPECT_EQ(explained->difference().b().place().line(), 19);
}

TEST_F(RealCheckerTest, KeepsArgumentsApart) {
  v1::CompareKernelsRequest request = Pair();
  request.mutable_b()->mutable_launch()->mutable_args()->mutable_arguments(2)->set_float32_bits(0x40400000);
  EXPECT_NE(client().Compare(request)->verdict(), v1::Comparison::EQUIVALENT);
  request.mutable_b()->mutable_launch()->mutable_args()->mutable_arguments(2)->set_float64_bits(0x40000000);
  const auto width = client().Compare(request);
  EXPECT_TRUE(absl::IsInvalidArgument(width.status()));
  EXPECT_THAT(std::string(width.status().message()), HasSubstr("64-bit float"));
  EXPECT_EQ(MetadataOf(width.status(), "side"), "b");
}

TEST_F(RealCheckerTest, ReportsWhereATextDoesNotParse) {
  const auto syntax = client().RegisterKernel(absl::StrReplaceAll(Scale(128), {{"[%rd4];", "[%rd4;"}}));
  EXPECT_TRUE(absl::IsInvalidArgument(syntax.status())) << syntax.status();
  EXPECT_EQ(ReasonOf(syntax.status()), "PTX_SYNTAX");
  EXPECT_EQ(MetadataOf(syntax.status(), "line"), "18");
  EXPECT_NE(MetadataOf(syntax.status(), "column"), "");
  EXPECT_NE(MetadataOf(syntax.status(), "fragment"), "");
  const auto truncated = client().RegisterKernel(Scale(128).substr(0, 500));
  EXPECT_EQ(ReasonOf(truncated.status()), "PTX_SYNTAX") << truncated.status();
  const auto garbage = client().RegisterKernel("\x7f" "ELF\x02\x01\x01\xff");
  EXPECT_EQ(ReasonOf(garbage.status()), "PTX_SYNTAX") << garbage.status();
  const auto amdgcn = client().RegisterKernel("\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\nk:\n\ts_add_u32 s0\n");
  EXPECT_EQ(ReasonOf(amdgcn.status()), "AMDGCN_SYNTAX") << amdgcn.status();
  EXPECT_EQ(MetadataOf(amdgcn.status(), "line"), "3");
}

TEST_F(RealCheckerTest, ReportsLaunchesThatDoNotFit) {
  v1::CompareKernelsRequest request = Pair();
  request.mutable_b()->mutable_launch()->set_entry("missing");
  const auto entry = client().Compare(request);
  EXPECT_TRUE(absl::IsInvalidArgument(entry.status())) << entry.status();
  EXPECT_EQ(ReasonOf(entry.status()), "INVALID_LAUNCH");
  EXPECT_EQ(MetadataOf(entry.status(), "side"), "b");
  EXPECT_THAT(std::string(entry.status().message()), HasSubstr("missing"));
  request = Pair();
  request.mutable_a()->mutable_launch()->mutable_args()->mutable_arguments()->RemoveLast();
  const auto args = client().Compare(request);
  EXPECT_TRUE(absl::IsInvalidArgument(args.status())) << args.status();
  EXPECT_EQ(ReasonOf(args.status()), "INVALID_LAUNCH");
  EXPECT_EQ(MetadataOf(args.status(), "side"), "a");
}

TEST_F(RealCheckerTest, ChecksATextOf16MiB) {
  std::string text = Scale(128);
  const std::string comment = "// " + std::string(76, 'x') + "\n";
  while (text.size() + comment.size() <= 16 << 20) text += comment;
  text.resize(16 << 20, ' ');
  v1::CompareKernelsRequest request = Pair();
  request.mutable_a()->set_kernel(Register(text));
  const auto comparison = client().Compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->verdict(), v1::Comparison::EQUIVALENT);
}

TEST_F(RealCheckerTest, AnEndlessKernelEndsInItsLimitAndHoldsUpNobody) {
  config_.check_threads = 2;
  v1::CompareKernelsRequest known = Pair();
  known.mutable_a()->set_kernel(Register(Scale(128)));
  known.mutable_b()->set_kernel(Register(Scale(64)));
  ASSERT_TRUE(client().Compare(known).ok());
  absl::StatusOr<v1::Comparison> endless;
  std::atomic<bool> ended{false};
  std::thread runner([&, client = Connect({})] {
    endless = client->Compare(CompareTexts(kEndless, kEndless));
    ended = true;
  });
  int answers = 0;
  do {
    client::ClientOptions options;
    options.call_timeout = absl::Seconds(2);
    EXPECT_TRUE(Connect(options)->Compare(known).ok());
    ++answers;
    absl::SleepFor(absl::Milliseconds(20));
  } while (!ended);
  runner.join();
  ASSERT_TRUE(endless.ok()) << endless.status();
  // A checker that folds the loop may decide; one that runs it must name its limit.
  EXPECT_THAT(endless->verdict(), AnyOf(v1::Comparison::UNKNOWN, v1::Comparison::EQUIVALENT));
  if (endless->verdict() == v1::Comparison::UNKNOWN) {
    EXPECT_THAT(endless->a().reason_code(), HasSubstr("LIMIT"));
  }
  EXPECT_GE(answers, 1);
}

TEST_F(RealCheckerTest, ADeadlineStopsAnEndlessKernel) {
  config_.metrics_listen = "127.0.0.1:0";
  client::ClientOptions options;
  options.call_timeout = absl::Milliseconds(100);
  const auto impatient = Connect(options);
  const auto answer = impatient->Compare(CompareTexts(kEndless, kEndless));
  EXPECT_TRUE(answer.ok() || absl::IsDeadlineExceeded(answer.status())) << answer.status();
  const absl::Time limit = absl::Now() + absl::Seconds(1);  // well before the check's own limits
  while (Scrape().find("samebits_queue_running{queue=\"checks\"} 0") == std::string::npos) {
    ASSERT_LT(absl::Now(), limit);
    absl::SleepFor(absl::Milliseconds(5));
  }
}

}  // namespace
}  // namespace samebits
