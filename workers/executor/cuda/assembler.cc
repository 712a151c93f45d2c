#include "workers/executor/cuda/assembler.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

namespace samebits::workers {
namespace {

constexpr rlim_t kLargestImage = 1u << 30;
constexpr size_t kMostMessages = 2000;  // bytes kept, the first ones
constexpr int kTextFd = 3, kImageFd = 4, kNotStarted = 127;
constexpr char kTextPath[] = "/proc/self/fd/3", kImagePath[] = "/proc/self/fd/4";

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// How the program ended, and its first words.
struct Ending {
  int status = 0;
  bool out_of_time = false;
  std::string messages;
};

void Limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Between fork and exec: calls only what is safe there. `text` and `image` may be -1.
[[noreturn]] void Become(const AssemblerOptions& options, char* const* words, int messages, int text, int image) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_AS, options.memory_bytes);
  Limit(RLIMIT_FSIZE, kLargestImage);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  // Beyond the numbers that they get, so that none is overwritten before it is copied.
  messages = fcntl(messages, F_DUPFD_CLOEXEC, kImageFd + 1);
  if (text >= 0) text = fcntl(text, F_DUPFD_CLOEXEC, kImageFd + 1);
  if (image >= 0) image = fcntl(image, F_DUPFD_CLOEXEC, kImageFd + 1);
  dup2(null, 0);
  dup2(messages, 1);
  dup2(messages, 2);
  if (text >= 0) dup2(text, kTextFd);
  if (image >= 0) dup2(image, kImageFd);
  close_range(kImageFd + 1, ~0u, CLOSE_RANGE_CLOEXEC);  // what a driver has open without that flag
  char* const none[] = {nullptr};
  execve(options.program.c_str(), words, none);
  _exit(kNotStarted);
}

// Reads what the program says until it ends or its time is over.
void Follow(int fd, absl::Time end, Ending* out) {
  std::array<char, 4096> buffer;
  for (;;) {
    const absl::Duration left = end - absl::Now();
    if ((out->out_of_time = left <= absl::ZeroDuration())) return;
    pollfd wait{fd, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(std::min(left, absl::Seconds(1)))) + 1);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    const size_t room = kMostMessages - std::min(out->messages.size(), kMostMessages);
    out->messages.append(buffer.data(), std::min(static_cast<size_t>(n), room));
  }
}

// Waits for its end, which is near once it says nothing more, and ends it where its time is over.
void Reap(pid_t pid, absl::Time end, Ending* out) {
  while (!out->out_of_time) {
    const pid_t ended = waitpid(pid, &out->status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return;
    absl::SleepFor(absl::Milliseconds(1));
    out->out_of_time = absl::Now() > end;
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, &out->status, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<Ending> RunProgram(const AssemblerOptions& options, std::vector<std::string> arguments, int text,
                                  int image) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(absl::StrCat("pipe2: ", std::strerror(errno)));
  Descriptor read_end(ends[0]), write_end(ends[1]);
  arguments.insert(arguments.begin(), options.program);
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return absl::UnavailableError(absl::StrCat("fork: ", std::strerror(errno)));
  if (pid == 0) Become(options, words.data(), ends[1], text, image);
  write_end.Close();
  const absl::Time end = absl::Now() + options.timeout;
  Ending ending;
  Follow(read_end.get(), end, &ending);
  Reap(pid, end, &ending);
  return ending;
}

absl::Status ToStatus(const AssemblerOptions& options, const Ending& ending) {
  const int status = ending.status;
  const std::string said =
      absl::StrReplaceAll(std::string(absl::StripAsciiWhitespace(ending.messages)), {{kTextPath, "text"}});
  if (ending.out_of_time)
    return absl::DeadlineExceededError(absl::StrCat("ptxas ran longer than ", absl::FormatDuration(options.timeout)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted)
    return absl::UnavailableError(absl::StrCat("cannot start ", options.program));
  if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) || absl::StrContains(said, "emory allocation fail") ||
      absl::StrContains(said, "bad_alloc"))
    return absl::ResourceExhaustedError(absl::StrCat("ptxas needs more memory than a task may have: ", said));
  if (WIFSIGNALED(status))
    return absl::InternalError(absl::StrCat("ptxas ended with signal ", WTERMSIG(status), " (",
                                            strsignal(WTERMSIG(status)), "): ", said));
  return absl::InvalidArgumentError(
      absl::StrCat("ptxas: ", said.empty() ? absl::StrCat("exit code ", WEXITSTATUS(status)) : said));
}

absl::Status WriteAll(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = pwrite(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (n <= 0 && errno != EINTR)
      return absl::ResourceExhaustedError(absl::StrCat("cannot keep the text: ", std::strerror(errno)));
    if (n > 0) at += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int fd) {
  std::string bytes;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(bytes.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::InternalError(absl::StrCat("cannot read the machine code: ", std::strerror(errno)));
    if (n == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(n));
  }
}

}  // namespace

absl::StatusOr<std::string> AssemblerVersion(const AssemblerOptions& options) {
  const absl::StatusOr<Ending> ending = RunProgram(options, {"--version"}, -1, -1);
  if (!ending.ok()) return ending.status();
  if (const absl::Status status = ToStatus(options, *ending); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(options.program, " --version: ", status.message()));
  const std::string& said = ending->messages;
  const size_t at = said.find(", V");
  if (!absl::StrContains(said, "ptx") || at == std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat(options.program, " does not say that it is NVIDIA's ptxas: ",
                                                   said.substr(0, std::min(said.find('\n'), size_t{200}))));
  return absl::StrCat("ptxas ", said.substr(at + 2, said.find_first_of(" \r\n", at + 2) - at - 2));
}

absl::StatusOr<std::string> Assemble(const AssemblerOptions& options, const std::string& text,
                                     const std::string& architecture) {
  Descriptor source(memfd_create("text.ptx", MFD_CLOEXEC)), image(memfd_create("image.cubin", MFD_CLOEXEC));
  if (source.get() < 0 || image.get() < 0)
    return absl::UnavailableError(absl::StrCat("memfd_create: ", std::strerror(errno)));
  if (absl::Status status = WriteAll(source.get(), text); !status.ok()) return status;
  const absl::StatusOr<Ending> ending = RunProgram(
      options, {absl::StrCat("--gpu-name=", architecture), kTextPath, "-o", kImagePath}, source.get(), image.get());
  if (!ending.ok()) return ending.status();
  if (absl::Status status = ToStatus(options, *ending); !status.ok()) return status;
  absl::StatusOr<std::string> code = ReadAll(image.get());
  if (code.ok() && code->empty()) return absl::InternalError("ptxas wrote no machine code");
  return code;
}

std::string AssembledArchitecture(std::string_view target, std::string_view device) {
  std::string out(device);
  if (!target.empty() && absl::ascii_isalpha(static_cast<unsigned char>(target.back()))) out.push_back(target.back());
  return out;
}

}  // namespace samebits::workers
