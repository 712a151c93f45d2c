// What is said of files that are not PTX.

#include "core/isa/ptx/foreign_text.h"

#include <gtest/gtest.h>

#include <string>

#include "core/isa/ptx/parser.h"

namespace samebits::isa::ptx {
namespace {

TEST(ForeignTextTest, CommonMistakesAreRecognised) {
  const struct {
    std::string text, says;
  } kCases[] = {
      {"", "an empty file"},
      {" \n\t", "an empty file"},
      {std::string("\x7f" "ELF\x02\x01\0\0.version 8.0", 20), "an ELF file"},
      {std::string("\x50\xed\x55\xba\x01\0", 6), "a fat binary"},
      {"!<arch>\nx.o/", "a static library"},
      {std::string("ab\0cd", 5), "binary data"},
      {"\n{\"block\": [1]}", "@LAUNCH.json"},
      {"#include <cuda.h>\n__global__ void k() {}", "nvcc -ptx"},
      {"; ModuleID = 'k'\n", "llc"},
      {"import triton\n@triton.jit\ndef k(): pass", "kernel.asm"},
      {"module {\n tt.func public @k() {", "Triton's IR"},
      {"\t\tFunction : k\n /*0000*/ MOV R1, c[0x0][0x28] ;", "SASS"},
  };
  for (const auto& c : kCases) {
    EXPECT_NE(DescribeForeignText(c.text).find(c.says), std::string_view::npos) << c.text << ": " << DescribeForeignText(c.text);
    const std::string message(Parse(c.text, {}).status().message());
    EXPECT_NE(message.find("expected .version"), std::string::npos) << message;
    EXPECT_NE(message.find(c.says), std::string::npos) << message;
  }
}

TEST(ForeignTextTest, OthersAreNotGuessed) {
  EXPECT_EQ(DescribeForeignText("hello"), "");
  EXPECT_EQ(DescribeForeignText(std::string(1 << 20, ' ') + "x"), "");
  EXPECT_EQ(DescribeForeignText(".target sm_90"), "");
}

}  // namespace
}  // namespace samebits::isa::ptx
