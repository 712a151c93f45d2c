#ifndef SAMEBITS_WORKERS_RUNNER_CHILD_STREAMS_H_
#define SAMEBITS_WORKERS_RUNNER_CHILD_STREAMS_H_

// What a child process does with itself and its streams.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/runner/frames.h"

namespace samebits::workers {

// Standard input to its end; false where it is larger than any request.
bool ReadRequest(std::string* out);

// Frames to the parent; where it is gone the process ends. Not thread-safe.
void Send(Frame kind, const std::string& body);
void SendError(const absl::Status& status);
// The result of a task that has one, or its error.
void SendResult(const absl::StatusOr<std::string>& result);

// What a task's process may not do; it dies with its parent. The CUDA driver maps far more address space than it uses,
// and keeps files.
void Confine(bool is_cpu, uint64_t memory_bytes);
// The same for a task that runs tools, each of which has these limits too: memory, size of a file, time of the processor.
void ConfineWithTools(uint64_t memory_bytes);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_CHILD_STREAMS_H_
