#include "client/cli/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace samebits::cli {
namespace {

using ::testing::ElementsAre;

TEST(TerminalTest, WidthCountsCodePoints) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("a│é"), 3u);
  EXPECT_EQ(Fit("a│é", 2), "a│");
  EXPECT_EQ(Fit("é", 3), "é  ");
}

TEST(TerminalTest, WrapsAtSpacesAndKeepsIndentation) {
  EXPECT_THAT(WrapLines("", 10), ElementsAre(""));
  EXPECT_THAT(WrapLines("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapLines("abcdefghij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(WrapLines("a\n\nb\n", 8), ElementsAre("a", "", "b"));
  EXPECT_THAT(WrapLines("  one two three", 11), ElementsAre("  one two", "    three"));
  EXPECT_THAT(WrapLines("ab", 0), ElementsAre("a", "b"));
}

TEST(TerminalTest, InputCannotSteerTheTerminal) {
  EXPECT_EQ(OneLine("a\033[31mb\nc\td\x7f"), "a?[31mb?c d?");
  EXPECT_THAT(WrapLines("a\rb\nc\033d", 10), ElementsAre("a?b", "c?d"));
}

TEST(TerminalTest, ColorFollowsModeAndEnvironment) {
  unsetenv("NO_COLOR");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(UseColor("auto", ends[1]));
  EXPECT_TRUE(UseColor("always", ends[1]));
  EXPECT_FALSE(UseColor("never", ends[1]));
  EXPECT_EQ(TerminalWidth(ends[1]), 100);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(Style(false).Red("x"), "x");
  EXPECT_EQ(Style(true).Red("x"), "\033[1;31mx\033[0m");
}

TEST(TerminalTest, ATerminalIsColoredUnlessItOrTheUserObjects) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(UseColor("auto", terminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(UseColor("auto", terminal));
  EXPECT_TRUE(UseColor("always", terminal));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(UseColor("auto", terminal));
  close(terminal);
}

}  // namespace
}  // namespace samebits::cli
