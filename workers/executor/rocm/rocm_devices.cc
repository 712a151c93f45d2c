#include "workers/executor/rocm/rocm_devices.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "workers/executor/rocm/code_object.h"
#include "workers/executor/rocm/hip_errors.h"
#include "workers/executor/rocm/rocm_executor.h"
#include "workers/loading/return_if.h"

namespace samebits::workers {
namespace {

int Attribute(const HipRuntime& hip, int attribute, int device) {
  int value = 0;
  return hip.hipDeviceGetAttribute(&value, attribute, device) == hip::kSuccess ? value : 0;
}

// Of devices that have none of their own, their place on the bus.
std::string Uuid(const HipRuntime& hip, int device) {
  hip::Uuid uuid;
  const bool told = hip.hipDeviceGetUuid(&uuid, device) == hip::kSuccess;
  if (told && std::any_of(std::begin(uuid.bytes), std::end(uuid.bytes), [](char c) { return c != 0; }))
    return absl::BytesToHexString(absl::string_view(uuid.bytes, sizeof(uuid.bytes)));
  char place[64] = {};
  return hip.hipDeviceGetPCIBusId(place, sizeof(place) - 1, device) == hip::kSuccess ? place : "";
}

// "gfx942" of "gfx942:sramecc+:xnack-".
absl::StatusOr<std::string> Architecture(const HipRuntime& hip, int device) {
  hip::Properties properties;
  SAMEBITS_RETURN_IF(
      ToStatus(hip, hip.hipGetDevicePropertiesR0600(&properties, device), "hipGetDevicePropertiesR0600"));
  std::string_view name(properties.bytes + hip::Properties::kArchitecture, hip::Properties::kArchitectureBytes);
  name = name.substr(0, std::min(name.find('\0'), name.find(':')));
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c); });
  if (name.size() < 4 || name.size() > 16 || name.substr(0, 3) != "gfx" || !plain)
    return absl::UnavailableError(
        absl::StrCat("HIP's properties of device ", device, " do not name a processor where ROCm 6 and 7 do"));
  return std::string(name);
}

// 60342134 is 6.3.42134.
std::string Version(int version) {
  return absl::StrCat(version / 10'000'000, ".", version % 10'000'000 / 100'000, ".", version % 100'000);
}

}  // namespace

absl::StatusOr<DeviceInfo> DescribeRocmDevice(const HipRuntime& hip, int ordinal) {
  DeviceInfo info;
  char name[256] = {};
  size_t memory = 0;
  int version = 0;
  SAMEBITS_RETURN_IF(ToStatus(hip, hip.hipDeviceGetName(name, sizeof(name) - 1, ordinal), "hipDeviceGetName"));
  SAMEBITS_RETURN_IF(ToStatus(hip, hip.hipDeviceTotalMem(&memory, ordinal), "hipDeviceTotalMem"));
  SAMEBITS_RETURN_IF(ToStatus(hip, hip.hipRuntimeGetVersion(&version), "hipRuntimeGetVersion"));
  absl::StatusOr<std::string> architecture = Architecture(hip, ordinal);
  if (!architecture.ok()) return architecture.status();
  info.backend = "rocm";
  info.name = name;
  info.architecture = *std::move(architecture);
  info.multiprocessors = static_cast<uint32_t>(Attribute(hip, hip::kAttributeMultiprocessorCount, ordinal));
  info.memory_bytes = memory;
  info.driver_version = Version(version);
  info.libraries = {{"hip", info.driver_version}};
  info.uuid = Uuid(hip, ordinal);
  info.clock_megahertz = static_cast<uint32_t>(Attribute(hip, hip::kAttributeClockKilohertz, ordinal) / 1000);
  info.ecc = Attribute(hip, hip::kAttributeEccEnabled, ordinal) != 0;
  return info;
}

absl::StatusOr<std::vector<DeviceInfo>> ListRocmDevices(uint32_t first, const std::string& clang) {
  const absl::StatusOr<std::shared_ptr<const HipRuntime>> loaded = HipRuntime::Load();
  if (!loaded.ok()) return loaded.status();
  const HipRuntime& hip = **loaded;
  int count = 0;
  int error = hip.hipInit(0);
  if (error == hip::kSuccess) error = hip.hipGetDeviceCount(&count);
  if (error == hip::kErrorNoDevice || (error == hip::kSuccess && count == 0))
    return absl::UnavailableError("HIP finds no device; may this user open /dev/kfd and /dev/dri?");
  SAMEBITS_RETURN_IF(ToStatus(hip, error, "hipGetDeviceCount"));
  const auto assembler = FindAssembler(clang);
  if (!assembler.ok()) return assembler.status();
  const std::string assembler_version = (*assembler)->Version();
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    absl::StatusOr<DeviceInfo> info = DescribeRocmDevice(hip, ordinal);
    if (!info.ok()) return info.status();
    devices.push_back(*std::move(info));
    devices.back().index = first + static_cast<uint32_t>(ordinal);
    devices.back().assembler = assembler_version;
  }
  return devices;
}

}  // namespace samebits::workers
