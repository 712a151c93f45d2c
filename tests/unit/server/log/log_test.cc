#include "server/log/log.h"

#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samebits::server {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// A log into a pipe.
class LogTest : public testing::Test {
 protected:
  LogTest() { EXPECT_EQ(pipe(fds_), 0); }
  ~LogTest() override { close(fds_[0]); }
  std::string Read() {
    close(fds_[1]);
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = read(fds_[0], buffer, sizeof(buffer))) > 0;) all.append(buffer, n);
    return all;
  }
  int fds_[2];
};

TEST_F(LogTest, WritesOneObjectALine) {
  Log log(LogLevel::kInfo, fds_[1]);
  log.Line(LogLevel::kInfo, "hello")
      .Add("text", "x")
      .Add("count", 3)
      .Add("seconds", 0.25)
      .Add("big", uint64_t{1} << 63);
  log.Line(LogLevel::kError, "bye");
  EXPECT_THAT(Read(), MatchesRegex("\\{\"time\":\"20[0-9T:.-]+Z\",\"level\":\"info\",\"message\":\"hello\","
                                   "\"text\":\"x\",\"count\":3,\"seconds\":0.25,\"big\":9223372036854775808\\}\n"
                                   "\\{\"time\":\"20[0-9T:.-]+Z\",\"level\":\"error\",\"message\":\"bye\"\\}\n"));
}

TEST_F(LogTest, DropsLinesBelowTheLevel) {
  Log log(LogLevel::kWarning, fds_[1]);
  log.Line(LogLevel::kInfo, "no").Add("key", "value").Add("n", 1).Add("d", 1.0);
  log.Line(LogLevel::kWarning, "yes");
  const std::string out = Read();
  EXPECT_THAT(out, HasSubstr("yes"));
  EXPECT_THAT(out, testing::Not(HasSubstr("no\"")));
}

TEST_F(LogTest, EscapesWhatWouldBreakALine) {
  std::string out;
  AppendJsonString(std::string("a\"b\\c\nd\te\x01\x7f\xff\0f", 14), &out);
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\\u00ff\\u0000f\"");
}

TEST_F(LogTest, DoesNotMixLinesOfThreads) {
  Log log(LogLevel::kInfo, fds_[1]);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) log.Line(LogLevel::kInfo, "line").Add("end", "x");
    });
  for (std::thread& thread : threads) thread.join();
  const std::string out = Read();
  size_t lines = 0;
  for (size_t at = 0; at < out.size(); ++lines) {
    const size_t end = out.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_THAT(out.substr(at, end - at), MatchesRegex("\\{\"time\":[^{}]*\"end\":\"x\"\\}"));
    at = end + 1;
  }
  EXPECT_EQ(lines, 200);
}

}  // namespace
}  // namespace samebits::server
