#include "core/heal/jobs/prompts.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsChoice(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= 'A' && text[at] <= 'D' &&
         (at + 1 == text.size() || !IsLetterOrDigit(text[at + 1]));
}

size_t SkipMarks(std::string_view text, size_t at) {
  constexpr std::string_view kMarks = " \t\r\n:=-*_\"'`([{$\\";
  while (at < text.size() && kMarks.find(text[at]) != kMarks.npos) ++at;
  return at;
}

// The letter after a word such as "answer" that ends at `at`; 0 if there is none.
char ChoiceAfter(std::string_view text, std::string_view lower, size_t at) {
  constexpr std::string_view kFillers[] = {"is", "option", "text{"};
  at = SkipMarks(text, at);
  for (const std::string_view filler : kFillers) {
    if (lower.substr(at, filler.size()) == filler) at = SkipMarks(text, at + filler.size());
  }
  return IsChoice(text, at) ? text[at] : 0;
}

absl::Status Bad(const Prompt& prompt, size_t index, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("prompts[", index, "] (id \"", prompt.id, "\"): ", what));
}

absl::Status ValidatePrompt(const Prompt& prompt, size_t index, const ModelShape& shape) {
  if (prompt.id.empty() || prompt.id.size() > 256) return Bad(prompt, index, "id must have 1 to 256 bytes");
  if (prompt.domain.size() > 256 || prompt.use_case.size() > 256) {
    return Bad(prompt, index, "domain and use case have at most 256 bytes");
  }
  if (prompt.tokens.empty() || prompt.tokens.size() >= kMostContext) {
    return Bad(prompt, index, absl::StrCat(prompt.tokens.size(), " tokens; 1 to ", kMostContext - 1, " are allowed"));
  }
  for (size_t i = 0; i < prompt.tokens.size(); ++i) {
    if (prompt.tokens[i] < 0 || prompt.tokens[i] >= shape.vocabulary) {
      return Bad(prompt, index, absl::StrCat("tokens[", i, "] is ", prompt.tokens[i], ", the vocabulary has ",
                                             shape.vocabulary, ": was it tokenised for another model?"));
    }
  }
  if (prompt.expected != 0 && (prompt.expected < 'A' || prompt.expected > 'D')) {
    return Bad(prompt, index, "the expected answer must be A, B, C or D, or left out");
  }
  return absl::OkStatus();
}

uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

absl::Status Validate(const PromptSet& set, const ModelShape& shape) {
  if (set.prompts.empty() || set.prompts.size() > kMostPrompts) {
    return absl::InvalidArgumentError(
        absl::StrCat("prompts: there are ", set.prompts.size(), "; 1 to ", kMostPrompts, " are allowed"));
  }
  std::set<std::string_view> ids;
  int64_t tokens = 0;
  for (size_t i = 0; i < set.prompts.size(); ++i) {
    if (absl::Status s = ValidatePrompt(set.prompts[i], i, shape); !s.ok()) return s;
    if (!ids.insert(set.prompts[i].id).second) return Bad(set.prompts[i], i, "this id is used twice");
    tokens += static_cast<int64_t>(set.prompts[i].tokens.size());
  }
  if (tokens > kMostPromptTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("prompts: ", tokens, " tokens together; at most ", kMostPromptTokens, " are allowed"));
  }
  if (static_cast<int64_t>(set.token_bytes.size()) > shape.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("token_bytes has ", set.token_bytes.size(),
                                                   " entries, the vocabulary ", shape.vocabulary));
  }
  if (set.stop_tokens.size() > 64) return absl::InvalidArgumentError("stop_tokens: at most 64 are allowed");
  for (const int32_t token : set.stop_tokens) {
    if (token < 0 || token >= shape.vocabulary) {
      return absl::InvalidArgumentError(absl::StrCat("stop_tokens: ", token, " is none of the vocabulary's ", shape.vocabulary,
                                                     "; are the prompts of another model?"));
    }
  }
  return absl::OkStatus();
}

std::string Decode(const PromptSet& set, std::span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    const bool stop = std::find(set.stop_tokens.begin(), set.stop_tokens.end(), token) != set.stop_tokens.end();
    if (!stop && token >= 0 && static_cast<size_t>(token) < set.token_bytes.size()) text += set.token_bytes[token];
  }
  return text;
}

char ParseAnswer(const std::string& text) {
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  char answer = 0;
  size_t answer_at = 0;
  constexpr std::string_view kWords[] = {"answer", "\\boxed"};
  for (const std::string_view word : kWords) {
    for (size_t at = lower.find(word); at != lower.npos; at = lower.find(word, at + 1)) {
      const char choice = ChoiceAfter(text, lower, at + word.size());
      if (choice != 0 && (answer == 0 || at > answer_at)) {
        answer = choice;
        answer_at = at;
      }
    }
  }
  if (answer != 0) return answer;
  const size_t begin = SkipMarks(text, 0);
  return IsChoice(text, begin) ? text[begin] : kNoAnswer;
}

char ReadAnswer(const PromptSet& set, std::span<const int32_t> tokens) {
  return set.token_bytes.empty() ? kNoAnswer : ParseAnswer(Decode(set, tokens));
}

PromptSet MakeSyntheticPrompts(const ModelShape& shape, int count, int length, uint64_t seed) {
  PromptSet set;
  set.name = absl::StrCat("synthetic:", count, "x", length, ":", seed);
  for (int i = 0; i < count; ++i) {
    Prompt prompt;
    prompt.id = absl::StrCat("synthetic-", i);
    for (int t = 0; t < length; ++t) {
      const uint64_t number = Mix(Mix(Mix(seed) + static_cast<uint64_t>(i)) + static_cast<uint64_t>(t));
      prompt.tokens.push_back(static_cast<int32_t>(number % static_cast<uint64_t>(shape.vocabulary)));
    }
    set.prompts.push_back(std::move(prompt));
  }
  return set;
}

}  // namespace samebits::heal
