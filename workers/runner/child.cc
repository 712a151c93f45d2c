#include "workers/runner/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/status.pb.h"
#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/runner/frames.h"

namespace samebits::workers {
namespace {

constexpr int kOutOfMemoryExit = 3;
constexpr int kPollMillis = 50;
constexpr size_t kKeptErrorBytes = 2000;

absl::Status Errno(const char* call) { return absl::UnavailableError(absl::StrCat(call, ": ", strerror(errno))); }

class Descriptor {
 public:
  ~Descriptor() { Close(); }
  void Close() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  int fd = -1;
};

struct Pipe {
  Descriptor read, write;
  absl::Status Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Errno("pipe2");
    read.fd = ends[0];
    write.fd = ends[1];
    return absl::OkStatus();
  }
};

// A child with its three streams; killed and reaped with the object.
class Process {
 public:
  ~Process() { End(); }

  absl::Status Start(const std::string& program, const DeviceHandle& device, int first, uint64_t memory_bytes) {
    static const bool ignored = signal(SIGPIPE, SIG_IGN) != SIG_ERR;  // a child may end before it has read its task
    if (!ignored) return Errno("signal");
    for (Pipe* pipe : {&in_, &out_, &err_})
      if (absl::Status status = pipe->Open(); !status.ok()) return status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_.read.fd, 0);
    posix_spawn_file_actions_adddup2(&actions, out_.write.fd, 1);
    posix_spawn_file_actions_adddup2(&actions, err_.write.fd, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    std::vector<std::string> words = {"samebits-worker", kChildCommand, device.argument, absl::StrCat(first),
                                      absl::StrCat(memory_bytes)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    // Nothing of the worker's environment: it may hold secrets.
    char cache[] = "CUDA_CACHE_DISABLE=1";
    char* environment[] = {cache, nullptr};
    const int error = posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      pid_ = -1;
      return absl::UnavailableError(absl::StrCat("cannot start ", program, ": ", strerror(error)));
    }
    in_.read.Close();
    out_.write.Close();
    err_.write.Close();
    for (const int fd : {in_.write.fd, out_.read.fd, err_.read.fd}) fcntl(fd, F_SETFL, O_NONBLOCK);
    return absl::OkStatus();
  }

  Descriptor& in() { return in_.write; }
  Descriptor& out() { return out_.read; }
  Descriptor& err() { return err_.read; }

  // Kills it where it still runs; the status that it ended with.
  int End() {
    if (pid_ <= 0) return status_;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }
  // Waits a moment for an end of its own before it is killed.
  int Reap() {
    for (int i = 0; i < 100 && pid_ > 0; ++i) {
      if (waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
      else absl::SleepFor(absl::Milliseconds(10));
    }
    return End();
  }

 private:
  Pipe in_, out_, err_;
  pid_t pid_ = -1;
  int status_ = 0;
};

// Why a child ended before it said that it had.
absl::Status DeathOf(int status, const std::string& words) {
  std::string tail = words.empty() ? "" : absl::StrCat(": ", words);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit)
    return absl::ResourceExhaustedError("the launch needs more memory than a task may have");
  if (WIFEXITED(status))
    return absl::InternalError(absl::StrCat("the task's process ended with code ", WEXITSTATUS(status), tail));
  return absl::InternalError(absl::StrCat("the task's process ended with signal ", WTERMSIG(status), " (",
                                          strsignal(WTERMSIG(status)), ")", tail));
}

// One request on its way through processes.
class Run {
 public:
  Run(const DeviceHandle& device, const v1::VerifyKernelsRequest& request, const ChildLimits& limits,
      absl::Time deadline, const std::atomic<bool>& cancelled,
      const std::function<void(uint64_t, uint64_t)>& on_progress)
      : device_(device), limits_(limits), deadline_(deadline), cancelled_(cancelled), on_progress_(on_progress),
        bytes_(request.SerializeAsString()), request_(request),
        steps_a_launch_(static_cast<uint64_t>(request.distributions_size()) * static_cast<uint64_t>(request.runs())) {}

  absl::StatusOr<worker::v1::VerifyTaskResult> Go() {
    Report();
    while (result_.outcomes_size() < request_.launches_size()) {
      const int before = result_.outcomes_size();
      absl::Status status = OneProcess();
      if (cancelled_) return absl::CancelledError("the task was stopped");
      if (absl::IsUnavailable(status) || absl::Now() > deadline_) return status;
      if (result_.outcomes_size() > before && status.ok()) continue;
      if (status.ok()) status = absl::InternalError("the task's process ended without an outcome");
      AddFailure(status);
    }
    return std::move(result_);
  }

 private:
  void Report() {
    on_progress_(static_cast<uint64_t>(result_.outcomes_size()) * steps_a_launch_ + steps_,
                 static_cast<uint64_t>(request_.launches_size()) * steps_a_launch_);
  }

  void AddFailure(const absl::Status& status) {
    v1::LaunchOutcome* outcome = result_.add_outcomes();
    outcome->set_id(request_.launches(result_.outcomes_size() - 1).id());
    outcome->mutable_error()->set_code(static_cast<int>(status.code()));
    proto::SetText({status.message().data(), status.message().size()}, outcome->mutable_error()->mutable_message());
    steps_ = 0;
    launch_end_ = absl::Now() + limits_.launch_timeout;
    Report();
  }

  // Runs launches until the process has ended. An error is that of the launch after the last outcome; UNAVAILABLE is
  // one of the whole task.
  absl::Status OneProcess();
  absl::Status Take(Frame kind, const std::string& body);
  absl::Status Drain(Process& process, bool* open);
  void Feed(Process& process, size_t* sent);

  const DeviceHandle& device_;
  const ChildLimits& limits_;
  const absl::Time deadline_;
  const std::atomic<bool>& cancelled_;
  const std::function<void(uint64_t, uint64_t)>& on_progress_;
  const std::string bytes_;
  const v1::VerifyKernelsRequest& request_;
  const uint64_t steps_a_launch_;
  worker::v1::VerifyTaskResult result_;
  uint64_t steps_ = 0;  // of the launch that runs
  absl::Time launch_end_;
  std::string buffer_, words_;
  bool ended_ = false;
};

absl::Status Run::Take(Frame kind, const std::string& body) {
  switch (kind) {
    case Frame::kStep:
      ++steps_;
      Report();
      return absl::OkStatus();
    case Frame::kOutcome: {
      v1::LaunchOutcome outcome;
      if (!outcome.ParseFromString(body) || result_.outcomes_size() == request_.launches_size())
        return absl::InternalError("the task's process sent a bad outcome");
      *result_.add_outcomes() = std::move(outcome);
      steps_ = 0;
      launch_end_ = absl::Now() + limits_.launch_timeout;
      Report();
      return absl::OkStatus();
    }
    case Frame::kError: {
      google::rpc::Status error;
      if (!error.ParseFromString(body)) return absl::InternalError("the task's process sent a bad error");
      return absl::UnavailableError(error.message());
    }
    case Frame::kEnd:
      ended_ = true;
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

void Run::Feed(Process& process, size_t* sent) {
  const ssize_t n = write(process.in().fd, bytes_.data() + *sent, bytes_.size() - *sent);
  if (n > 0) *sent += static_cast<size_t>(n);
  if (*sent == bytes_.size() || (n < 0 && errno != EAGAIN && errno != EINTR)) process.in().Close();
}

// Reads what is there; *open: more may come.
absl::Status Run::Drain(Process& process, bool* open) {
  char bytes[1 << 16];
  for (ssize_t n; (n = read(process.err().fd, bytes, sizeof(bytes))) > 0;)
    words_.append(bytes, std::min(static_cast<size_t>(n), kKeptErrorBytes - std::min(words_.size(), kKeptErrorBytes)));
  ssize_t n;
  while ((n = read(process.out().fd, bytes, sizeof(bytes))) > 0) {
    buffer_.append(bytes, static_cast<size_t>(n));
    bool bad = false;
    while (const auto frame = TakeFrame(&buffer_, &bad))
      if (absl::Status status = Take(frame->first, frame->second); !status.ok()) return status;
    if (bad) return absl::InternalError("the task's process sent bytes that are no frame");
  }
  *open = n < 0 && (errno == EAGAIN || errno == EINTR);
  return absl::OkStatus();
}

absl::Status Run::OneProcess() {
  Process process;
  const std::string program = limits_.program.empty() ? "/proc/self/exe" : limits_.program;
  absl::Status status = process.Start(program, device_, result_.outcomes_size(), limits_.memory_bytes);
  if (!status.ok()) return status;
  buffer_.clear();
  words_.clear();
  ended_ = false;
  steps_ = 0;
  launch_end_ = absl::Now() + limits_.launch_timeout;
  size_t sent = 0;
  for (bool open = true; open && !ended_;) {
    pollfd waits[] = {{process.out().fd, POLLIN, 0}, {process.err().fd, POLLIN, 0}, {process.in().fd, POLLOUT, 0}};
    poll(waits, process.in().fd >= 0 ? 3 : 2, kPollMillis);
    if (process.in().fd >= 0) Feed(process, &sent);
    if (status = Drain(process, &open); !status.ok()) return status;
    const absl::Time now = absl::Now();
    if (cancelled_) return absl::CancelledError("");
    if (now > deadline_) return absl::DeadlineExceededError("the operation's deadline passed");
    if (now > launch_end_)
      return absl::DeadlineExceededError(
          absl::StrCat("the launch ran longer than ", absl::FormatDuration(limits_.launch_timeout)));
  }
  if (ended_) return absl::OkStatus();
  return DeathOf(process.Reap(), words_);
}

}  // namespace

absl::StatusOr<worker::v1::VerifyTaskResult> RunInChildren(const DeviceHandle& device,
                                                           const v1::VerifyKernelsRequest& request,
                                                           const ChildLimits& limits, absl::Time deadline,
                                                           const std::atomic<bool>& cancelled,
                                                           const std::function<void(uint64_t, uint64_t)>& on_progress) {
  return Run(device, request, limits, deadline, cancelled, on_progress).Go();
}

}  // namespace samebits::workers
