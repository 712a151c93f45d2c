#ifndef SAMEBITS_WORKERS_EXECUTOR_GUARDED_BUFFERS_H_
#define SAMEBITS_WORKERS_EXECUTOR_GUARDED_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "workers/executor/executor.h"

namespace samebits::workers {

// Memory of one device, by address. Calls return when they are done.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual absl::Status Allocate(uint64_t bytes, uint64_t* address) = 0;
  virtual void Free(uint64_t address) = 0;
  virtual absl::Status Set(uint64_t address, uint8_t value, uint64_t bytes) = 0;
  virtual absl::Status Upload(uint64_t address, const uint8_t* from, uint64_t bytes) = 0;
  virtual absl::Status Download(uint8_t* to, uint64_t address, uint64_t bytes) = 0;
};

// A launch's buffers on the device, each between guard zones of 64 KiB, in one allocation that grows and is freed with the
// object. Errors are the memory's.
class GuardedBuffers {
 public:
  // `memory` must outlive the object.
  explicit GuardedBuffers(DeviceMemory& memory) : memory_(memory) {}
  ~GuardedBuffers();
  GuardedBuffers(const GuardedBuffers&) = delete;
  GuardedBuffers& operator=(const GuardedBuffers&) = delete;

  // Lays the buffers out anew and fills them and the zones.
  absl::Status Fill(const Buffers& buffers);
  // Copies the buffers that were filled last back; OUT_OF_RANGE where a byte between them has changed.
  absl::Status ReadBack(Buffers* buffers) const;
  uint64_t Address(size_t buffer) const { return base_ + offsets_[buffer]; }
  // The launch's arguments as the device takes them: addresses of buffers, and bytes.
  std::vector<std::vector<uint8_t>> Arguments(const KernelLaunch& launch) const;

 private:
  DeviceMemory& memory_;
  uint64_t base_ = 0, size_ = 0, end_ = 0;
  std::vector<uint64_t> offsets_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_GUARDED_BUFFERS_H_
