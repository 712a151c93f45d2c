// What malformed texts are answered: line, column, what is wrong, the fragment; and that any bytes get an answer.

#include <random>

#include "core/isa/ptx/printer.h"
#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

struct ErrorCase {
  const char* text;  // behind kHeader: starts on line 4
  uint32_t line, column;
  const char* what;
  const char* fragment;
};

void ExpectError(const std::string& text, const ErrorCase& c) {
  SCOPED_TRACE(text);
  const absl::Status status = Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  ParseError error;
  ASSERT_TRUE(GetParseError(status, &error)) << status;
  EXPECT_EQ(error.line, c.line);
  EXPECT_EQ(error.column, c.column);
  EXPECT_EQ(error.what, c.what);
  EXPECT_EQ(error.fragment, c.fragment);
  const std::string position = std::to_string(c.line) + ":" + std::to_string(c.column) + ": " + c.what;
  EXPECT_EQ(status.message().substr(0, position.size()), position);
}

TEST(ParserErrorTest, Headers) {
  const ErrorCase kCases[] = {
      {"", 1, 1, "expected .version, with which PTX begins; this seems to be an empty file", ""},
      {"\n  .target sm_90", 2, 3, "expected .version, with which PTX begins", ".target"},
      {".version 8", 1, 10, "expected a version such as 8.7", "8"},
      {".version x", 1, 10, "expected a version such as 8.7", "x"},
      {".version 8.7", 1, 13, "expected .target", ""},
      {".version 8.99999", 1, 10, "number out of range", "8.99999"},
      {".version 8.7 .entry k() {}", 1, 14, "expected .target", ".entry"},
      {".version 8.7 .target sm_", 1, 22, "malformed target", "sm_"},
      {".version 8.7 .target sm_9x", 1, 22, "malformed target", "sm_9x"},
      {".version 8.7 .target sm_90, fast", 1, 29, "unknown target option", "fast"},
      {".version 8.7 .target", 1, 21, "expected a target", ""},
      {".version 8.7 .target sm_90 .address_size 16", 1, 42, "address size is neither 32 nor 64", "16"},
      {".version 8.7 .target sm_90 .address_size 6.5", 1, 42, "expected an integer", "6.5"},
      {"/* .version 8.7", 1, 1, "unterminated comment", "/"},
  };
  for (const ErrorCase& c : kCases) ExpectError(c.text, c);
}

TEST(ParserErrorTest, Modules) {
  const ErrorCase kCases[] = {
      {"foo", 4, 1, "expected a directive", "foo"},
      {";", 4, 1, "expected a directive", ";"},
      {"# 1 \"x.cu\"", 4, 1, "expected a directive", "#"},
      {"\n\t.unknown x;", 5, 2, "expected a declaration", ".unknown"},
      {".visible .unknown x;", 4, 10, "expected a declaration", ".unknown"},
      {".reg .b32 x;", 4, 1, "register outside of a function", ".reg"},
      {".file x", 4, 7, "expected a number", "x"},
      {".file 1 x", 4, 9, "expected a string", "x"},
      {".file 1 \"x", 4, 9, "expected a string", "\""},
      {".file 70000 \"x\"", 4, 7, "number out of range", "70000"},
      {".section {", 4, 10, "expected a section name", "{"},
      {".section .x", 4, 12, "expected '{'", ""},
      {".section .x { // }", 4, 10, "section without end", ".x"},
      {".pragma x;", 4, 9, "expected a string", "x"},
      {".pragma \"x\"", 4, 12, "expected ';'", ""},
      {".alias f, g;", 4, 11, "expected a declared function", "g"},
      {".global .b32 x; .alias f, x;", 4, 27, "expected a declared function", "x"},
      {".func g; .global .b32 x; .alias x, g;", 4, 33, "declared twice", "x"},
      {".loc 1 2", 4, 9, "expected a number", ""},
      {".loc 1 2 3, else_where 4", 4, 13, "unknown .loc attribute", "else_where"},
      {".loc 1 2 3, inlined_at 4 5 x", 4, 28, "expected a number", "x"},
      {"\xff\x80", 4, 1, "expected a directive", "\xff"},
  };
  for (const ErrorCase& c : kCases) ExpectError(std::string(kHeader) + c.text, c);
}

TEST(ParserErrorTest, Declarations) {
  const ErrorCase kCases[] = {
      {".global x;", 4, 9, "expected a type", "x"},
      {".global .b33 x;", 4, 9, "unknown type", ".b33"},
      {".global .b32 .b64 x;", 4, 14, "second type", ".b64"},
      {".global .pred x;", 4, 15, "type has no size in memory", "x"},
      {".global .align 3 .b32 x;", 4, 16, "alignment is not a power of two", "3"},
      {".global .align 0 .b32 x;", 4, 16, "alignment is not a power of two", "0"},
      {".global .align 99999999 .b32 x;", 4, 16, "number out of range", "99999999"},
      {".global .attribute(.managed .b32 x;", 4, 20, "expected ')'", ".managed"},
      {".global .b32 ;", 4, 14, "expected a name", ";"},
      {".global .b32 x", 4, 15, "expected ';'", ""},
      {".global .b32 x x;", 4, 16, "expected ';'", "x"},
      {".global .b32 x[4;", 4, 17, "expected ']'", ";"},
      {".global .b32 x[-1];", 4, 16, "array size out of range", "-"},
      {".global .b32 x[2][0];", 4, 19, "array size out of range", "0"},
      {".global .b32 x[1.5];", 4, 16, "array size out of range", "1.5"},
      {".global .b32 x[2][];", 4, 19, "only the first dimension may be open", "]"},
      {".global .b32 x[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1];", 4, 64, "too many dimensions", "1"},
      {".global .b32 x[281474976710655][281474976710655];", 4, 14, "variable is too large", "x"},
      {".global .b32 x; .global .b32 x;", 4, 30, "declared twice", "x"},
      {".extern .global .b32 x; .extern .shared .b32 x;", 4, 46, "declared twice", "x"},
      {".global .b32 f; .func f;", 4, 23, "declared twice", "f"},
      {".func f; .global .b32 f;", 4, 23, "declared twice", "f"},
      {".func f; .entry f;", 4, 17, "declared twice", "f"},
      {".func f {} .func f {}", 4, 20, "second body of a function", "{"},
      {".entry", 4, 7, "expected a function name", ""},
      {".entry k", 4, 9, "expected '{' or ';'", ""},
      {".entry k(", 4, 10, "expected .param or .reg", ""},
      {".entry k(.param .b32 x", 4, 23, "expected ')'", ""},
      {".entry k(.param .b32 x, .param .b64 x) {}", 4, 37, "declared twice", "x"},
      {".entry k(.param .b32) {}", 4, 21, "expected a name", ")"},
      {".entry k(.global .b32 x) {}", 4, 10, "expected .param or .reg", ".global"},
      {".func f(.reg .b32 x, .param .b32 y) {}", 4, 34, "both .reg and .param parameters", "y"},
      {".func (.param .b32 y) f(.reg .b32 x) {}", 4, 35, "parameters of this form", "x"},
      {".func f(.reg .b32 x[2]) {}", 4, 19, "array of registers", "x"},
      {".entry k() .reqntid 1,2,3,4 {}", 4, 27, "more than three extents", "4"},
      {".entry k() .reqntid {}", 4, 21, "expected a number", "{"},
      {".entry k() .maxnreg 5, {}", 4, 24, "expected a value", "{"},
  };
  for (const ErrorCase& c : kCases) ExpectError(std::string(kHeader) + c.text, c);
}

// Bodies of an entry that declares %r<9>, %p<3>, v (a vector) and s (shared), on line 5.
TEST(ParserErrorTest, Bodies) {
  const ErrorCase kCases[] = {
      {"", 5, 1, "function without end", ""},
      {"{ }", 5, 4, "function without end", ""},
      {"; }", 5, 1, "expected a statement", ";"},
      {"= }", 5, 1, "expected a statement", "="},
      {".unknown 1; }", 5, 1, "unknown directive", ".unknown"},
      {". }", 5, 1, "unknown directive", "."},
      {".reg .b32 ; }", 5, 11, "expected a register name", ";"},
      {".reg .b32 %r<9>; }", 5, 11, "declared twice", "%r"},
      {".reg .b32 %r5; }", 5, 11, "declared twice", "%r5"},
      {".reg .b32 s; }", 5, 11, "declared twice", "s"},
      {".reg .b32 q; .local .b32 q; }", 5, 26, "declared twice", "q"},
      {".reg .b32 q<0>; }", 5, 13, "empty range", "0"},
      {".reg .b32 q<1; }", 5, 14, "expected '>'", ";"},
      {".reg .b32 q }", 5, 13, "expected ';'", "}"},
      {"ret }", 5, 5, "expected an operand", "}"},
      {"ret", 5, 4, "text ends in a statement", ""},
      {"%r1 = 5; }", 5, 1, "expected an instruction", "%r1"},
      {"$x 5; }", 5, 1, "expected an instruction", "$x"},
      {"add.s32 %r1, %r2 %r3; }", 5, 18, "expected ',' or ';'", "%r3"},
      {"add.s32 %r1,, %r3; }", 5, 13, "expected an operand", ","},
      {"add.s32 %r1, %r2,; }", 5, 18, "expected an operand", ";"},
      {"add.s32 %r1, %r9, 1; }", 5, 14, "undeclared name", "%r9"},
      {"add.s32 %r1, nothing, 1; }", 5, 14, "undeclared name", "nothing"},
      {"add.s32 %r1, %tid.q, 1; }", 5, 14, "undeclared name", "%tid.q"},
      {"add.s32 %r1, !5x, 1; }", 5, 15, "malformed number", "5x"},
      {"add.s32 %r1, !s, 1; }", 5, 14, "negation of something that is no register", "!"},
      {"add.s32 %r1|5, %r2; }", 5, 13, "expected a register", "5"},
      {"add.s32 %r1|v, %r2; }", 5, 13, "expected a register", "v"},
      {"add.s32 %r1.q0, %r2; }", 5, 12, "unknown selector", ".q0"},
      {"add.s32 %r1.b9, %r2; }", 5, 12, "unknown selector", ".b9"},
      {"add.s32 v.q, %r2; }", 5, 10, "unknown component", ".q"},
      {"mov.b64 {%r1, %r2, 1; }", 5, 21, "expected '}'", ";"},
      {"mov.b64 {}, 1; }", 5, 10, "expected an operand", "}"},
      {"mov.b64 {{%r1}}, 1; }", 5, 10, "vector inside of a vector", "{"},
      {"mov.b64 {v}, 1; }", 5, 10, "vector inside of a vector", "v"},
      {"mov.b64 {[s]}, 1; }", 5, 10, "vector inside of a vector", "["},
      {"ld.b32 %r1, [; }", 5, 14, "expected an operand", ";"},
      {"ld.b32 %r1, [%r1; }", 5, 17, "expected ']'", ";"},
      {"ld.b32 %r1, [%r1+]; }", 5, 18, "expected an operand", "]"},
      {"ld.b32 %r1, [%r1+%r2]; }", 5, 18, "expected an operand", "%r2"},
      {"ld.b32 %r1, [%r1+1.5]; }", 5, 18, "floating-point offset", "1.5"},
      {"ld.b32 %r1, [1.5]; }", 5, 14, "floating-point address", "1.5"},
      {"ld.b32 %r1, [nothing]; }", 5, 14, "undeclared name", "nothing"},
      {"ld.b32 %r1, [%r1|%p1]; }", 5, 14, "address that is no plain register", "%r1"},
      {"ld.b32 %r1, [v]; }", 5, 14, "address that is no plain register", "v"},
      {"ld.b32 %r1, [%r1, [s]]; }", 5, 19, "address inside of an address", "["},
      {"ld.b32 %r1, [%r1, {%r1]; }", 5, 23, "expected '}'", "]"},
      {"ld.b32 %r1, s[1.5]; }", 5, 15, "floating-point index", "1.5"},
      {"@ mov.b32 %r1, 1; }", 5, 3, "expected a predicate register", "mov.b32"},
      {"@v mov.b32 %r1, 1; }", 5, 2, "expected a predicate register", "v"},
      {"@%p1 ; }", 5, 6, "expected an instruction", ";"},
      {"@%p1 { ret; } }", 5, 6, "expected an instruction", "{"},
      {"bra L; }", 5, 5, "undefined label", "L"},
      {"bra s; }", 5, 5, "undefined label", "s"},
      {"bra %r1; }", 5, 5, "undefined label", "%r1"},
      {"bra 5; }", 5, 5, "expected a label", "5"},
      {"brx.idx %r1, s; }", 5, 14, "undefined label", "s"},
      {"foo L; }", 5, 5, "undefined label", "L"},
      {"{ L: ret; } bra L; }", 5, 17, "undefined label", "L"},
      {"{ { bra L; } L: } bra L; { L: } }", 5, 23, "undefined label", "L"},
      {"L: ret; L: ret; }", 5, 9, "label defined twice", "L"},
      {"L: { L: } L: }", 5, 11, "label defined twice", "L"},
      {"foo.bar: ret; }", 5, 1, "malformed label", "foo.bar"},
      {"t: .branchtargets ; }", 5, 19, "expected a label", ";"},
      {"t: .branchtargets L; }", 5, 19, "undefined label", "L"},
      {"t: .branchtargets t; }", 5, 19, "table of a table", "t"},
      {"t: .calltargets L; }", 5, 17, "expected a declared function", "L"},
      {"t: .callprototype ; }", 5, 19, "expected '_'", ";"},
      {"t: .callprototype (.param .b32 _ _; }", 5, 34, "expected ')'", "_"},
      {"call ; }", 5, 6, "expected an operand", ";"},
      {"call nothing; }", 5, 6, "undeclared name", "nothing"},
      {"call s; }", 5, 6, "expected a function or a register", "s"},
      {"call (%r1) k; }", 5, 12, "expected ','", "k"},
      {"call k, (%r1; }", 5, 13, "expected ')'", ";"},
      {"call k, (%r1), ; }", 5, 16, "expected a label", ";"},
      {"call k, (), L; }", 5, 13, "undefined label", "L"},
      {"ret; /* never closed }", 5, 6, "unterminated comment", "/"},
      {"ret; }}", 5, 7, "expected a directive", "}"},
      {"ret; \x01 }", 5, 6, "expected a statement", "\x01"},
  };
  const std::string head =
      std::string(kHeader) + ".entry k() { .reg .b32 %r<9>; .reg .pred %p<3>; .reg .v2 .b32 v; .shared .b32 s;\n";
  for (const ErrorCase& c : kCases) ExpectError(head + c.text, c);
}

TEST(ParserErrorTest, NulsAndLongFragments) {
  EXPECT_EQ(Parse(kHeader + std::string("\0 ", 2)).status().message(), "4:1: expected a directive: '\\x00'");
  const absl::Status status = Parse(std::string(kHeader) + std::string(1'000'000, 'x')).status();
  EXPECT_LT(status.message().size(), 200u);
  EXPECT_EQ(Parse(std::string(kHeader) + "\x07").status().message(), "4:1: expected a directive: '\\x07'");
}

TEST(ParserErrorTest, OtherStatusesHaveNoParseError) {
  ParseError error;
  EXPECT_FALSE(GetParseError(absl::OkStatus(), &error));
  EXPECT_FALSE(GetParseError(absl::InvalidArgumentError("x"), &error));
}

TEST(ParserLimitsTest, EachIsNamed) {
  struct Case {
    const char* name;
    ParseLimits limits;
    std::string text;
  };
  const auto with = [](auto member, auto value) {
    ParseLimits limits;
    limits.*member = value;
    return limits;
  };
  const Case kCases[] = {
      {"max_text_bytes", with(&ParseLimits::max_text_bytes, 10), ""},
      {"max_instructions", with(&ParseLimits::max_instructions, 2), ".entry k() { ret; ret; ret; }"},
      {"max_operands", with(&ParseLimits::max_operands, 3), ".entry k() { foo 1, 2; foo {1}; }"},
      {"max_operands", with(&ParseLimits::max_operands, 3), ".func f; .entry k() { call f, (1, 2, 3, 4); }"},
      {"max_registers", with(&ParseLimits::max_registers, 5), ".entry k() { .reg .b32 a, b<4>; .reg .b32 c; }"},
      {"max_symbols", with(&ParseLimits::max_symbols, 2), ".global .b32 a, b, c;"},
      {"max_symbols", with(&ParseLimits::max_symbols, 2), ".global .b32 a; .func f; .func g;"},
      {"max_symbols", with(&ParseLimits::max_symbols, 2),
       ".entry k() { L: a: .branchtargets L; b: .branchtargets L; }"},
      {"max_symbols", with(&ParseLimits::max_symbols, 2),
       ".entry k() { .local .b32 x<9>; .reg .b32 r; ld.b32 r, [x1]; ld.b32 r, [x2]; }"},
      {"max_scope_depth", with(&ParseLimits::max_scope_depth, 3), ".entry k() {{{{ }}}}"},
      {"max_initializer_bytes", with(&ParseLimits::max_initializer_bytes, 7),
       ".global .b32 a = 1; .global .b32 b = 1;"},
  };
  for (const Case& c : kCases) {
    const absl::Status status = Parse(kHeader + c.text, c.limits).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << c.text << status;
    EXPECT_NE(status.message().find(c.name), std::string::npos) << c.text << status;
    EXPECT_TRUE(Parse(kHeader + c.text).ok()) << c.text << Parse(kHeader + c.text).status();
  }
}

TEST(ParserLimitsTest, OperandsOfOneInstruction) {
  std::string text = "foo 0";
  for (int i = 0; i < 200; ++i) text += ", 1";
  ParseError error;
  ASSERT_TRUE(GetParseError(Parse(kHeader + EntryText(text + ";")).status(), &error));
  EXPECT_EQ(error.what, "too many operands");
}

// A text cut anywhere, or with a byte changed anywhere, is a module or an error with a position.
TEST(ParserRobustnessTest, CutAndChangedTexts) {
  const std::string text = TestData("grammar.ptx");
  std::mt19937_64 random(17);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(random());
    for (const std::string& candidate : {text.substr(0, i), changed, text.substr(i)}) {
      const absl::StatusOr<Module> module = Parse(candidate);
      if (module.ok()) {
        Print(*module);
        continue;
      }
      ParseError error;
      ASSERT_TRUE(GetParseError(module.status(), &error)) << module.status();
      EXPECT_GE(error.line, 1u);
      EXPECT_GE(error.column, 1u);
    }
  }
}

// Shapes that would be slow if anything grew faster than the text. A megabyte of each takes milliseconds.
TEST(ParserRobustnessTest, LinearShapes) {
  constexpr size_t kBytes = 1 << 20;
  struct Case {
    const char *open, *repeated, *close;
  };
  const std::string nest(250, '{'), unnest(250, '}');
  const Case kCases[] = {
      {"", "{}", "}"},
      {"", "/*x", ""},
      {"}.section .x {", "/*x", ""},
      {"}.section .x {", "{", ""},
      {"", "ret;", "}"},
      {"foo ", "1+", "1;}"},
      {"foo ", "(", "1;}"},
      {"x.", ".ab", ";}"},
      {"bra ", "L", ";}"},
      {"", "{.reg .b32 %a<2>;foo %a1, %r9;}", "}"},
      {"", "{.reg .b32 %r1<2>;foo %r11, %r111;}", "}"},
      {"L: t: .branchtargets ", "L,", "L;}"},
      {"}.global .b8 x[] = {", "1,", "1};"},
      {"}.global .b8 x[][2] = {", "{1},", "{1}};"},
      {"", ".loc 1 2 3\n", "}"},
      {"foo {", "_,", "_};}"},
      {"foo [%r1", ",%r1", "];}"},
      {"foo %r1", "+1", ";}"},
  };
  for (const Case& c : kCases) {
    std::string text = std::string(kHeader) + ".entry k() { .reg .b32 %r<200>;" + c.open;
    while (text.size() < kBytes) text += c.repeated;
    text += c.close;
    const absl::Status status = Parse(text).status();
    ParseError error;
    EXPECT_TRUE(status.ok() || GetParseError(status, &error)) << c.repeated << status;
  }
  std::string branches = std::string(kHeader) + ".entry k() {" + nest;
  while (branches.size() < kBytes) branches += "bra L;";
  EXPECT_TRUE(Parse(branches + unnest + "L: }").ok());
}

}  // namespace
}  // namespace samebits::isa::ptx
