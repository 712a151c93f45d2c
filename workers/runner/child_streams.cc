#include "workers/runner/child_streams.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "google/rpc/status.pb.h"
#include "proto/convert/convert.h"

namespace samebits::workers {
namespace {

constexpr size_t kLargestRequest = 512u << 20;
constexpr rlim_t kLargestToolFile = 1u << 30, kMostToolSeconds = 3600;

void Limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

}  // namespace

bool ReadRequest(std::string* out) {
  char buffer[1 << 16];
  for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof(buffer))) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || out->size() > kLargestRequest) return false;
    out->append(buffer, static_cast<size_t>(n));
  }
  return true;
}

void Send(Frame kind, const std::string& body) {
  const std::string frame = EncodeFrame(kind, body);
  for (size_t at = 0; at < frame.size();) {
    const ssize_t n = write(STDOUT_FILENO, frame.data() + at, frame.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    at += static_cast<size_t>(n);
  }
}

void SendError(const absl::Status& status) {
  google::rpc::Status message;
  message.set_code(static_cast<int>(status.code()));
  proto::SetText({status.message().data(), status.message().size()}, message.mutable_message());
  Send(Frame::kError, message.SerializeAsString());
}

void SendResult(const absl::StatusOr<std::string>& result) {
  if (!result.ok()) return SendError(result.status());
  Send(Frame::kResult, *result);
  Send(Frame::kEnd, "");
}

void ConfineWithTools(uint64_t memory_bytes) {
  Confine(/*is_cpu=*/false, memory_bytes);
  Limit(RLIMIT_AS, memory_bytes);
  Limit(RLIMIT_NOFILE, 256);
  Limit(RLIMIT_FSIZE, kLargestToolFile);
  Limit(RLIMIT_CPU, kMostToolSeconds);
}

void Confine(bool is_cpu, uint64_t memory_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  Limit(RLIMIT_CORE, 0);
  if (!is_cpu) return;
  Limit(RLIMIT_AS, memory_bytes);
  Limit(RLIMIT_NOFILE, 16);
  Limit(RLIMIT_FSIZE, 0);
}

}  // namespace samebits::workers
