#include "workers/runner/frames.h"

#include <vector>

#include <gtest/gtest.h>

namespace samebits::workers {
namespace {

TEST(FramesTest, ComeOutAsTheyWentInByteByByte) {
  const std::string body("any\0bytes", 9);
  const std::string wire = EncodeFrame(Frame::kOutcome, body) + EncodeFrame(Frame::kStep, "");
  std::string buffer;
  std::vector<std::pair<Frame, std::string>> frames;
  for (const char c : wire) {
    buffer.push_back(c);
    bool bad = false;
    while (auto frame = TakeFrame(&buffer, &bad)) frames.push_back(*frame);
    ASSERT_FALSE(bad);
  }
  ASSERT_EQ(frames.size(), 2);
  EXPECT_EQ(frames[0], std::pair(Frame::kOutcome, body));
  EXPECT_EQ(frames[1].first, Frame::kStep);
  EXPECT_EQ(buffer, "");
}

TEST(FramesTest, OtherBytesAreNoFrames) {
  for (std::string bytes : {std::string("hello world"), std::string(5, '\0'), std::string("o\xff\xff\xff\xff")}) {
    bool bad = false;
    EXPECT_FALSE(TakeFrame(&bytes, &bad));
    EXPECT_TRUE(bad);
  }
}

}  // namespace
}  // namespace samebits::workers
