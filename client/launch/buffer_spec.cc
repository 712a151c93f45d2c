#include "client/launch/buffer_spec.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/launch/abseil_text.h"

namespace samebits::launch {
namespace {

bool ParseBounds(const std::string& word, BufferDescription* buffer) {
  const size_t dots = word.find("..");
  int64_t low = 0, high = 0;
  if (dots == std::string::npos || !absl::SimpleAtoi(word.substr(0, dots), &low) ||
      !absl::SimpleAtoi(word.substr(dots + 2), &high))
    return false;
  buffer->low = low;
  buffer->high = high;
  return true;
}

}  // namespace

std::optional<BufferDescription::Role> ParseRole(std::string_view word) {
  if (word == "in") return BufferDescription::Role::kIn;
  if (word == "out") return BufferDescription::Role::kOut;
  if (word == "inout") return BufferDescription::Role::kInOut;
  return std::nullopt;
}

absl::StatusOr<BufferDescription> ParseBuffer(std::string_view text) {
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("--buffer ", Abseil(text), ": ", what,
                                                   "; write NAME=TYPE:ELEMENTS[:in|:out|:inout][:unit][:LOW..HIGH]"));
  };
  BufferDescription buffer;
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) return bad("no name");
  buffer.name = std::string(text.substr(0, equals));
  const std::vector<std::string> words = absl::StrSplit(Abseil(text.substr(equals + 1)), ':');
  buffer.type = words[0];
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &buffer.elements) || buffer.elements == 0)
    return bad("no number of elements");
  for (size_t i = 2; i < words.size(); ++i) {
    if (const auto role = ParseRole(words[i])) {
      buffer.role = *role;
    } else if (words[i] == "unit") {
      buffer.unit = true;
    } else if (!ParseBounds(words[i], &buffer)) {
      return bad(absl::StrCat("'", words[i], "' is not understood"));
    }
  }
  return buffer;
}

}  // namespace samebits::launch
