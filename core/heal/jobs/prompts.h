#ifndef SAMEBITS_CORE_HEAL_JOBS_PROMPTS_H_
#define SAMEBITS_CORE_HEAL_JOBS_PROMPTS_H_

// What a model is asked, as tokens, and how its answers are read back from tokens.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/heal/model/model_shape.h"

namespace samebits::heal {

inline constexpr int kMostPrompts = 4096;
inline constexpr int kMostContext = 1 << 17;         // prompt and generated tokens together
inline constexpr int64_t kMostPromptTokens = 1 << 24;  // of all prompts together

// Answers: 'A' to 'D', and 'F' for "could not be parsed".
inline constexpr char kNoAnswer = 'F';

struct Prompt {
  std::string id, domain, use_case;
  std::vector<int32_t> tokens;  // at least one
  char expected = 0;            // 'A' to 'D'; 0: unknown
};

struct PromptSet {
  std::string name;
  std::vector<Prompt> prompts;
  std::vector<std::string> token_bytes;  // of each token; may be empty (see ReadAnswer)
  std::vector<int32_t> stop_tokens;      // generation ends with the first of these, which is kept
};

// INVALID_ARGUMENT with the prompt and field: sizes bounded, ids present and distinct, tokens below the vocabulary.
absl::Status Validate(const PromptSet& set, const ModelShape& shape);

// The bytes of the tokens; tokens beyond the table and stop tokens give none.
std::string Decode(const PromptSet& set, std::span<const int32_t> tokens);

// The category of a text: the letter of the last "answer: X", "answer is X", "\boxed{X}" (any case of the words;
// parentheses, quotes, asterisks and white space around the letter are skipped); failing that, the letter that the text
// begins with, if no letter or digit follows it; failing that, 'F'.
char ParseAnswer(const std::string& text);

// ParseAnswer of the decoded tokens. Where the set has no table, answers are unknown and this is 'F'; jobs then count a
// flip where the generated sequences differ at all.
char ReadAnswer(const PromptSet& set, std::span<const int32_t> tokens);

// `count` prompts of `length` seeded random tokens each, for models of synthetic weights. No table, no stop tokens.
PromptSet MakeSyntheticPrompts(const ModelShape& shape, int count, int length, uint64_t seed);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_PROMPTS_H_
