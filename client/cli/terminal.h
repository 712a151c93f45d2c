#ifndef SAMEBITS_CLIENT_CLI_TERMINAL_H_
#define SAMEBITS_CLIENT_CLI_TERMINAL_H_

#include <string>
#include <string_view>
#include <vector>

namespace samebits::cli {

// Text attributes, empty where colour is off.
class Style {
 public:
  explicit Style(bool on) : on_(on) {}
  std::string Bold(std::string_view text) const { return Wrapped("1", text); }
  std::string Dim(std::string_view text) const { return Wrapped("2", text); }
  std::string Green(std::string_view text) const { return Wrapped("1;32", text); }
  std::string Red(std::string_view text) const { return Wrapped("1;31", text); }
  std::string Yellow(std::string_view text) const { return Wrapped("1;33", text); }
  // By a code of ECMA-48 "select graphic rendition".
  std::string Paint(const char* code, std::string_view text) const { return Wrapped(code, text); }

 private:
  std::string Wrapped(const char* code, std::string_view text) const;
  bool on_;
};

// Whether to colour file descriptor `fd` under --color `mode`: "auto" means a terminal, unless NO_COLOR is set and
// not empty or TERM is "dumb".
bool UseColor(const std::string& mode, int fd);

bool IsTerminal(int fd);

// Columns of the terminal behind `fd`, kept within [60, 200]; 100 where it is none.
int TerminalWidth(int fd);

// Display columns of UTF-8 text, one per code point.
size_t DisplayWidth(std::string_view text);

// `text` cut or filled with spaces to `width` columns.
std::string Fit(std::string_view text, size_t width);

// `text` broken into lines of at most `width` columns, at spaces where there are any. Line breaks stay. Control
// characters other than line breaks are shown as "?", so that input cannot steer the terminal.
std::vector<std::string> WrapLines(std::string_view text, size_t width);

// One line without control characters, for names and reasons that come from input.
std::string OneLine(std::string_view text);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_TERMINAL_H_
