#include "core/checker/place_finder.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace samebits::checker {

namespace {

constexpr size_t kMaxStatement = 160, kMaxSource = 240, kMaxName = 80;
constexpr uint32_t kMaxLinesToLoc = 2000;

std::string_view Trimmed(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {trimmed.data(), trimmed.size()};
}

// "{%r1,%r2,...,%r64}" for long lists of registers.
std::string Abridged(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find('{'), close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    const std::string_view list = text.substr(open + 1, close - open - 1);
    out += text.substr(0, open + 1);
    if (std::count(list.begin(), list.end(), ',') > 4) {
      const std::string_view last = list.substr(list.rfind(',') + 1);
      absl::StrAppend(&out, std::string(Trimmed(list.substr(0, list.find(',')))), ",...,", std::string(Trimmed(last)));
    } else {
      out += list;
    }
    out += '}';
    text.remove_prefix(close + 1);
  }
  out += text;
  for (char& c : out)
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) c = ' ';
  out.erase(std::unique(out.begin(), out.end(), [](char a, char b) { return a == ' ' && b == ' '; }), out.end());
  if (out.size() > kMaxStatement) out = out.substr(0, kMaxStatement - 3) + "...";
  return out;
}

// Outermost call of a comment like "standard.py:263:15 @[ standard.py:293:36 @[ kernels.py:45:30 ] ]".
std::string OutermostCall(std::string_view comment) {
  const size_t at = comment.rfind("@[");
  if (at == std::string_view::npos) return "";
  std::string_view call = Trimmed(comment.substr(at + 2));
  call = call.substr(0, std::min(call.find(' '), kMaxName));
  const size_t first = call.find(':'), second = first == std::string_view::npos ? first : call.find(':', first + 1);
  return std::string(call.substr(0, second));
}

struct Location {
  unsigned long file = 0, line = 0, column = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

// " 2 314 12, ...": zeros where numbers are missing.
Location ParseLocation(std::string_view text) {
  const std::string numbers(text.substr(0, kMaxName));
  char* rest = nullptr;
  Location out;
  out.file = std::strtoul(numbers.c_str(), &rest, 10);
  out.line = std::strtoul(rest, &rest, 10);
  out.column = std::strtoul(rest, nullptr, 10);
  return out;
}

}  // namespace

PlaceFinder::PlaceFinder(const isa::Module& module) : module_(module) {
  for (const isa::Function& f : module.functions)
    for (const isa::Instruction& in : f.instructions) instructions_.try_emplace(in.line, &in);
  const std::string& text = *module.text;
  starts_ = {0, 0};
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) starts_.push_back(at + 1);
}

std::string_view PlaceFinder::Line(uint32_t line) const {
  if (line == 0 || line >= starts_.size()) return "";
  const std::string_view text = *module_.text;
  const size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text.size();
  return Trimmed(text.substr(starts_[line], end - starts_[line]));
}

// To the semicolon that ends it.
std::string PlaceFinder::Statement(const isa::Instruction& in) const {
  const std::string_view text = *module_.text;
  const size_t begin = static_cast<size_t>(in.name.data() - text.data());
  if (begin >= text.size()) return std::string(in.name);
  return Abridged(Trimmed(text.substr(begin, std::min(text.find(';', begin), text.size()) - begin)));
}

// From the .loc that governs the line outwards: each call's own .loc stands before those of what it inlines.
std::string PlaceFinder::InlinedAt(uint32_t line) const {
  Location at{}, outer{};
  const uint32_t first = line > kMaxLinesToLoc ? line - kMaxLinesToLoc : 1;
  for (uint32_t l = line; l >= first; --l) {
    const std::string_view text = Line(l);
    if (text.substr(0, 4) != ".loc") continue;
    const size_t comment = text.find("//"), inlined = text.substr(0, comment).find("inlined_at");
    const Location own = ParseLocation(text.substr(4));
    if (outer.file != 0 && !(own == at)) continue;
    if (inlined == std::string_view::npos) {
      if (outer.file == 0 && comment != std::string_view::npos) return OutermostCall(text.substr(comment));
      break;
    }
    at = outer = ParseLocation(text.substr(inlined + 10));
    if (at.file == 0) break;
  }
  return outer.file == 0 || outer.file >= module_.files.size() || outer.line == 0 ? "" : absl::StrCat(module_.files[outer.file], ":", outer.line);
}

Place PlaceFinder::Find(uint32_t line) const {
  Place p;
  const auto it = instructions_.find(line);
  if (line == 0 || it == instructions_.end()) return p;
  const isa::Instruction& in = *it->second;
  p.line = line;
  p.instruction = Statement(in);
  if (in.loc_file == 0 || in.loc_file >= module_.files.size() || in.loc_line == 0) return p;
  p.source = absl::StrCat(module_.files[in.loc_file], ":", in.loc_line);
  const std::string outer = InlinedAt(line);
  if (!outer.empty()) absl::StrAppend(&p.source, ", inlined at ", outer);
  if (p.source.size() > kMaxSource) p.source = p.source.substr(0, kMaxSource - 3) + "...";
  return p;
}

}  // namespace samebits::checker
