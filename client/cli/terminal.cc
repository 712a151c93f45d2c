#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace samebits::cli {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes that the first `columns` code points of `text` take.
size_t PrefixBytes(std::string_view text, size_t columns) {
  size_t i = 0;
  while (i < text.size()) {
    if (!IsContinuation(text[i]) && columns-- == 0) break;
    ++i;
  }
  return i;
}

std::string WithoutControl(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (u == '\t') c = ' ';
    if (u < 0x20 || u == 0x7f) c = u == '\t' ? ' ' : '?';
  }
  return out;
}

// Continuation lines stand two columns right of the line's own indentation, unless that leaves little room.
void WrapOneLine(std::string_view line, size_t width, std::vector<std::string>* out) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string hang = indent + 2 < width / 2 && indent > 0 ? std::string(indent + 2, ' ') : "";
  std::string rest(line);
  while (DisplayWidth(rest) > width) {
    const size_t limit = PrefixBytes(rest, width);
    size_t cut = rest.rfind(' ', limit);
    const bool at_space = cut != std::string::npos && cut > limit / 2;
    if (!at_space) cut = limit;
    out->push_back(rest.substr(0, cut));
    rest = hang + rest.substr(at_space ? cut + 1 : cut);
  }
  out->push_back(rest);
}

}  // namespace

std::string Style::Wrapped(const char* code, std::string_view text) const {
  if (!on_) return std::string(text);
  return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
}

bool IsTerminal(int fd) { return isatty(fd) != 0; }

bool UseColor(const std::string& mode, int fd) {
  if (mode != "auto") return mode == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return IsTerminal(fd) && term != nullptr && std::string_view(term) != "dumb";
}

int TerminalWidth(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<int>(size.ws_col, 60, 200);
}

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string Fit(std::string_view text, size_t width) {
  std::string out(text.substr(0, PrefixBytes(text, width)));
  out.append(width - DisplayWidth(out), ' ');
  return out;
}

std::vector<std::string> WrapLines(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (;;) {
    const size_t end = std::min(text.find('\n'), text.size());
    WrapOneLine(WithoutControl(text.substr(0, end)), std::max<size_t>(width, 1), &lines);
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string OneLine(std::string_view text) { return WithoutControl(text); }

}  // namespace samebits::cli
