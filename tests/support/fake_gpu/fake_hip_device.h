#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_HIP_DEVICE_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_HIP_DEVICE_H_

#include <cstddef>

namespace samebits::fake_gpu {

struct FakeDevice {
  const char *name, *architecture;
  int compute_units, kilohertz;
  const char* number;  // its own, 16 bytes; empty: it has none
};

inline constexpr size_t kMemoryBytes = 64 << 20;
inline constexpr int kLdsBytes = 64 << 10;

// nullptr where there are not so many.
const FakeDevice* DeviceOf(int ordinal);
// The one that hipSetDevice chose.
const FakeDevice& CurrentDevice();

}  // namespace samebits::fake_gpu

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_GPU_FAKE_HIP_DEVICE_H_
