#ifndef SAMEBITS_CLIENT_CLI_PROGRESS_H_
#define SAMEBITS_CLIENT_CLI_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <string>

namespace samebits::cli {

// Progress of a batch on standard error: a bar that redraws itself on a terminal, else a line every ten seconds.
// Not thread-safe.
class Progress {
 public:
  // `total` kernels; prints nothing if `quiet`.
  Progress(size_t total, bool quiet, bool verbose = false, const char* unit = "kernels");
  ~Progress();  // removes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Step();
  // As Step; prints the line `what` first where the command is verbose.
  void Step(const std::string& what);
  // So much of so much is done.
  void Set(size_t done, size_t total);

  // Takes the bar off the terminal, so that a line can be printed; the next Step draws it again.
  void Hide();

 private:
  using Clock = std::chrono::steady_clock;
  void Draw(Clock::time_point now);
  std::string Line(Clock::time_point now) const;

  void Show();
  size_t total_;
  const bool quiet_, verbose_, terminal_;
  const char* const unit_;
  const Clock::time_point start_;
  Clock::time_point last_;
  size_t done_ = 0;
  bool shown_ = false;
};

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_PROGRESS_H_
