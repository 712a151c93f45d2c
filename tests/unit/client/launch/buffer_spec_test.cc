#include "client/launch/buffer_spec.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/launch/manifest.h"

namespace samebits::launch {
namespace {

using ::testing::HasSubstr;
using Role = BufferDescription::Role;

TEST(BufferSpecTest, ReadsFlags) {
  EXPECT_EQ(*ParseBuffer("x=f32:4096"), (BufferDescription{"x", "f32", 4096, Role::kInOut, false, {}, {}}));
  EXPECT_EQ(*ParseBuffer("0=bf16:7:in:unit"), (BufferDescription{"0", "bf16", 7, Role::kIn, true, {}, {}}));
  EXPECT_EQ(*ParseBuffer("i=i32:1:-5..9:out"), (BufferDescription{"i", "i32", 1, Role::kOut, false, -5, 9}));
}

TEST(BufferSpecTest, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"x", "=f32:4", "x=f32", "x=f32:0", "x=f32:-1", "x=f32:many", "x=f32:4:sideways",
                           "x=f32:4:1..", "x=f32:4:"}) {
    const auto buffer = ParseBuffer(text);
    ASSERT_TRUE(absl::IsInvalidArgument(buffer.status())) << text;
    EXPECT_THAT(std::string(buffer.status().message()), HasSubstr(text));
  }
}

TEST(BufferSpecTest, ReadsJsonAndFlagsReplaceIt) {
  const auto spec = ParseLaunchJson(
      R"({"buffers": {"x": {"dtype": "f32", "elements": 8, "role": "in", "values": "unit"},
                      "n": {"dtype": "i32", "elements": 2, "low": -1, "high": 3}}})", "m:1");
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->buffers.size(), 2);
  EXPECT_EQ(spec->buffers[0], *ParseBuffer("n=i32:2:-1..3"));
  EXPECT_EQ(spec->buffers[1], *ParseBuffer("x=f32:8:in:unit"));
  LaunchSpec top;
  top.buffers = {*ParseBuffer("x=f16:4:out")};
  const LaunchSpec both = Overlay(*spec, top);
  ASSERT_EQ(both.buffers.size(), 2);
  EXPECT_EQ(both.buffers[1], top.buffers[0]);
}

TEST(BufferSpecTest, RefusesBadJson) {
  for (const char* json : {R"({"buffers": []})", R"({"buffers": {"x": 1}})", R"({"buffers": {"x": {"dtype": "f32"}}})",
                           R"({"buffers": {"x": {"elements": -1}}})", R"({"buffers": {"x": {"elements": 1, "role": "?"}}})",
                           R"({"buffers": {"x": {"elements": 1, "low": 0.5}}})"}) {
    const auto spec = ParseLaunchJson(json, "m:1");
    ASSERT_TRUE(absl::IsInvalidArgument(spec.status())) << json;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr("m:1: buffers")) << json;
  }
}

}  // namespace
}  // namespace samebits::launch
