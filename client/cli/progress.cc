#include "client/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"

namespace samebits::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kLinePeriod{10};
constexpr size_t kBarColumns = 24;

}  // namespace

Progress::Progress(size_t total, bool quiet, bool verbose, const char* unit)
    : total_(total), quiet_(quiet), verbose_(verbose), terminal_(IsTerminal(STDERR_FILENO)), unit_(unit),
      start_(Clock::now()), last_(start_) {}

Progress::~Progress() { Hide(); }

void Progress::Step() {
  ++done_;
  Show();
}

void Progress::Set(size_t done, size_t total) {
  done_ = done;
  total_ = total;
  Show();
}

void Progress::Show() {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const Clock::duration period = terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLinePeriod);
  if (now - last_ < period) return;
  last_ = now;
  Draw(now);
}

void Progress::Step(const std::string& what) {
  if (verbose_) {
    Hide();
    std::fprintf(stderr, "samebits: %s\n", what.c_str());
  }
  Step();
}

void Progress::Hide() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::Draw(Clock::time_point now) {
  if (!terminal_) {
    std::fprintf(stderr, "samebits: %s\n", Line(now).c_str());
    return;
  }
  const size_t filled = kBarColumns * done_ / std::max<size_t>(total_, 1);
  std::string bar(kBarColumns, ' ');
  std::fill_n(bar.begin(), std::min(filled, kBarColumns), '#');
  std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), Line(now).c_str());
  std::fflush(stderr);
  shown_ = true;
}

std::string Progress::Line(Clock::time_point now) const {
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = done_ == 0 ? 0 : elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  return absl::StrCat(done_, " of ", total_, " ", unit_, ", about ", static_cast<int64_t>(left + 0.5), " s left");
}

}  // namespace samebits::cli
