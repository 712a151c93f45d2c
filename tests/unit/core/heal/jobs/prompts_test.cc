#include "core/heal/jobs/prompts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/heal/jobs/fake_engine.h"

namespace samebits::heal {
namespace {

using testing::FakeShape;
using ::testing::HasSubstr;

TEST(ParseAnswer, Table) {
  const struct {
    const char* text;
    char answer;
  } kCases[] = {
      {"The answer is B.", 'B'},
      {"Answer: C", 'C'},
      {"ANSWER:\n\n(D) because", 'D'},
      {"final answer: **A**", 'A'},
      {"so \\boxed{B}", 'B'},
      {"so \\boxed{\\text{C}}", 'C'},
      {"The answer is option D", 'D'},
      {"answer: A ... no. Answer: B", 'B'},      // the last counts
      {"answer: B, that is \\boxed{C}", 'C'},    // whichever word
      {"answer: a case of sepsis", 'F'},         // lower case is no choice
      {"Answer: Albumin", 'F'},
      {"Answer: E", 'F'},
      {"B", 'B'},
      {" (C) insulin", 'C'},
      {"Because of B", 'F'},                     // "B" begins a word
      {"I think B", 'F'},
      {"", 'F'},
      {"answer", 'F'},
      {"answer:", 'F'},
  };
  for (const auto& one : kCases) EXPECT_EQ(ParseAnswer(one.text), one.answer) << one.text;
}

TEST(ReadAnswer, DecodesBytesWithoutStopTokens) {
  PromptSet set;
  set.token_bytes = {"ans", "wer: ", "B", "C"};
  set.stop_tokens = {3};
  EXPECT_EQ(Decode(set, std::vector<int32_t>{0, 1, 2, 3, 9, -1}), "answer: B");
  EXPECT_EQ(ReadAnswer(set, std::vector<int32_t>{0, 1, 2, 3}), 'B');
  EXPECT_EQ(ReadAnswer(set, std::vector<int32_t>{0, 1, 3}), 'F');
  set.token_bytes.clear();
  EXPECT_EQ(ReadAnswer(set, std::vector<int32_t>{0, 1, 2}), 'F');
}

TEST(ValidatePrompts, SaysWhatIsWrong) {
  const PromptSet good = testing::FakePrompts(3, true);
  EXPECT_TRUE(Validate(good, FakeShape()).ok());
  PromptSet bad = good;
  bad.prompts[1].tokens[0] = 64;
  EXPECT_THAT(std::string(Validate(bad, FakeShape()).message()), HasSubstr("prompts[1]"));
  bad = good;
  bad.prompts[2].id = bad.prompts[0].id;
  EXPECT_THAT(std::string(Validate(bad, FakeShape()).message()), HasSubstr("twice"));
  bad = good;
  bad.prompts[0].tokens.clear();
  EXPECT_FALSE(Validate(bad, FakeShape()).ok());
  bad = good;
  bad.prompts[0].expected = 'E';
  EXPECT_FALSE(Validate(bad, FakeShape()).ok());
  bad = good;
  bad.token_bytes.resize(65);
  EXPECT_FALSE(Validate(bad, FakeShape()).ok());
  EXPECT_FALSE(Validate(PromptSet{}, FakeShape()).ok());
  for (const int32_t token : {-1, 64}) {
    bad = good;
    bad.stop_tokens = {63, token};
    EXPECT_THAT(std::string(Validate(bad, FakeShape()).message()), HasSubstr("stop_tokens: " + std::to_string(token)));
  }
}

TEST(SyntheticPrompts, AreSeededAndValid) {
  const PromptSet a = MakeSyntheticPrompts(FakeShape(), 5, 20, 1), b = MakeSyntheticPrompts(FakeShape(), 5, 20, 1);
  const PromptSet c = MakeSyntheticPrompts(FakeShape(), 5, 20, 2);
  EXPECT_TRUE(Validate(a, FakeShape()).ok());
  EXPECT_EQ(a.prompts[3].tokens, b.prompts[3].tokens);
  EXPECT_NE(a.prompts[3].tokens, c.prompts[3].tokens);
  EXPECT_NE(a.prompts[3].tokens, a.prompts[4].tokens);
}

}  // namespace
}  // namespace samebits::heal
