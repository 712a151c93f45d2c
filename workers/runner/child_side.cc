#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"
#include "proto/convert/convert.h"
#include "samebits/v1/verification.pb.h"
#include "workers/executor/cpu/cpu_executor.h"
#include "workers/executor/cuda/cuda_executor.h"
#include "workers/runner/child.h"
#include "workers/runner/frames.h"
#include "workers/runner/verify_runner.h"

namespace samebits::workers {
namespace {

constexpr size_t kLargestRequest = 512u << 20;

bool ReadAll(std::string* out) {
  char buffer[1 << 16];
  for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof(buffer))) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || out->size() > kLargestRequest) return false;
    out->append(buffer, static_cast<size_t>(n));
  }
  return true;
}

// Ends the process where the parent is gone.
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

void Limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// What a kernel's process may not do. The CUDA driver maps far more address space than it uses, and keeps files.
void Confine(bool is_cpu, uint64_t memory_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  Limit(RLIMIT_CORE, 0);
  if (!is_cpu) return;
  Limit(RLIMIT_AS, memory_bytes);
  Limit(RLIMIT_NOFILE, 16);
  Limit(RLIMIT_FSIZE, 0);
}

absl::StatusOr<std::unique_ptr<Executor>> Open(const std::string& device) {
  const size_t colon = device.find(':');
  int number = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(device.substr(colon + 1), &number))
    return absl::InvalidArgumentError("no device");
  if (device.substr(0, colon) == "cpu") return MakeCpuExecutor({number}, 0);
  return MakeCudaExecutor(number, {});
}

int Run(const std::string& device, int first, const OpenExecutor& open) {
  std::string bytes;
  v1::VerifyKernelsRequest request;
  if (!ReadAll(&bytes) || !request.ParseFromString(bytes)) return 2;
  absl::StatusOr<std::unique_ptr<Executor>> executor = open(device);
  if (!executor.ok()) {
    SendError(executor.status());
    return 0;
  }
  const VerifyEvents events{
      [] { Send(Frame::kStep, ""); },
      [](const v1::LaunchOutcome& outcome) { Send(Frame::kOutcome, outcome.SerializeAsString()); }};
  const bool fragile = !device.starts_with("cpu:");
  const absl::Status status = RunVerification(request, first, fragile, **executor, events);
  if (!status.ok()) SendError(status);
  Send(Frame::kEnd, "");
  if (fragile) _exit(0);  // the driver's teardown may hang after a fault
  return 0;
}

}  // namespace

int ChildMain(int argc, char** argv) { return ChildMain(argc, argv, Open); }

int ChildMain(int argc, char** argv, const OpenExecutor& open) {
  int first = 0;
  uint64_t memory_bytes = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[3], &first) || !absl::SimpleAtoi(argv[4], &memory_bytes)) return 2;
  const std::string device = argv[2];
  Confine(device.starts_with("cpu:"), memory_bytes);
  try {
    return Run(device, first, open);
  } catch (const std::bad_alloc&) {
    return 3;
  }
}

}  // namespace samebits::workers
