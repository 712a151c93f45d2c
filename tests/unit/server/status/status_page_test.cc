#include "server/status/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

namespace samebits::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

StatusData Busy() {
  StatusData data;
  data.address = "127.0.0.1:7433";
  data.signature_version = 7;
  data.uptime = absl::Hours(5);
  data.workers = {{"gpu-1", true, false, true, absl::ZeroDuration(), {{0, "H200", "cuda", "sm_90", "driver 580.1, cublaslt 13.1.0", "ptxas V12.8.93"}, {1, "CPU", "cpu", ""}}},
                  {"gpu-2", false, true, false, absl::Minutes(12), {}}};
  data.workers_online = data.workers_offline = data.workers_draining = 1;
  data.open_jobs = 2;
  data.queued_tasks = 3;
  data.oldest_queued = absl::Seconds(7);
  data.jobs = {{"abc", "VerifyKernels", "RUNNING", "alice", "", 5, absl::Seconds(3)},
               {"def", "VerifyKernels", "FAILED", "bob", "out of <memory> & time", 0, absl::Hours(50)}};
  data.verdicts = {{"EQUIVALENT", 41}, {"UNKNOWN", 2}, {"DIFFERENT", 0}};
  data.unknown_reasons = {{"STEP_LIMIT", 2}};
  data.verifications = {{"CONSISTENT", 9}};
  data.file_bytes = 5 << 20;
  data.profiles = {{"0a1b", "NVIDIA <H200>", "cublasLt 13.1.0", 5000, 4994, absl::FromUnixSeconds(1'790'000'000)}};
  data.profiles_stored = 3;
  return data;
}

// The elements of the page are closed in the order in which they were opened.
void ExpectWellFormed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    if (page[at + 1] == '!') continue;
    const bool closing = page[at + 1] == '/';
    size_t end = at + 1 + closing;
    const size_t begin = end;
    while (std::isalnum(static_cast<unsigned char>(page[end]))) ++end;
    const std::string name = page.substr(begin, end - begin);
    ASSERT_FALSE(name.empty()) << page.substr(at, 40);
    if (name == "meta" || name == "br") continue;
    if (!closing) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << page.substr(at, 40);
    ASSERT_EQ(open.back(), name) << page.substr(at, 40);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
  EXPECT_EQ(page.find('$'), std::string::npos) << page.substr(page.find('$'), 40);  // everything is filled in
}

TEST(StatusPageTest, ShowsFleetQueueAndVerdicts) {
  const std::string page = RenderStatusPage(Busy());
  ExpectWellFormed(page);
  EXPECT_THAT(page, AllOf(HasSubstr("<b>gpu-1</b>"), HasSubstr("H200"), HasSubstr("cuda/sm_90"), HasSubstr("12 min ago"),
                          HasSubstr("draining"), HasSubstr("runs no submitted kernels"),
                          HasSubstr("assembled by ptxas V12.8.93<br>driver 580.1, cublaslt 13.1.0")));
  EXPECT_THAT(page, AllOf(HasSubstr("NVIDIA &lt;H200&gt;"), HasSubstr("cublasLt 13.1.0"), HasSubstr("4994 of 5000"),
                          HasSubstr("2026-09-21"), HasSubstr("archProfiles/0a1b"), HasSubstr("and 2 more")));
  EXPECT_THAT(page, AllOf(HasSubstr("abc"), HasSubstr("RUNNING"), HasSubstr("alice"), HasSubstr("2 d")));
  EXPECT_THAT(page, AllOf(HasSubstr("EQUIVALENT"), HasSubstr(">41<"), HasSubstr("STEP_LIMIT"), HasSubstr("5.0 MiB")));
  EXPECT_THAT(page, Not(HasSubstr("DIFFERENT")));  // none
  EXPECT_THAT(page, AllOf(HasSubstr("verifications since the start: 9"), HasSubstr("<title>samebits</title>")));
}

TEST(StatusPageTest, AnEmptyFleetSaysWhatToDo) {
  StatusData data;
  data.address = "10.1.2.3:7433";
  const std::string page = RenderStatusPage(data);
  ExpectWellFormed(page);
  EXPECT_THAT(page, AllOf(HasSubstr("samebits-worker --server 10.1.2.3:7433 --allow-submitted-kernels"),
                          HasSubstr("samebits verify a.ptx b.ptx --server 10.1.2.3:7433"), HasSubstr("No jobs yet"),
                          HasSubstr("samebits profile import")));
  data.address = "0.0.0.0:7433";
  EXPECT_THAT(RenderStatusPage(data), HasSubstr("samebits-worker --server THIS-HOST:7433 --allow"));
  data.workers = {{"w", false, false, true, absl::Hours(3), {}}};
  data.workers_offline = 1;
  data.queued_tasks = 4;
  const std::string offline = RenderStatusPage(data);
  ExpectWellFormed(offline);
  EXPECT_THAT(offline, AllOf(HasSubstr("No worker is online"), HasSubstr("Jobs wait and no worker is online")));
}

TEST(StatusPageTest, AlarmsStandFirst) {
  StatusData data = Busy();
  data.reproducers = 3;
  data.latest_reproducers = {{"abc-0", "abc", absl::UnixEpoch()}};
  data.store_errors = 2;
  data.oldest_queued = absl::Hours(3);
  const std::string page = RenderStatusPage(data);
  ExpectWellFormed(page);
  EXPECT_THAT(page, AllOf(HasSubstr("<title>ALARM"), HasSubstr("3 reproducers are kept"), HasSubstr("reproducers/abc-0"),
                          HasSubstr("1970-01-01"), HasSubstr("2 calls failed"), HasSubstr("waited for a long time")));
  EXPECT_LT(page.find("alarm-contradictions"), page.find("id=\"fleet\""));
}

TEST(StatusPageTest, EscapesWhatOthersWrote) {
  StatusData data = Busy();
  const std::string bad = "<script>alert('x')</script>\"&\x01$FLEET";
  data.address = data.workers[0].id = data.workers[0].devices[0].name = data.workers[0].devices[0].architecture = bad;
  data.workers[0].devices[0].libraries = data.workers[0].devices[0].assembler = bad;
  data.jobs[0].principal = data.jobs[0].id = data.jobs[0].kind = data.jobs[1].error = bad;
  data.unknown_reasons = {{bad, 1}};
  data.reproducers = 1;
  data.latest_reproducers = {{bad, bad, absl::UnixEpoch()}};
  const std::string page = RenderStatusPage(data);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp; $FLEET"));
}

TEST(StatusPageTest, CountsWorkersThatItDoesNotShow) {
  StatusData data = Busy();
  data.workers_online = 250;
  EXPECT_THAT(RenderStatusPage(data), HasSubstr("and 249 more"));
}

TEST(StatusPageTest, ShortDurations) {
  EXPECT_EQ(ShortDuration(absl::Milliseconds(900)), "now");
  EXPECT_EQ(ShortDuration(absl::Seconds(119)), "119 s");
  EXPECT_EQ(ShortDuration(absl::Minutes(119)), "119 min");
  EXPECT_EQ(ShortDuration(absl::Hours(47)), "47 h");
  EXPECT_EQ(ShortDuration(absl::Hours(48)), "2 d");
  EXPECT_EQ(ShortDuration(-absl::Hours(1)), "now");
}

}  // namespace
}  // namespace samebits::server
