#ifndef SAMEBITS_TESTS_INTEGRATION_CLI_PROGRAM_H_
#define SAMEBITS_TESTS_INTEGRATION_CLI_PROGRAM_H_

// Runs the built samebits program as a user would.

#include <sys/types.h>

#include <string>
#include <vector>

namespace samebits::test {

struct Outcome {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
};

// Runs `samebits ARGUMENTS` to its end with `input` as standard input, in an environment without SAMEBITS_*.
Outcome RunSamebits(const std::vector<std::string>& arguments, const std::string& input = "");

// The same of `samebits-worker`.
Outcome RunWorker(const std::vector<std::string>& arguments);

// `words`, then `more`.
std::vector<std::string> Joined(std::vector<std::string> words, const std::vector<std::string>& more);

// A file's content; empty where there is none.
std::string ReadAll(const std::string& path);

// A temporary folder, removed with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

// The program under way, killed with the object.
class SamebitsProcess {
 public:
  explicit SamebitsProcess(const std::vector<std::string>& arguments);
  ~SamebitsProcess() { Kill(); }
  SamebitsProcess(const SamebitsProcess&) = delete;
  SamebitsProcess& operator=(const SamebitsProcess&) = delete;
  bool Running();
  void Kill();  // SIGKILL
  std::string out() const { return ReadAll(streams_.path() + "/out"); }  // so far

 private:
  const Folder streams_;
  pid_t pid_ = -1;
};

// A server on free ports of loopback, stopped with the object.
class ServerProcess {
 public:
  // Data in `folder`, `more` options; waits until it answers. A failed start is a failed test.
  explicit ServerProcess(const std::string& folder, const std::vector<std::string>& more = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  const std::string& metrics() const { return metrics_; }
  // SIGTERM; the exit code.
  int Stop();
  // SIGKILL.
  void Kill();
  // Standard error so far.
  std::string log() const;

 private:
  int End(int signal);
  const Folder streams_;
  pid_t pid_ = -1;
  std::string address_, metrics_;
};

// A worker of a server, with this machine's CPU only (unless an option says --no-cpu) and, where SAMEBITS_HIP is set, HIP's
// devices, stopped with the object.
class WorkerProcess {
 public:
  // `more` options; waits until the server, asked with the options `ask`, knows it. A failed start is a failed test.
  WorkerProcess(const std::string& server, const std::string& id, const std::vector<std::string>& more = {},
                const std::vector<std::string>& ask = {});
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  // SIGTERM; the exit code.
  int Stop();
  // SIGKILL; its child processes die with it.
  void Kill();
  // Waits until it ends by itself; the exit code.
  int Await();
  // Both its streams so far.
  std::string log() const;

 private:
  const Folder streams_;
  pid_t pid_ = -1;
};

}  // namespace samebits::test

#endif  // SAMEBITS_TESTS_INTEGRATION_CLI_PROGRAM_H_
