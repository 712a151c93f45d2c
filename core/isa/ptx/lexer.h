#ifndef SAMEBITS_CORE_ISA_PTX_LEXER_H_
#define SAMEBITS_CORE_ISA_PTX_LEXER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace samebits::isa::ptx {

// Character classes of PTX, one bit each.
enum CharClass : uint8_t {
  kBlankChar = 1,      // space, tab, CR, FF, VT; not the newline, which is counted
  kNameStartChar = 2,  // [A-Za-z_$%]
  kNameChar = 4,       // [A-Za-z0-9_$]
  kDigitChar = 8,      // [0-9]
  kHexChar = 16,       // [0-9A-Fa-f]
  kDottedChar = 32,    // [A-Za-z0-9_$.]
};

constexpr std::array<uint8_t, 256> MakeCharClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 32] = kNameStartChar | kNameChar | kDottedChar;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameChar | kDigitChar | kHexChar | kDottedChar;
  for (int c = 'a'; c <= 'f'; ++c) {
    classes[c] |= kHexChar;
    classes[c - 32] |= kHexChar;
  }
  classes['_'] = classes['$'] = kNameStartChar | kNameChar | kDottedChar;
  classes['%'] = kNameStartChar;
  classes['.'] = kDottedChar;
  classes[' '] = classes['\t'] = classes['\r'] = classes['\f'] = classes['\v'] = kBlankChar;
  return classes;
}
inline constexpr std::array<uint8_t, 256> kCharClasses = MakeCharClasses();

inline bool Is(char c, uint8_t mask) { return (kCharClasses[static_cast<uint8_t>(c)] & mask) != 0; }

// A position in a text that moves forward over blanks, comments and tokens, and counts lines. Tokens are views of
// the text, which must outlive them and be followed by a NUL (as std::string's is). Not thread-safe.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : begin_(text.data()), end_(text.data() + text.size()), at_(begin_) {}

  const char* at() const { return at_; }
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  uint32_t line() const { return line_; }
  bool AtEnd() const { return at_ >= end_; }
  void Advance(int64_t count = 1) { at_ += count; }
  // Back to `at`, a position before.
  void Rewind(const char* at) {
    while (at_ > at) line_ -= *--at_ == '\n';
  }

  // Skips blanks and comments and returns the character there, 0 at the end. An unterminated block comment stops
  // the lexer at its start.
  char Peek() {
    SkipBlanks();
    return *at_;
  }

  void SkipBlanks() {
    for (;;) {
      const char c = *at_;
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (Is(c, kBlankChar)) {
        ++at_;
      } else if (c != '/' || !SkipComment()) {
        return;
      }
    }
  }

  // Skips blanks, then takes `c` if it is there.
  bool TakeIf(char c) {
    if (Peek() != c || AtEnd()) return false;
    ++at_;
    return true;
  }

  // [A-Za-z_$%][A-Za-z0-9_$]* at the position itself, empty if there is none.
  std::string_view TakeName() {
    if (!Is(*at_, kNameStartChar)) return {};
    const char* from = at_++;
    while (Is(*at_, kNameChar)) ++at_;
    return {from, static_cast<size_t>(at_ - from)};
  }

  // TakeName and SkipDotted in one.
  std::string_view TakeDottedName() {
    if (!Is(*at_, kNameStartChar)) return {};
    const char* from = at_++;
    SkipDotted();
    return {from, static_cast<size_t>(at_ - from)};
  }

  // The rest of a dotted name at the position: [A-Za-z0-9_$.], "::", and ":" between digits (".sp::2:4"); may be
  // empty.
  void SkipDotted() {
    for (;;) {
      while (Is(*at_, kDottedChar)) ++at_;
      if (*at_ != ':') return;
      if (at_[1] == ':') {
        at_ += 2;
      } else if (Is(at_[1], kDigitChar) && at_ > begin_ && Is(at_[-1], kDigitChar)) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // Skips blanks, then takes a directive, "." and what SkipDotted takes up to the next dot, without its dot.
  // Empty, and nothing is taken, if there is none.
  std::string_view TakeDirective();
  // As TakeDirective, without taking it.
  std::string_view PeekDirective();

  // Skips blanks, then takes a string in double quotes that ends on its line; PTX strings have no escapes. False if
  // there is none.
  bool TakeString(std::string_view* contents);

  // From inside a `{` to behind the `}` that closes it, over comments and strings. False if it is not closed.
  bool SkipBraces();

  // To the end of the line.
  void SkipLine();

 private:
  bool SkipComment();

  const char* const begin_;
  const char* const end_;
  const char* at_;
  uint32_t line_ = 1;
};

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_LEXER_H_
