#include "core/heal/jobs/prompt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace samebits::heal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kHeader[] = R"({"format":"samebits-prompts/1","name":"two","stop_tokens":[2],)"
                           R"("vocabulary":["A","\u00c4\u0001"," \"",""]})";
constexpr char kPrompt[] = R"({"id":"q1","domain":"legal","use_case":"contract risk review","answer":"B","tokens":[0,3,1]})";

std::string File(const std::string& lines) { return std::string(kHeader) + "\n" + lines; }

TEST(PromptFile, ReadsHeaderAndPrompts) {
  const auto set = ParsePrompts(File(std::string(kPrompt) + "\r\n\n" + R"({"id":"q2","choices":{"A":"x"},"tokens":[1]})"));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->name, "two");
  EXPECT_THAT(set->stop_tokens, ElementsAre(2));
  EXPECT_THAT(set->token_bytes, ElementsAre("A", "\xC4\x01", " \"", ""));
  ASSERT_EQ(set->prompts.size(), 2);
  EXPECT_EQ(set->prompts[0].id, "q1");
  EXPECT_EQ(set->prompts[0].domain, "legal");
  EXPECT_EQ(set->prompts[0].use_case, "contract risk review");
  EXPECT_EQ(set->prompts[0].expected, 'B');
  EXPECT_THAT(set->prompts[0].tokens, ElementsAre(0, 3, 1));
  EXPECT_EQ(set->prompts[1].expected, 0);
  EXPECT_THAT(set->prompts[1].tokens, ElementsAre(1));
}

TEST(PromptFile, EveryByteCanBeSpelt) {
  std::string spelt, bytes;
  for (int byte = 0; byte < 256; ++byte) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", byte);
    spelt += escape;
    bytes.push_back(static_cast<char>(byte));
  }
  const auto set = ParsePrompts(R"({"format":"samebits-prompts/1","stop_tokens":[],"vocabulary":[")" + spelt +
                                "\"]}\n{\"id\":\"q\",\"tokens\":[0]}");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->token_bytes, ElementsAre(bytes));
}

TEST(PromptFile, WithoutVocabularyTokensAreNotCompared) {
  const auto set = ParsePrompts(R"({"format":"samebits-prompts/1","stop_tokens":[7]})"
                                "\n" R"({"id":"q","tokens":[151935]})");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->token_bytes.empty());
  EXPECT_THAT(set->prompts[0].tokens, ElementsAre(151935));
}

struct Bad {
  std::string text, message;
};

TEST(PromptFile, ErrorsNameLineAndKey) {
  const Bad cases[] = {
      {"", "there is no prompt"},
      {kHeader, "there is no prompt"},
      {kPrompt, "line 1: key \"format\""},
      {"[]\n", "line 1: no JSON object"},
      {File("{\"id\":"), "line 2: no JSON object"},
      {File("\n\n{\"id\":\"\",\"tokens\":[1]}"), "line 4: key \"id\" is missing or empty"},
      {File(R"({"id":7,"tokens":[1]})"), "key \"id\" is no string"},
      {File(std::string(kPrompt) + "\n" + kPrompt), "line 3: key \"id\" is that of an earlier line: q1"},
      {File(R"({"id":"q"})"), "key \"tokens\" is missing"},
      {File(R"({"id":"q","tokens":[]})"), "key \"tokens\" is empty"},
      {File(R"({"id":"q","tokens":[1.5]})"), "no token number"},
      {File(R"({"id":"q","tokens":[-1]})"), "no token number"},
      {File(R"({"id":"q","tokens":[18446744073709551615]})"), "no token number"},
      {File(R"({"id":"q","tokens":[4]})"), "has token 4; the vocabulary has 4"},
      {File(R"({"id":"q","tokens":[1],"answer":"E"})"), "key \"answer\""},
      {File(R"({"id":"q","tokens":[1],"answer":"AB"})"), "key \"answer\""},
      {File(R"({"id":"q","tokens":[1],"domain":")" + std::string(kMostPromptNameBytes + 1, 'x') + "\"}"), "key \"domain\""},
      {R"({"format":"samebits-prompts/1","stop_tokens":[1],"vocabulary":["a","\u0100"]})", "at 1, no string"},
      {R"({"format":"samebits-prompts/1","stop_tokens":[1],"vocabulary":["a"]})", "key \"stop_tokens\" has token 1"},
      {R"({"format":"samebits-prompts/2","stop_tokens":[]})", "key \"format\""},
      {R"({"format":"samebits-prompts/1"})", "key \"stop_tokens\" is missing"},
  };
  for (const Bad& bad : cases) {
    const auto set = ParsePrompts(bad.text);
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_THAT(std::string(set.status().message()), HasSubstr(bad.message)) << bad.text;
  }
}

TEST(PromptFile, NumberOfPromptsIsBounded) {
  std::string lines;
  for (int i = 0; i <= kMostPrompts; ++i) lines += "{\"id\":\"" + std::to_string(i) + "\",\"tokens\":[1]}\n";
  EXPECT_THAT(std::string(ParsePrompts(File(lines)).status().message()), HasSubstr("more than 4096 prompts"));
}

TEST(PromptFile, LinesAreBounded) {
  EXPECT_THAT(std::string(ParsePrompts(File(std::string(kMostPromptLineBytes + 1, '['))).status().message()),
              HasSubstr("line 2: longer than"));
}

TEST(PromptFile, TokensOfAPromptAreBounded) {
  std::string tokens = "1";
  for (int i = 1; i < kMostContext - 1; ++i) tokens += ",1";
  const auto file = [](const std::string& list) { return File(R"({"id":"q","tokens":[)" + list + "]}"); };
  EXPECT_TRUE(ParsePrompts(file(tokens)).ok());
  EXPECT_THAT(std::string(ParsePrompts(file(tokens + ",1")).status().message()), HasSubstr("has 131072 tokens"));
}

TEST(PromptFile, DeepNestingIsNoDanger) {
  const std::string open(1 << 20, '['), closed = open + std::string(1 << 20, ']');
  const std::string start = R"({"id":"q","tokens":[1],"x":)";
  EXPECT_TRUE(ParsePrompts(File(start + closed + "}")).ok());
  EXPECT_THAT(std::string(ParsePrompts(File(start + open)).status().message()), HasSubstr("line 2: no JSON object"));
}

TEST(PromptFile, PathIsNamed) {
  const std::string path = testing::TempDir() + "/prompt_file_test.jsonl";
  std::ofstream(path) << File(kPrompt);
  const auto set = LoadPrompts(path);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->prompts.size(), 1);
  std::ofstream(path) << File("x");
  EXPECT_THAT(std::string(LoadPrompts(path).status().message()), HasSubstr(path + ": line 2"));
  EXPECT_EQ(LoadPrompts(path + ".missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(LoadPrompts(testing::TempDir()).ok());
}

}  // namespace
}  // namespace samebits::heal
