// The part of a stand-in for libamdhip64.so that all of them share: two devices, which HIP_VISIBLE_DEVICES chooses and orders.
// Numbers are those of HIP's documentation.

#include "tests/support/fake_gpu/fake_hip_device.h"

#include <cstdlib>
#include <cstring>

namespace samebits::fake_gpu {
namespace {

constexpr FakeDevice kDevices[] = {
    {"stand-in of AMD", "gfx942:sramecc+:xnack-", 304, 2'100'000, "\x11stand-in number"},
    {"older stand-in of AMD", "gfx90a:sramecc+:xnack-", 104, 1'700'000, ""},
};
constexpr int kInvalidValue = 1, kNoDevice = 100, kInvalidDevice = 101;

int current = 0;

}  // namespace

const FakeDevice* DeviceOf(int ordinal) {
  const char* visible = std::getenv("HIP_VISIBLE_DEVICES");
  for (const char* at = visible != nullptr ? visible : "0,1"; *at >= '0' && *at <= '1'; at += at[1] == ',' ? 2 : 1)
    if (ordinal-- == 0) return &kDevices[*at - '0'];
  return nullptr;
}

const FakeDevice& CurrentDevice() { return *DeviceOf(current); }

}  // namespace samebits::fake_gpu

using samebits::fake_gpu::DeviceOf;
using samebits::fake_gpu::FakeDevice;

extern "C" {

int hipInit(unsigned flags) { return flags != 0 ? samebits::fake_gpu::kInvalidValue : DeviceOf(0) == nullptr ? samebits::fake_gpu::kNoDevice : 0; }
int hipGetDeviceCount(int* count) {
  for (*count = 0; DeviceOf(*count) != nullptr;) ++*count;
  return *count == 0 ? samebits::fake_gpu::kNoDevice : 0;
}
int hipSetDevice(int device) {
  if (DeviceOf(device) == nullptr) return samebits::fake_gpu::kInvalidDevice;
  return samebits::fake_gpu::current = device, 0;
}
int hipDeviceGetName(char* name, int length, int device) {
  const FakeDevice* found = DeviceOf(device);
  if (found == nullptr) return samebits::fake_gpu::kInvalidDevice;
  return std::strncpy(name, found->name, static_cast<size_t>(length)), 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int device) {
  const FakeDevice* found = DeviceOf(device);
  if (found == nullptr) return samebits::fake_gpu::kInvalidDevice;
  switch (attribute) {
    case 0: return *value = 1, 0;  // ECC
    case 5: return *value = found->kilohertz, 0;
    case 63: return *value = found->compute_units, 0;
    case 74: return *value = samebits::fake_gpu::kLdsBytes, 0;
    default: return samebits::fake_gpu::kInvalidValue;
  }
}
int hipDeviceTotalMem(size_t* bytes, int device) {
  if (DeviceOf(device) == nullptr) return samebits::fake_gpu::kInvalidDevice;
  return *bytes = samebits::fake_gpu::kMemoryBytes, 0;
}
int hipDeviceGetUuid(void* uuid, int device) {
  const FakeDevice* found = DeviceOf(device);
  if (found == nullptr) return samebits::fake_gpu::kInvalidDevice;
  return std::strncpy(static_cast<char*>(uuid), found->number, 16), 0;
}
int hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (DeviceOf(device) == nullptr) return samebits::fake_gpu::kInvalidDevice;
  if (length < 13) return samebits::fake_gpu::kInvalidValue;
  return std::strcpy(text, "0000:c1:00.0"), 0;
}
int hipGetDevicePropertiesR0600(void* properties, int device) {
  const FakeDevice* found = DeviceOf(device);
  if (found == nullptr) return samebits::fake_gpu::kInvalidDevice;
  std::memset(properties, 0, 1472);
  std::strcpy(static_cast<char*>(properties), found->name);
  return std::strcpy(static_cast<char*>(properties) + 1160, found->architecture), 0;
}
int hipRuntimeGetVersion(int* version) { return *version = 60342134, 0; }
int hipGetLastError() { return 0; }
const char* hipGetErrorString(int) { return "an error of the stand-in"; }

}  // extern "C"
