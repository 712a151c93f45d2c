#ifndef SAMEBITS_WORKERS_RUNNER_PROCESS_H_
#define SAMEBITS_WORKERS_RUNNER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace samebits::workers {

// The exit code with which a child says that it ran out of memory.
inline constexpr int kOutOfMemoryExit = 3;

// A child with its three streams, in a process group of its own, which is killed with the object; the child is reaped.
class Process {
 public:
  Process() = default;
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Starts `program` (empty: this one) with these arguments, and of the worker's environment, which may hold secrets,
  // only what decides which devices there are and where their libraries lie, and the variables that `more` names; "NAME=VALUE"
  // there gives one. UNAVAILABLE where it cannot be started.
  absl::Status Start(const std::string& program, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& more = {});
  // Until a stream is ready, at most this long.
  void Wait(absl::Duration time);
  // Writes what its standard input takes of `bytes` from *sent on, and closes it after the last.
  void Feed(const std::string& bytes, size_t* sent);
  // Appends what its standard output has, and keeps its first words on standard error; false at the end.
  bool Read(std::string* out);
  // Why it ended before it said that it had. Waits a moment for its end, then kills it. `what`: needs the memory.
  absl::Status Death(const char* what);

 private:
  struct Descriptor {
    ~Descriptor() { Close(); }
    void Close();
    int fd = -1;
  };
  struct Pipe {
    Descriptor read, write;
    absl::Status Open();
  };
  int End();
  int Reap();

  Pipe in_, out_, err_;
  pid_t pid_ = -1;
  int status_ = 0;
  std::string words_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_PROCESS_H_
