#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "workers/gemm/library.h"
#include "workers/gemm_jobs/gemm_task.h"
#include "workers/gemm_jobs/gemm_work.h"
#include "workers/runner/child_streams.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

constexpr int kMostGpuThreads = 16;

template <typename Response>
absl::StatusOr<std::string> Serialized(const absl::StatusOr<Response>& response) {
  if (!response.ok()) return response.status();
  return response->SerializeAsString();
}

absl::StatusOr<std::string> Compute(const std::string& device, int threads, const Leased& lease) {
  UnitReporter reporter;
  WorkParts parts;
  for (const worker::v1::TaskUnit& unit : lease.units()) parts.done[unit.index()] = unit.body();
  parts.keep = [&](int64_t number, std::string body) { reporter.Unit(number, std::move(body)); };
  parts.progress = [&](int64_t done, int64_t total) { reporter.Progress(done, total); };
  if (lease.has_emulate_gemm()) return Serialized(EmulateGemm(lease.emulate_gemm(), threads, parts));
  GemmLibraryOptions options{lease.recover_gemms().library()};
  if (lease.recover_gemms().workspace_bytes() > 0) options.workspace_bytes = lease.recover_gemms().workspace_bytes();
  const absl::StatusOr<GemmLibrary> library = FindGemmLibraryOn(device, options);
  if (!library.ok()) return library.status();
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return Serialized(RecoverGemms(lease.recover_gemms(), *library, device.starts_with("cpu") ? 1 : std::clamp(cores, 1, kMostGpuThreads), parts));
}

int Run(const std::string& device, int threads) {
  std::string bytes;
  Leased lease;
  if (!ReadRequest(&bytes) || !lease.ParseFromString(bytes)) return 2;
  bytes.clear();
  SendResult(Compute(device, threads, lease));
  if (!device.starts_with("cpu")) _exit(0);  // the driver's teardown may hang after a fault
  return 0;
}

}  // namespace

int GemmChildMain(int argc, char** argv) {
  uint64_t memory_bytes = 0;
  int threads = 1;
  if (argc != 5 || !absl::SimpleAtoi(argv[3], &memory_bytes) || !absl::SimpleAtoi(argv[4], &threads)) return 2;
  mallopt(M_ARENA_MAX, 2);  // arenas of many threads would use up the address space
  Confine(std::string(argv[2]).starts_with("cpu"), memory_bytes);
  try {
    return Run(argv[2], std::max(threads, 1));
  } catch (const std::bad_alloc&) {
    return kOutOfMemoryExit;
  }
}

}  // namespace samebits::workers
