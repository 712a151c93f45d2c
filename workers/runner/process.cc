#include "workers/runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace samebits::workers {
namespace {

constexpr size_t kKeptErrorBytes = 2000;
constexpr size_t kMostRead = 1 << 20;  // at once
// A child must see the devices that the worker saw, in the same order, through the same libraries.
constexpr const char* kKeptVariables[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                          "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HSA_OVERRIDE_GFX_VERSION", "SAMEBITS_HIP",
                                          "SAMEBITS_COMGR", "SAMEBITS_HIPBLASLT", "SAMEBITS_CUDART", "SAMEBITS_CUDA_DRIVER",
                                          "SAMEBITS_CUBLAS", "SAMEBITS_CUBLASLT", "SAMEBITS_NVRTC"};

absl::Status Errno(const char* call) { return absl::UnavailableError(absl::StrCat(call, ": ", strerror(errno))); }

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void Process::Descriptor::Close() {
  if (fd >= 0) close(fd);
  fd = -1;
}

absl::Status Process::Pipe::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Errno("pipe2");
  read.fd = ends[0];
  write.fd = ends[1];
  return absl::OkStatus();
}

Process::~Process() { End(); }

absl::Status Process::Start(const std::string& program, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& more) {
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
  std::vector<std::string> words = {"samebits-worker"}, variables = {"CUDA_CACHE_DISABLE=1"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto keep = [&](const char* name) {
    if (const char* value = getenv(name); value != nullptr) variables.push_back(absl::StrCat(name, "=", value));
  };
  for (const char* name : kKeptVariables) keep(name);
  for (const std::string& name : more) {
    if (name.find('=') == std::string::npos) keep(name.c_str());
    else variables.push_back(name);
  }
  const std::string path = program.empty() ? "/proc/self/exe" : program;
  const int error =
      posix_spawn(&pid_, path.c_str(), &actions, &attributes, Pointers(words).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    return absl::UnavailableError(absl::StrCat("cannot start ", path, ": ", strerror(error)));
  }
  in_.read.Close();
  out_.write.Close();
  err_.write.Close();
  for (const int fd : {in_.write.fd, out_.read.fd, err_.read.fd}) fcntl(fd, F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

void Process::Wait(absl::Duration time) {
  pollfd waits[] = {{out_.read.fd, POLLIN, 0}, {err_.read.fd, POLLIN, 0}, {in_.write.fd, POLLOUT, 0}};
  poll(waits, in_.write.fd >= 0 ? 3 : 2, static_cast<int>(absl::ToInt64Milliseconds(time)));
}

void Process::Feed(const std::string& bytes, size_t* sent) {
  if (in_.write.fd < 0) return;
  const ssize_t n = write(in_.write.fd, bytes.data() + *sent, bytes.size() - *sent);
  if (n > 0) *sent += static_cast<size_t>(n);
  if (*sent == bytes.size() || (n < 0 && errno != EAGAIN && errno != EINTR)) in_.write.Close();
}

bool Process::Read(std::string* out) {
  char bytes[1 << 16];
  for (ssize_t n; (n = read(err_.read.fd, bytes, sizeof(bytes))) > 0;)
    words_.append(bytes, std::min(static_cast<size_t>(n), kKeptErrorBytes - std::min(words_.size(), kKeptErrorBytes)));
  ssize_t n = 0;
  for (size_t got = 0; got < kMostRead && (n = read(out_.read.fd, bytes, sizeof(bytes))) > 0;
       got += static_cast<size_t>(n))
    out->append(bytes, static_cast<size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

// Kills it where it still runs; the status that it ended with.
int Process::End() {
  if (pid_ <= 0) return status_;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status_;
}

// Waits a moment for an end of its own before it is killed.
int Process::Reap() {
  for (int i = 0; i < 100 && pid_ > 0; ++i) {
    if (waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    else absl::SleepFor(absl::Milliseconds(10));
  }
  return End();
}

absl::Status Process::Death(const char* what) {
  const int status = Reap();
  const std::string tail = words_.empty() ? "" : absl::StrCat(": ", words_);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit)
    return absl::ResourceExhaustedError(absl::StrCat("the ", what, " needs more memory than a task may have"));
  if (WIFEXITED(status))
    return absl::InternalError(absl::StrCat("the task's process ended with code ", WEXITSTATUS(status), tail));
  return absl::InternalError(absl::StrCat("the task's process ended with signal ", WTERMSIG(status), " (",
                                          strsignal(WTERMSIG(status)), ")", tail));
}

}  // namespace samebits::workers
