#include "core/base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace samebits {
namespace {

TEST(JsonDepth, CountsOpenBrackets) {
  EXPECT_FALSE(JsonNestsDeeperThan("", 0));
  EXPECT_FALSE(JsonNestsDeeperThan("[[1], {\"a\": [2]}]", 3));
  EXPECT_TRUE(JsonNestsDeeperThan("[[1], {\"a\": [2]}]", 2));
  EXPECT_FALSE(JsonNestsDeeperThan("[][][]", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(std::string(100000, '['), 64));
}

TEST(JsonDepth, BracketsInStringsDoNotCount) {
  EXPECT_FALSE(JsonNestsDeeperThan(R"(["[[[", "a\"[[", "\\"])", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(R"(["\\", [1]])", 1));
  EXPECT_FALSE(JsonNestsDeeperThan(R"("[[\)", 0));  // ends within an escape
}

}  // namespace
}  // namespace samebits
