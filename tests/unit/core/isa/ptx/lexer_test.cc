#include "core/isa/ptx/lexer.h"

#include <string>

#include "gtest/gtest.h"

namespace samebits::isa::ptx {
namespace {

TEST(LexerTest, BlanksAndCommentsAreSkippedAndLinesCounted) {
  const std::string text = " \t\r\n// one\n/* two\n * three */ x";
  Lexer lexer(text);
  EXPECT_EQ(lexer.Peek(), 'x');
  EXPECT_EQ(lexer.line(), 4u);
  EXPECT_EQ(lexer.TakeName(), "x");
  EXPECT_TRUE(lexer.AtEnd());
  EXPECT_EQ(lexer.Peek(), '\0');
}

TEST(LexerTest, UnterminatedBlockCommentStopsTheLexer) {
  for (const std::string text : {"/*", "/* x *", "/*/", "/***"}) {
    Lexer lexer(text);
    EXPECT_EQ(lexer.Peek(), '/') << text;
    EXPECT_EQ(lexer.at(), text.data()) << text;
  }
  const std::string closed = "/**/x";
  EXPECT_EQ(Lexer(closed).Peek(), 'x');
  const std::string at_end = "// to the end";
  Lexer lexer(at_end);
  lexer.SkipBlanks();
  EXPECT_TRUE(lexer.AtEnd());
}

TEST(LexerTest, Names) {
  for (const char* name : {"a", "_", "$L__BB0_2", "%r1", "%", "_Z5scalefi", "A9$"}) {
    const std::string text = std::string(name) + ".x";
    EXPECT_EQ(Lexer(text).TakeName(), name);
  }
  for (const std::string text : {"9a", ".x", "", "@p", "\xc3\xa9"}) EXPECT_EQ(Lexer(text).TakeName(), "") << text;
}

TEST(LexerTest, DottedNames) {
  for (const char* name : {"ld.global.L2::cache_hint.v4.b32", "ret", "spcompress.b8.sp::2:4.x1", "a.b::c::d"}) {
    for (const char* behind : {" x", ";", ":x", ": 3", "-"}) {
      const std::string text = std::string(name) + behind;
      EXPECT_EQ(Lexer(text).TakeDottedName(), name) << text;
    }
  }
}

TEST(LexerTest, Directives) {
  const std::string text = "  .param::entry.u64 x";
  Lexer lexer(text);
  EXPECT_EQ(lexer.PeekDirective(), "param::entry");
  EXPECT_EQ(lexer.TakeDirective(), "param::entry");
  EXPECT_EQ(lexer.TakeDirective(), "u64");
  EXPECT_EQ(lexer.TakeDirective(), "");
  EXPECT_EQ(lexer.Peek(), 'x');
}

TEST(LexerTest, Strings) {
  std::string_view contents;
  const std::string good = " \"C:\\dir\\\";";
  Lexer lexer(good);
  ASSERT_TRUE(lexer.TakeString(&contents));
  EXPECT_EQ(contents, "C:\\dir\\");
  EXPECT_EQ(lexer.Peek(), ';');
  for (const std::string text : {"\"", "\"a", "\"a\nb\"", "a\"\""}) {
    EXPECT_FALSE(Lexer(text).TakeString(&contents)) << text;
  }
}

TEST(LexerTest, Braces) {
  const std::string good = " a { b } // }\n /* } */ \"}\" .b8 1 } x";
  Lexer lexer(good);
  EXPECT_TRUE(lexer.SkipBraces());
  EXPECT_EQ(lexer.Peek(), 'x');
  EXPECT_EQ(lexer.line(), 2u);
  for (const std::string text : {"", "{ }", "// }", "/* }", "\"}", "/"}) EXPECT_FALSE(Lexer(text).SkipBraces()) << text;
}

TEST(LexerTest, RewindRestoresTheLine) {
  const std::string text = "a\n\nb";
  Lexer lexer(text);
  lexer.TakeName();
  const char* at = lexer.at();
  lexer.SkipBlanks();
  EXPECT_EQ(lexer.line(), 3u);
  lexer.Rewind(at);
  EXPECT_EQ(lexer.line(), 1u);
  EXPECT_EQ(lexer.at(), at);
}

}  // namespace
}  // namespace samebits::isa::ptx
