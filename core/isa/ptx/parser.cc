#include "core/isa/ptx/parser.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

constexpr size_t kMaxFragment = 48;
constexpr size_t kDecodedNames = 256;
constexpr std::string_view kWarpSizeName = "WARP_SZ";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// The token at `at`, cut at a length that fits a message.
std::string_view Fragment(const char* at, const char* end) {
  const char* to = at;
  while (to < end && to - at < static_cast<int64_t>(kMaxFragment)) {
    if (!Is(*to, kDottedChar | kNameStartChar)) break;
    ++to;
  }
  if (to == at && to < end) ++to;
  return {at, static_cast<size_t>(to - at)};
}

ParseError Locate(std::string_view text, const char* at, std::string_view what) {
  ParseError error;
  const std::string_view before = text.substr(0, at - text.data());
  error.line = 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  error.column = static_cast<uint32_t>(before.size() - (newline == std::string_view::npos ? 0 : newline + 1)) + 1;
  error.what = std::string(what);
  error.fragment = std::string(Fragment(at, text.data() + text.size()));
  return error;
}

absl::Status MakeStatus(absl::StatusCode code, const ParseError& error) {
  const std::string fragment = error.fragment.empty() ? "end of text" : absl::CHexEscape(error.fragment);
  absl::Status status(code, absl::StrCat(error.line, ":", error.column, ": ", error.what, ": '", fragment, "'"));
  status.SetPayload(kParseErrorUrl,
                    absl::Cord(absl::StrCat(error.line, "\n", error.column, "\n", error.what, "\n", error.fragment)));
  return status;
}

}  // namespace

Parser::Parser(Module* module, const ParseLimits& limits)
    : module_(module), limits_(limits), lexer_(*module->text), decoded_(kDecodedNames) {
  scopes_.push_back(Scope{});
}

absl::Status Parser::Run() {
  if (!ParseModule() && status_.ok()) status_ = absl::InternalError("parse failed without an error");
  return std::move(status_);
}

bool Parser::Fail(const char* at, std::string_view what) {
  if (status_.ok()) {
    status_ = MakeStatus(absl::StatusCode::kInvalidArgument, Locate(*module_->text, at, what));
  }
  return false;
}

bool Parser::FailHere(std::string_view what) {
  const char c = lexer_.Peek();
  if (c == '/' && lexer_.at()[1] == '*') what = "unterminated comment";
  return Fail(lexer_.at(), what);
}

bool Parser::OverLimit(const char* at, std::string_view limit, uint64_t bound) {
  if (status_.ok()) {
    const std::string what = absl::StrCat("over the limit ", View(limit), " of ", bound);
    status_ = MakeStatus(absl::StatusCode::kResourceExhausted, Locate(*module_->text, at, what));
  }
  return false;
}

bool Parser::Expect(char c) {
  if (lexer_.TakeIf(c)) return true;
  return FailHere(absl::StrCat("expected '", std::string(1, c), "'"));
}

bool Parser::AtWarpSize() {
  lexer_.SkipBlanks();
  return std::string_view(lexer_.at(), lexer_.end() - lexer_.at()).starts_with(kWarpSizeName) &&
         !Is(lexer_.at()[kWarpSizeName.size()], kNameChar);
}

absl::StatusOr<Module> Parse(std::string text, const ParseLimits& limits) {
  if (text.size() > limits.max_text_bytes || text.size() >= kNone32) {
    return absl::ResourceExhaustedError(
        absl::StrCat("text of ", text.size(), " bytes is over the limit max_text_bytes of ", limits.max_text_bytes));
  }
  // Texts from compiler interfaces may carry their terminator.
  while (!text.empty() && text.back() == '\0') text.pop_back();
  Module module;
  module.text = std::make_unique<const std::string>(std::move(text));
  absl::Status status = Parser(&module, limits).Run();
  if (!status.ok()) return status;
  return module;
}

bool GetParseError(const absl::Status& status, ParseError* error) {
  absl::optional<absl::Cord> payload = status.GetPayload(kParseErrorUrl);
  error->is_amdgcn = !payload.has_value();
  if (error->is_amdgcn) payload = status.GetPayload(kAmdgcnParseErrorUrl);
  if (!payload.has_value()) return false;
  const std::string flat(*payload);
  const std::vector<std::string> parts = absl::StrSplit(flat, absl::MaxSplits('\n', 3));
  if (parts.size() != 4) return false;
  if (!absl::SimpleAtoi(parts[0], &error->line) || !absl::SimpleAtoi(parts[1], &error->column)) return false;
  error->what = parts[2];
  error->fragment = parts[3];
  return true;
}

}  // namespace samebits::isa::ptx
