#ifndef SAMEBITS_WORKERS_EXECUTOR_EXECUTOR_H_
#define SAMEBITS_WORKERS_EXECUTOR_EXECUTOR_H_

// Runs kernel launches on given bytes. Implementations: cpu/, cuda/, rocm/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {

struct DeviceInfo {
  std::string backend;        // "cpu", "cuda", "rocm"
  uint32_t index = 0;         // on this worker
  std::string name;
  std::string architecture;   // "sm_90", "gfx942"; empty: the one that each text names
  uint32_t multiprocessors = 0;   // of AMD: compute units
  uint64_t memory_bytes = 0;
  std::string driver_version, uuid;
  uint32_t clock_megahertz = 0;
  bool ecc = false;
  std::vector<LibraryVersion> libraries;  // of the backend, that this machine has
  std::string assembler;                  // makes machine code of texts: "ptxas V12.8.93"; empty: the driver, or none is needed
};

// A kernel and how it is launched; arguments that are pointers are indices of buffers.
struct KernelLaunch {
  struct Argument {
    std::optional<uint32_t> buffer;  // else `bytes`
    std::vector<uint8_t> bytes;      // as laid out in memory; 8 for numbers, whatever their parameter's width
  };
  std::string text, entry;           // empty entry: the only one
  checker::Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint32_t shared_bytes = 0;
  std::vector<Argument> arguments;
};

using Buffers = std::vector<std::vector<uint8_t>>;

// One device. Not thread-safe. Errors of its methods: INVALID_ARGUMENT (text, entry or launch), UNIMPLEMENTED (the
// device or the executor cannot give the exact bytes: the message says what and where), OUT_OF_RANGE (access outside
// the buffers), FAILED_PRECONDITION (the kernel trapped or waits forever), RESOURCE_EXHAUSTED (steps or memory),
// UNAVAILABLE (the device failed; another attempt may succeed).
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& device() const = 0;
  // Makes a launch ready for Run; `launch` must outlive its use there.
  virtual absl::Status Prepare(const KernelLaunch& launch) = 0;
  // Runs the prepared launch on `buffers`, which then hold what it left. Runs with another `variant` may use another
  // order where the model leaves it open; equal variants need not repeat one on devices that do not either.
  virtual absl::Status Run(uint32_t variant, Buffers* buffers) = 0;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_EXECUTOR_H_
