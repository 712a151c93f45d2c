#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/heal/instruction_mix/tools.h"

namespace samebits::heal {
namespace {

constexpr size_t kMostMessages = 2000;  // bytes kept, the last ones

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  void Close() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  int fd = -1;
};

struct Pipe {
  Descriptor read, write;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read.fd = ends[0];
    write.fd = ends[1];
    return true;
  }
};

absl::StatusOr<pid_t> Start(const std::vector<std::string>& command, const std::string& folder, Pipe* out, Pipe* err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out->write.fd, 1);
  posix_spawn_file_actions_adddup2(&actions, err->write.fd, 2);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, command[0].c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  out->write.Close();
  err->write.Close();
  if (error != 0) return absl::UnavailableError(absl::StrCat("cannot start ", command[0], ": ", std::strerror(error)));
  return pid;
}

// Reads both until both end, or `on_output` fails.
absl::Status Drain(Pipe* out, Pipe* err, const std::function<absl::Status(std::string_view)>& on_output, std::string* messages) {
  std::array<char, 1 << 16> buffer;
  while (out->read.fd >= 0 || err->read.fd >= 0) {
    pollfd fds[2] = {{out->read.fd, POLLIN, 0}, {err->read.fd, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return absl::InternalError(absl::StrCat("poll: ", std::strerror(errno)));
    for (int i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      const ssize_t count = read(fds[i].fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        (i == 0 ? out : err)->read.Close();
        continue;
      }
      const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
      if (i == 0) {
        const absl::Status status = on_output(bytes);
        if (!status.ok()) return status;
      } else {
        messages->append(bytes);
        if (messages->size() > kMostMessages) messages->erase(0, messages->size() - kMostMessages);
      }
    }
  }
  return absl::OkStatus();
}

int Wait(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

absl::Status RunTool(const std::vector<std::string>& command, const std::string& folder,
                     const std::function<absl::Status(std::string_view)>& on_output) {
  if (command.empty()) return absl::InvalidArgumentError("no program");
  Pipe out, err;
  if (!out.Open() || !err.Open()) return absl::UnavailableError(absl::StrCat("pipe: ", std::strerror(errno)));
  const absl::StatusOr<pid_t> pid = Start(command, folder, &out, &err);
  if (!pid.ok()) return pid.status();
  std::string messages;
  const absl::Status drained = Drain(&out, &err, on_output, &messages);
  if (!drained.ok()) kill(*pid, SIGKILL);
  const int status = Wait(*pid);
  if (!drained.ok()) return drained;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  const std::string how = WIFEXITED(status) ? absl::StrCat("exit code ", WEXITSTATUS(status)) : absl::StrCat("signal ", WTERMSIG(status));
  return absl::FailedPreconditionError(absl::StrCat(absl::StrJoin(command, " "), ": ", how, ". ",
                                                    std::string(absl::StripAsciiWhitespace(messages))));
}

}  // namespace samebits::heal
