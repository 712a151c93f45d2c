#ifndef SAMEBITS_CORE_HEAL_JOBS_PROMPT_FILE_H_
#define SAMEBITS_CORE_HEAL_JOBS_PROMPT_FILE_H_

// Prompt files, as `python -m samebits.heal.prepare` writes them (docs/numerics.md, "Prompt files"): JSON Lines, first
// {"format": "samebits-prompts/1", "name": ..., "stop_tokens": [...], "vocabulary": [...]}, then a line per prompt,
// {"id": ..., "domain": ..., "use_case": ..., "answer": "B", "tokens": [...]}. A string of the vocabulary stands for as
// many bytes as it has characters, U+0000 to U+00FF. Other keys are not read; empty lines are skipped.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/heal/jobs/prompts.h"

namespace samebits::heal {

inline constexpr int64_t kMostPromptFileBytes = 256 << 20;
inline constexpr int64_t kMostPromptLineBytes = 32 << 20;
inline constexpr int kMostVocabulary = 1 << 20;
inline constexpr int kMostStopTokens = 64;
inline constexpr int kMostPromptNameBytes = 256;  // of a name, id, domain or use case

// INVALID_ARGUMENT with line, key and what is wrong. Ids are present and distinct, and every prompt has tokens, fewer
// than kMostContext and all below the vocabulary where there is one. Whether they suit a model: Validate of prompts.h.
absl::StatusOr<PromptSet> ParsePrompts(std::string_view text);

// ParsePrompts of a file, whose path precedes the message. NOT_FOUND where it cannot be opened.
absl::StatusOr<PromptSet> LoadPrompts(const std::string& path);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_PROMPT_FILE_H_
