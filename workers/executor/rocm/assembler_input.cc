#include "workers/executor/rocm/assembler_input.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace samebits::workers {
namespace {

std::string_view Strip(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

// "gfx942:xnack-" of a line that ends in `...-gfx942:xnack-"`; empty where there is none.
std::string ProcessorIn(std::string_view line) {
  const size_t begin = line.rfind("gfx");
  if (begin == std::string_view::npos) return "";
  size_t end = begin;
  while (end < line.size() && (absl::ascii_isalnum(static_cast<unsigned char>(line[end])) || line[end] == ':' ||
                               line[end] == '+' || line[end] == '-'))
    ++end;
  return std::string(line.substr(begin, end - begin));
}

}  // namespace

absl::StatusOr<AssemblerInput> PrepareForAssembler(std::string_view text) {
  if (absl::Status status = CheckDirectives(text); !status.ok()) return status;
  AssemblerInput input;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at), stripped = Strip(line);
    at = end + 1;
    const bool is_target = stripped.substr(0, 14) == ".amdgcn_target";
    if (is_target || stripped.substr(0, 14) == "amdhsa.target:") {
      const std::string processor = ProcessorIn(stripped);
      if (is_target && input.processor.empty()) input.processor = processor;
      if (processor.empty() || input.processor != processor)
        return absl::InvalidArgumentError(absl::StrCat("the text names two processors, or none: ", std::string(stripped)));
      absl::StrAppend(&input.text, is_target ? ".amdgcn_target \"" : "amdhsa.target: '", input.Triple(), is_target ? "\"" : "'");
    } else if (stripped.substr(0, 5) != ".size" || (stripped.size() > 5 && stripped[5] != ' ' && stripped[5] != '\t')) {
      absl::StrAppend(&input.text, absl::string_view(line.data(), line.size()));
    }
    input.text += '\n';
  }
  if (input.processor.empty()) return absl::InvalidArgumentError("the text has no .amdgcn_target: the processor is not known");
  return input;
}

}  // namespace samebits::workers
