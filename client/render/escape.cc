#include "client/render/escape.h"

#include <cstdint>

namespace samebits::render {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the well-formed UTF-8 sequence of a character of XML 1.0 that `text`, not empty, starts with; else 0.
size_t CharacterLength(std::string_view text) {
  const unsigned char first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_character = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) && code != 0xfffe && code != 0xffff;
  return overlong || !is_character ? 0 : length;
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    switch (length == 0 ? '\0' : text[0]) {
      case '\0': out += kReplacement; break;
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += text.substr(0, length); break;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

size_t Columns(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += !IsContinuation(c);
  return n;
}

std::string Shortened(std::string_view text, size_t columns) {
  if (Columns(text) <= columns) return std::string(text);
  size_t at = 0;
  for (size_t n = 0; at < text.size(); ++at)
    if (!IsContinuation(text[at]) && ++n == columns) break;
  return std::string(text.substr(0, at)) + "…";
}

}  // namespace samebits::render
