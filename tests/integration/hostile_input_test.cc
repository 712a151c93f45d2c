// Texts and launches made to exhaust or confuse the checker: each gets an answer that names its limit or its fault, and
// another client is answered all the while.

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMaxText = 16 << 20;

constexpr char kHead[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 x)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.f32 %f1, [%rd1];
  mov.u32 %r2, 0;
)";
constexpr char kTail[] = "  st.global.f32 [%rd1], %f1;\n  ret;\n}\n";

std::string Text(const std::string& body) { return absl::StrCat(kHead, body, kTail); }

// `loops` loops within one another, each of which may run often, on two lines a loop.
std::string LoopNest(int loops) {
  std::string body;
  for (int i = 0; i < loops; ++i) absl::StrAppend(&body, "L", i, ":\n");
  body += "  add.rn.f32 %f1, %f1, %f1;\n  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %p, %r2, 1000000000;\n";
  for (int i = loops - 1; i >= 0; --i) absl::StrAppend(&body, "@%p bra L", i, ";\n");
  return Text(body);
}

// Additions, each of which depends on the one before, up to `bytes` of text.
std::string LongBody(size_t bytes) {
  std::string body;
  while (body.size() + 200 + sizeof(kHead) < bytes) absl::StrAppend(&body, "  add.rn.f32 %f1, %f1, %f1;\n");
  std::string text = Text(body);
  text.resize(bytes, '\n');
  return text;
}

std::string Loop(uint32_t trips) {
  return Text(absl::StrFormat("LOOP:\n  fma.rn.f32 %%f1, %%f1, %%f1, %%f1;\n  add.u32 %%r2, %%r2, 1;\n"
                              "  setp.ne.u32 %%p, %%r2, %u;\n  @%%p bra LOOP;\n",
                              trips));
}

// The same launch twice.
v1::CompareKernelsRequest Twice(const std::string& text, int arguments = 1) {
  v1::CompareKernelsRequest request = CompareTexts(text, text);
  for (v1::KernelLaunch* side : {request.mutable_a(), request.mutable_b()}) {
    *side->mutable_launch()->mutable_grid() = side->launch().block();
    side->mutable_launch()->mutable_grid()->set_x(1);
    for (int i = 0; i < arguments; ++i)
      side->mutable_launch()->mutable_args()->add_arguments()->mutable_pointer()->set_buffer(absl::StrCat("x", i));
  }
  return request;
}

// Another user of the server: asks for a verdict that is in the cache and for one that needs a check, by turns.
class Bystander {
 public:
  explicit Bystander(std::unique_ptr<client::Client> client) : client_(std::move(client)), thread_([this] { Ask(); }) {}
  ~Bystander() {
    stop_ = true;
    thread_.join();
  }
  int answers() const { return answers_; }
  absl::Duration slowest() const { return absl::Microseconds(slowest_micros_.load()); }

 private:
  void Ask() {
    const v1::CompareKernelsRequest cached = Twice(Loop(3));
    for (int i = 0; !stop_; ++i) {
      const absl::Time start = absl::Now();
      const auto answer = client_->Compare(i % 2 == 0 ? cached : Twice(absl::StrCat(Loop(3), "//", i, "\n")));
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (!answer.ok()) return;
      EXPECT_EQ(answer->verdict(), v1::Comparison::EQUIVALENT);
      slowest_micros_ = std::max(slowest_micros_.load(), absl::ToInt64Microseconds(absl::Now() - start));
      ++answers_;
      absl::SleepFor(absl::Milliseconds(2));
    }
  }

  const std::unique_ptr<client::Client> client_;
  std::atomic<bool> stop_{false};
  std::atomic<int> answers_{0};
  std::atomic<int64_t> slowest_micros_{0};
  std::thread thread_;
};

class HostileInputTest : public ServiceTest {
 protected:
  HostileInputTest() {
    config_.checker = nullptr;
    config_.check_threads = 2;
  }
  // Sends `request` until a bystander has had answers meanwhile.
  absl::StatusOr<v1::Comparison> CompareBesideOthers(const v1::CompareKernelsRequest& request) {
    client::ClientOptions patient, impatient;
    patient.call_timeout = absl::Seconds(60);
    impatient.call_timeout = absl::Seconds(8);
    impatient.retry.max_attempts = 1;
    const auto client = Connect(patient);
    Bystander bystander(Connect(impatient));
    absl::StatusOr<v1::Comparison> answer;
    const absl::Time start = absl::Now();
    do {
      answer = client->Compare(request);
    } while (bystander.answers() < 4 && absl::Now() - start < absl::Seconds(60));
    EXPECT_GE(bystander.answers(), 4);
    std::printf("    %d answers to others meanwhile, slowest %s\n", bystander.answers(),
                absl::FormatDuration(bystander.slowest()).c_str());
    return answer;
  }
  // A verdict, or UNKNOWN for a limit that is named.
  void ExpectVerdictOrLimit(const absl::StatusOr<v1::Comparison>& answer) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    std::printf("    %s %s\n", v1::Comparison::Verdict_Name(answer->verdict()).c_str(), answer->reason().c_str());
    if (answer->verdict() == v1::Comparison::EQUIVALENT) return;
    EXPECT_EQ(answer->verdict(), v1::Comparison::UNKNOWN);
    EXPECT_THAT(answer->a().reason_code(), HasSubstr("LIMIT")) << answer->reason();
  }
};

TEST_F(HostileInputTest, ATextOf16MiB) {
  const std::string text = LongBody(kMaxText);
  ASSERT_EQ(text.size(), kMaxText);
  ExpectVerdictOrLimit(CompareBesideOthers(Twice(text)));
}

TEST_F(HostileInputTest, ATextOverTheLimit) {
  v1::CompareKernelsRequest request = Twice(Loop(3));
  request.mutable_a()->set_text(LongBody(kMaxText + 1));
  const auto answer = CompareBesideOthers(request);
  EXPECT_TRUE(absl::IsResourceExhausted(answer.status())) << answer.status();
  EXPECT_EQ(MetadataOf(answer.status(), "limit"), "max_text_bytes");
}

TEST_F(HostileInputTest, ALoopNestOf16MiB) {
  const std::string text = LoopNest(600'000);
  ASSERT_LE(text.size(), kMaxText);
  ASSERT_GT(text.size(), kMaxText * 7 / 8);
  const auto answer = CompareBesideOthers(Twice(text));
  ExpectVerdictOrLimit(answer);
  EXPECT_EQ(answer->verdict(), v1::Comparison::UNKNOWN) << "10^9 trips need a limit";
}

// More than a message may hold: gRPC refuses it unread.
TEST_F(HostileInputTest, ALoopNestOf10MillionLines) {
  v1::CompareKernelsRequest request = Twice(Loop(3));
  request.mutable_a()->set_text(LoopNest(5'000'000));
  const auto answer = CompareBesideOthers(request);
  EXPECT_TRUE(absl::IsResourceExhausted(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("larger than max"));
}

TEST_F(HostileInputTest, ALoopOf2To31Trips) {
  const auto answer = CompareBesideOthers(Twice(Loop(1u << 31)));
  ExpectVerdictOrLimit(answer);
  EXPECT_EQ(answer->verdict(), v1::Comparison::UNKNOWN) << "2^31 dependent steps need a limit";
}

TEST_F(HostileInputTest, ATruncatedText) {
  v1::CompareKernelsRequest request = Twice(Loop(3));
  const std::string whole = request.b().text();
  const size_t cut = whole.find("u64 %rd1, %rd1");
  request.mutable_b()->set_text(whole.substr(0, cut));
  const auto answer = CompareBesideOthers(request);
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << answer.status();
  EXPECT_EQ(ReasonOf(answer.status()), "PTX_SYNTAX");
  EXPECT_EQ(MetadataOf(answer.status(), "side"), "b");
  EXPECT_EQ(MetadataOf(answer.status(), "line"),
            absl::StrCat(1 + std::count(whole.begin(), whole.begin() + cut, '\n')));
}

TEST_F(HostileInputTest, AnEntryThatIsNotThere) {
  v1::CompareKernelsRequest request = Twice(Loop(3));
  request.mutable_b()->mutable_launch()->set_entry("other");
  const auto answer = CompareBesideOthers(request);
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << answer.status();
  EXPECT_EQ(ReasonOf(answer.status()), "INVALID_LAUNCH");
  EXPECT_THAT(std::string(answer.status().message()), AllOf(HasSubstr("other"), HasSubstr("kernel")));
}

TEST_F(HostileInputTest, AnArgumentTooMany) {
  const auto answer = CompareBesideOthers(Twice(Loop(3), 2));
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << answer.status();
  EXPECT_EQ(ReasonOf(answer.status()), "INVALID_LAUNCH");
  EXPECT_THAT(std::string(answer.status().message()), AllOf(HasSubstr("2"), HasSubstr("1")));
}

}  // namespace
}  // namespace samebits
