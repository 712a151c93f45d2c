#include "core/isa/ptx/lexer.h"

#include <cstring>

namespace samebits::isa::ptx {

std::string_view Lexer::PeekDirective() {
  if (Peek() != '.') return {};
  const char* from = at_ + 1;
  const char* to = from;
  for (;;) {
    while (Is(*to, kNameChar)) ++to;
    if (*to != ':' || to[1] != ':') break;
    to += 2;
  }
  return {from, static_cast<size_t>(to - from)};
}

std::string_view Lexer::TakeDirective() {
  std::string_view directive = PeekDirective();
  if (!directive.empty()) at_ += directive.size() + 1;
  return directive;
}

bool Lexer::TakeString(std::string_view* contents) {
  if (Peek() != '"') return false;
  const char* to = at_ + 1;
  while (*to != '"') {
    if (to >= end_ || *to == '\n') return false;
    ++to;
  }
  *contents = {at_ + 1, static_cast<size_t>(to - at_ - 1)};
  at_ = to + 1;
  return true;
}

bool Lexer::SkipBraces() {
  int64_t depth = 1;
  for (;;) {
    const char c = *at_;
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == '/' && (at_[1] == '/' || at_[1] == '*')) {
      if (!SkipComment()) return false;
    } else if (c == '"') {
      std::string_view ignored;
      if (!TakeString(&ignored)) return false;
    } else if (c == '}') {
      ++at_;
      if (--depth == 0) return true;
    } else if (at_ >= end_) {
      return false;
    } else {
      if (c == '{') ++depth;
      ++at_;
    }
  }
}

void Lexer::SkipLine() {
  const void* newline = std::memchr(at_, '\n', end_ - at_);
  at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
}

bool Lexer::SkipComment() {
  if (at_[1] == '/') {
    SkipLine();
    return true;
  }
  if (at_[1] != '*') return false;
  for (const char* to = at_ + 2; to < end_; ++to) {
    to = static_cast<const char*>(std::memchr(to, '*', end_ - to));
    if (to == nullptr) return false;
    if (to[1] != '/') continue;
    for (; at_ < to; ++at_) line_ += *at_ == '\n';
    at_ = to + 2;
    return true;
  }
  return false;
}

}  // namespace samebits::isa::ptx
