#ifndef SAMEBITS_CORE_INTERPRETER_MEMORY_H_
#define SAMEBITS_CORE_INTERPRETER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace samebits::interpreter {

// Device global memory: zero-filled buffers at fixed, well separated addresses, so that an access past a buffer's end
// meets no other buffer. Each byte remembers whether a kernel wrote it. Not thread-safe.
class Memory {
 public:
  static constexpr uint64_t kFirstAddress = 0x700000000000;

  // Address of a new buffer, 4096-aligned.
  uint64_t Allocate(uint64_t bytes);
  uint64_t Allocate(std::span<const uint8_t> contents);

  // The `bytes` at `address`, or nullptr if they are not all inside one buffer.
  uint8_t* Find(uint64_t address, uint64_t bytes);

  // Marks bytes that a kernel wrote; the range must be inside one buffer.
  void MarkWritten(uint64_t address, uint64_t bytes);

  // Contents of the buffer that Allocate returned as `address`, for the host to read and fill.
  std::span<uint8_t> Buffer(uint64_t address);
  // For each byte of that buffer, whether a kernel wrote it.
  const std::vector<bool>& Written(uint64_t address) const;

 private:
  struct Region {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    std::vector<bool> written;
  };
  Region* Lookup(uint64_t address, uint64_t bytes);

  std::vector<Region> regions_;  // ascending addresses
  uint64_t next_ = kFirstAddress;
  size_t last_ = 0;
};

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_MEMORY_H_
