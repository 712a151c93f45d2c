#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "workers/executor/rocm/assembler_input.h"

namespace samebits::workers {
namespace {

constexpr uint64_t kMostPadding = 64 << 20;
constexpr int kMostShift = 20;

constexpr absl::string_view kRefused[] = {
    "incbin", "include", "macro", "endm", "endmacro", "rept", "rep", "irp", "irpc", "altmacro", "org", "nops", "comm", "lcomm",
    "bundle_align_mode", "bundle_lock", "zerofill", "tbss", "lsym", "pushsection", "subsection", "import", "reloc"};
constexpr absl::string_view kRefusedStarts[] = {"dcb", "ds."};
constexpr absl::string_view kFills[] = {"fill", "zero", "space", "skip"};
constexpr absl::string_view kPowers[] = {"p2align", "p2alignw", "p2alignl"};
constexpr absl::string_view kAlignments[] = {"align", "balign", "balignw", "balignl"};
constexpr absl::string_view kSectionTypes[] = {"@progbits", "@nobits", "@note"};

template <size_t kCount>
bool IsAnyOf(absl::string_view word, const absl::string_view (&words)[kCount]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '@' || c == '?';
}

// A number written as one, not as an expression.
std::optional<uint64_t> Plain(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  uint64_t number = 0;
  const bool is_hex = absl::StartsWith(text, "0x");
  const bool is_number = !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
                         (is_hex ? absl::SimpleHexAtoi(text, &number) : text == "0" || (text[0] != '0' && absl::SimpleAtoi(text, &number)));
  return is_number ? std::optional(number) : std::nullopt;
}

absl::string_view WithoutComment(absl::string_view line) {
  return line.substr(0, std::min(line.find(';'), line.find("//")));
}

// Bytes of what a directive may add; nullopt where they are not plain.
std::optional<uint64_t> Padding(absl::string_view directive, absl::string_view rest) {
  const std::vector<absl::string_view> parts = absl::StrSplit(WithoutComment(rest), ',');
  const std::optional<uint64_t> first = Plain(parts[0]);
  if (!first || *first > kMostPadding) return std::nullopt;
  if (IsAnyOf(directive, kPowers)) return *first <= kMostShift ? std::optional(uint64_t{1} << *first) : std::nullopt;
  // Bytes on some targets, a power on others.
  if (IsAnyOf(directive, kAlignments)) return *first <= kMostShift ? uint64_t{1} << *first : *first;
  if (directive != "fill" || parts.size() < 2) return first;
  const std::optional<uint64_t> size = Plain(parts[1]);
  return size && *size <= 8 ? std::optional(*first * *size) : std::nullopt;
}

// ".section NAME[,"FLAGS"[,@TYPE[,...]]]": some types make linkers read the files that the section names.
bool IsPlainSection(absl::string_view rest) {
  const std::vector<absl::string_view> parts = absl::StrSplit(WithoutComment(rest), ',');
  if (parts.size() == 1) return true;
  const absl::string_view flags = absl::StripAsciiWhitespace(parts[1]);
  if (flags.size() < 2 || flags.front() != '"' || flags.back() != '"') return false;
  return parts.size() == 2 || IsAnyOf(absl::StripAsciiWhitespace(parts[2]), kSectionTypes);
}

class Checker {
 public:
  absl::Status Line(absl::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    for (const char c : line)
      if (c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c))) return Refuse("a control character");
    if (absl::StrContains(line, "/*")) return Refuse("a block comment");
    for (const absl::string_view reads : {".incbin", ".include"})
      if (absl::StrContains(absl::AsciiStrToLower(line), reads)) return Refuse(reads);
    for (size_t at = line.find('.'); at != absl::string_view::npos; at = line.find('.', at)) {
      size_t end = at + 1;
      while (end < line.size() && IsNameChar(line[end])) ++end;
      const bool begins = at == 0 || !IsNameChar(line[at - 1]);
      const absl::string_view rest = line.substr(end);
      const bool is_label = absl::StartsWith(absl::StripLeadingAsciiWhitespace(rest), ":");
      if (begins && !is_label)
        if (absl::Status status = Directive(absl::AsciiStrToLower(line.substr(at + 1, end - at - 1)), rest); !status.ok()) return status;
      at = end;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Directive(const std::string& name, absl::string_view rest) {
    const bool starts = std::any_of(std::begin(kRefusedStarts), std::end(kRefusedStarts),
                                    [&](absl::string_view start) { return absl::StartsWith(name, start); });
    if (starts || IsAnyOf(name, kRefused)) return Refuse(absl::StrCat(".", name));
    if (name == "section" && !IsPlainSection(rest)) return Refuse("a section of this type");
    if (!IsAnyOf(name, kFills) && !IsAnyOf(name, kPowers) && !IsAnyOf(name, kAlignments)) return absl::OkStatus();
    const std::optional<uint64_t> bytes = Padding(name, rest);
    if (!bytes) return Refuse(absl::StrCat(".", name, " of this length"));
    if ((padding_ += *bytes) > kMostPadding) return Refuse("more than 64 MiB of padding");
    return absl::OkStatus();
  }

  absl::Status Refuse(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", what, " is not assembled on workers"));
  }

  int line_ = 0;
  uint64_t padding_ = 0;
};

}  // namespace

absl::Status CheckDirectives(std::string_view text) {
  Checker checker;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n'))
    if (absl::Status status = checker.Line(line); !status.ok()) return status;
  return absl::OkStatus();
}

}  // namespace samebits::workers
