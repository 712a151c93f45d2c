#include "tests/support/generator/edit.h"

#include <algorithm>
#include <cctype>

#include "tests/support/generator/generator.h"

namespace samebits::generator {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

namespace {

// Replaces the `which`-th number of a line.
void ReplaceNumber(std::string* line, uint32_t which, int32_t value) {
  std::vector<size_t> starts;
  for (size_t i = 1; i < line->size(); ++i)
    if (std::isdigit((*line)[i]) && !std::isalnum((*line)[i - 1]) && (*line)[i - 1] != '.') starts.push_back(i);
  if (starts.empty()) return;
  const size_t at = starts[which % starts.size()];
  size_t end = at;
  while (end < line->size() && std::isdigit((*line)[end])) ++end;
  line->replace(at, end - at, std::to_string(value));
}

}  // namespace

void Edit(uint32_t word, std::vector<std::string>* lines) {
  const size_t at = (word >> 8 & 0xffff) % lines->size();
  const uint32_t argument = word >> 24;
  static constexpr int32_t kNumbers[] = {0,     1,     -1,         2,           3,       4,   8,   15,   16,
                                         31,    32,    33,         63,          64,      255, 256, 1000, 4096,
                                         65535, 65536, 2147483647, -2147483647, 1 << 20, 7,   24};
  static constexpr const char* kTypes[] = {".s32",   ".u32", ".b32",  ".f32", ".s16",  ".u16",    ".b16",
                                           ".s64",   ".u64", ".b64",  ".f16", ".bf16", ".f16x2",  ".b8",
                                           ".pred",  ".rn",  ".rz",   ".ftz", ".sat",  ".global", ".shared",
                                           ".local", ".v2",  ".wide", ".lo",  ".hi"};
  std::string& line = (*lines)[at];
  switch (word & 7) {
    case 0: lines->erase(lines->begin() + static_cast<ptrdiff_t>(at)); break;
    case 1: lines->insert(lines->begin() + static_cast<ptrdiff_t>(at), std::string(line)); break;
    case 2: std::swap(line, (*lines)[(at + argument) % lines->size()]); break;
    case 3: ReplaceNumber(&line, word >> 3 & 31, kNumbers[argument % std::size(kNumbers)]); break;
    case 4: {  // a line of another kernel
      const auto other = Lines(Generate(argument).Text());
      lines->insert(lines->begin() + static_cast<ptrdiff_t>(at), other[(word >> 3 & 31) * 7 % other.size()]);
      break;
    }
    case 5: {  // another type or modifier
      const size_t dot = line.find('.', (word >> 3 & 31) % (line.size() + 1));
      if (dot == std::string::npos) break;
      size_t end = dot + 1;
      while (end < line.size() && std::isalnum(line[end])) ++end;
      line.replace(dot, end - dot, argument % 5 == 0 ? "" : kTypes[argument % std::size(kTypes)]);
      break;
    }
    case 6:
      line.insert(
          0, argument % 2 ? "@%p" + std::to_string(argument % 5) + " " : "@!%p" + std::to_string(argument % 5) + " ");
      break;
    default:
      if (!line.empty()) line[argument % line.size()] = static_cast<char>("%r0123456789p.,;[]{}+-@!f"[word >> 3 & 23]);
  }
  if (lines->empty()) lines->emplace_back();
}

}  // namespace samebits::generator
