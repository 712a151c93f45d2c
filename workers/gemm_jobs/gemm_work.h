#ifndef SAMEBITS_WORKERS_GEMM_JOBS_GEMM_WORK_H_
#define SAMEBITS_WORKERS_GEMM_JOBS_GEMM_WORK_H_

// What such jobs compute, without processes.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "samebits/v1/gemm_jobs.pb.h"
#include "workers/gemm/library.h"

namespace samebits::workers {

// Finished parts by number: those of earlier attempts, and who keeps new ones; progress. From one thread at a time.
struct WorkParts {
  std::map<int64_t, std::string> done;
  std::function<void(int64_t number, std::string body)> keep;
  std::function<void(int64_t done, int64_t total)> progress;
};

// A part is a shape. The result depends on request and library only. INVALID_ARGUMENT for bad shapes; FAILED_PRECONDITION
// where a part is of another library, version or device; DATA_LOSS where it cannot be read; errors of the library after
// many in a row.
absl::StatusOr<v1::RecoverGemmsResponse> RecoverGemms(const v1::RecoverGemmsRequest& request, const GemmLibrary& library, int threads,
                                                      const WorkParts& parts);

// A part is a block of outputs (core/gemm/block_emulator.h). The result depends on the request only. INVALID_ARGUMENT,
// UNIMPLEMENTED where the arithmetic is not established, DATA_LOSS.
absl::StatusOr<v1::EmulateGemmOnWorkerResponse> EmulateGemm(const v1::EmulateGemmOnWorkerRequest& request, int threads,
                                                            const WorkParts& parts);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_GEMM_JOBS_GEMM_WORK_H_
