#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "samebits/v1/verification.pb.h"
#include "workers/executor/cpu/cpu_executor.h"
#include "workers/executor/cuda/cuda_executor.h"
#include "workers/executor/rocm/rocm_executor.h"
#include "workers/runner/child.h"
#include "workers/runner/child_streams.h"
#include "workers/runner/frames.h"
#include "workers/runner/verify_runner.h"

namespace samebits::workers {
namespace {

absl::StatusOr<std::unique_ptr<Executor>> Open(const std::string& device, const AssemblerOptions& assembler) {
  const size_t colon = device.find(':'), slash = std::min(device.find('/'), device.size());
  int number = 0;
  if (colon > slash || !absl::SimpleAtoi(device.substr(colon + 1, slash - colon - 1), &number))
    return absl::InvalidArgumentError("no device");
  const std::string backend = device.substr(0, colon);
  if (backend == "cpu") return MakeCpuExecutor({number}, 0);
  DeviceInfo info;
  if (slash < device.size()) info.uuid = device.substr(slash + 1);
  return backend == "rocm" ? MakeRocmExecutor(number, info, assembler.program) : MakeCudaExecutor(number, info, assembler);
}

int Run(const std::string& device, const AssemblerOptions& assembler, int first, const OpenExecutor& open) {
  std::string bytes;
  v1::VerifyKernelsRequest request;
  if (!ReadRequest(&bytes) || !request.ParseFromString(bytes)) return 2;
  absl::StatusOr<std::unique_ptr<Executor>> executor = open(device, assembler);
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
  AssemblerOptions assembler;
  const bool has_numbers = (argc == 5 || argc == 6) && absl::SimpleAtoi(argv[3], &first) &&
                           absl::SimpleAtoi(argv[4], &assembler.memory_bytes);
  if (!has_numbers) return 2;
  if (argc == 6) assembler.program = argv[5];
  const std::string device = argv[2];
  Confine(device.starts_with("cpu:"), assembler.memory_bytes);
  try {
    return Run(device, assembler, first, open);
  } catch (const std::bad_alloc&) {
    return 3;
  }
}

}  // namespace samebits::workers
