#include "workers/executor/cuda/cuda_executor.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/isa/ptx/parser.h"
#include "workers/executor/cuda/cuda_driver.h"
#include "workers/executor/entry.h"
#include "workers/executor/guarded_buffers.h"
#include "workers/loading/cuda_libraries.h"

namespace samebits::workers {
namespace {

constexpr uint32_t kDefaultDynamicShared = 48 << 10;
// Of enums CUdevice_attribute, CUfunction_attribute and CUjit_option.
constexpr int kMultiprocessors = 16, kClockKilohertz = 13, kEcc = 32, kMajor = 75, kMinor = 76;
constexpr int kMaxDynamicShared = 8, kErrorLog = 5, kErrorLogBytes = 6;

int Attribute(const CudaDriver& driver, int attribute, int device) {
  int value = 0;
  return driver.device_attribute(&value, attribute, device) == 0 ? value : 0;
}

std::string Architecture(const CudaDriver& driver, int device) {
  return absl::StrCat("sm_", Attribute(driver, kMajor, device), Attribute(driver, kMinor, device));
}

std::string Uuid(const CudaDriver& driver, int device) {
  unsigned char uuid[16] = {};
  driver.device_uuid(uuid, device);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(uuid), sizeof(uuid)));
}

class CudaMemory : public DeviceMemory {
 public:
  explicit CudaMemory(const CudaDriver& driver) : driver_(driver) {}
  absl::Status Allocate(uint64_t bytes, uint64_t* address) override {
    return driver_.ToStatus(driver_.allocate(address, bytes), "cuMemAlloc");
  }
  void Free(uint64_t address) override { driver_.free(address); }
  absl::Status Set(uint64_t address, uint8_t value, uint64_t bytes) override {
    return driver_.ToStatus(driver_.set_bytes(address, value, bytes), "cuMemsetD8");
  }
  absl::Status Upload(uint64_t address, const uint8_t* from, uint64_t bytes) override {
    return driver_.ToStatus(driver_.upload(address, from, bytes), "cuMemcpyHtoD");
  }
  absl::Status Download(uint8_t* to, uint64_t address, uint64_t bytes) override {
    return driver_.ToStatus(driver_.download(to, address, bytes), "cuMemcpyDtoH");
  }

 private:
  const CudaDriver& driver_;
};

class CudaExecutor : public Executor {
 public:
  CudaExecutor(std::shared_ptr<const CudaDriver> driver, int device, DeviceInfo info, AssemblerOptions assembler)
      : driver_(std::move(driver)), device_(device), info_(std::move(info)), assembler_(std::move(assembler)),
        memory_(*driver_) {}
  ~CudaExecutor() override {
    if (module_ != nullptr) driver_->unload_module(module_);
  }

  const DeviceInfo& device() const override { return info_; }
  absl::Status Prepare(const KernelLaunch& launch) override;
  absl::Status Run(uint32_t variant, Buffers* buffers) override;

 private:
  // `image`: a text, or machine code.
  absl::Status Load(const std::string& image);

  const std::shared_ptr<const CudaDriver> driver_;
  const int device_;
  const DeviceInfo info_;
  const AssemblerOptions assembler_;
  CudaMemory memory_;
  GuardedBuffers arena_{memory_};
  void* module_ = nullptr;
  void* function_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
};

struct Entry {
  std::string name, target;
};

// The entry and its text's target.
absl::StatusOr<Entry> CheckEntry(const KernelLaunch& launch) {
  if (absl::Status status = ExpectPtx(launch); !status.ok()) return status;
  const absl::StatusOr<isa::Module> module = isa::ptx::Parse(launch.text);
  if (!module.ok()) return module.status();
  const absl::StatusOr<uint32_t> entry = FindEntry(*module, launch);
  if (!entry.ok()) return entry.status();
  return Entry{std::string(module->functions[*entry].name), std::string(module->target)};
}

absl::Status CudaExecutor::Load(const std::string& image) {
  if (module_ != nullptr) driver_->unload_module(std::exchange(module_, nullptr));
  std::string log(8192, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const absl::Status status =
      driver_->ToStatus(driver_->load_module(&module_, image.c_str(), 2, options, values), "cuModuleLoadDataEx");
  if (status.ok()) return status;
  module_ = nullptr;
  return absl::Status(status.code(), absl::StrCat(status.message(), ": ", log.c_str()));
}

absl::Status CudaExecutor::Prepare(const KernelLaunch& launch) {
  launch_ = nullptr;
  const absl::StatusOr<Entry> entry = CheckEntry(launch);
  if (!entry.ok()) return entry.status();
  std::string code;
  if (!assembler_.program.empty()) {
    absl::StatusOr<std::string> assembled =
        Assemble(assembler_, launch.text, AssembledArchitecture(entry->target, info_.architecture));
    if (!assembled.ok()) return assembled.status();
    code = *std::move(assembled);
  }
  absl::Status status = Load(code.empty() ? launch.text : code);
  if (!status.ok()) return status;
  status = driver_->ToStatus(driver_->get_function(&function_, module_, entry->name.c_str()), "cuModuleGetFunction");
  if (status.ok() && launch.shared_bytes > kDefaultDynamicShared)
    status = driver_->ToStatus(
        driver_->set_function_attribute(function_, kMaxDynamicShared, static_cast<int>(launch.shared_bytes)),
        "cuFuncSetAttribute");
  if (status.ok()) launch_ = &launch;
  return status;
}

absl::Status CudaExecutor::Run(uint32_t, Buffers* buffers) {
  if (launch_ == nullptr) return absl::InternalError("no launch is prepared");
  if (absl::Status status = arena_.Fill(*buffers); !status.ok()) return status;
  std::vector<std::vector<uint8_t>> values = arena_.Arguments(*launch_);
  std::vector<void*> pointers;
  for (std::vector<uint8_t>& value : values) pointers.push_back(value.data());
  const auto& [grid, block] = std::pair(launch_->grid, launch_->block);
  absl::Status status = driver_->ToStatus(
      driver_->launch(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2], launch_->shared_bytes,
                      nullptr, pointers.data(), nullptr),
      "cuLaunchKernel");
  if (status.ok()) status = driver_->ToStatus(driver_->synchronize(), "cuCtxSynchronize");
  return status.ok() ? arena_.ReadBack(buffers) : status;
}

}  // namespace

absl::StatusOr<std::vector<DeviceInfo>> ListCudaDevices(uint32_t first) {
  const absl::StatusOr<std::shared_ptr<const CudaDriver>> loaded = CudaDriver::Load();
  if (!loaded.ok()) return loaded.status();
  const CudaDriver& driver = **loaded;
  int count = 0, version = 0;
  if (absl::Status status = driver.ToStatus(driver.device_count(&count), "cuDeviceGetCount"); !status.ok())
    return status;
  driver.driver_version(&version);
  const std::vector<LibraryVersion> libraries = CudaLibraryVersions();
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    char name[256] = {};
    size_t memory = 0;
    if (driver.device_get(&device, ordinal) != 0) continue;
    driver.device_name(name, sizeof(name) - 1, device);
    driver.device_memory(&memory, device);
    DeviceInfo& info = devices.emplace_back();
    info.backend = "cuda";
    info.index = first + static_cast<uint32_t>(ordinal);
    info.name = name;
    info.architecture = Architecture(driver, device);
    info.multiprocessors = static_cast<uint32_t>(Attribute(driver, kMultiprocessors, device));
    info.memory_bytes = memory;
    info.driver_version = absl::StrCat(version / 1000, ".", version % 1000 / 10);
    info.uuid = Uuid(driver, device);
    info.clock_megahertz = static_cast<uint32_t>(Attribute(driver, kClockKilohertz, device) / 1000);
    info.ecc = Attribute(driver, kEcc, device) != 0;
    info.libraries = libraries;
  }
  return devices;
}

absl::StatusOr<std::unique_ptr<Executor>> MakeCudaExecutor(int ordinal, const DeviceInfo& info,
                                                          const AssemblerOptions& assembler) {
  absl::StatusOr<std::shared_ptr<const CudaDriver>> driver = CudaDriver::Load();
  if (!driver.ok()) return driver.status();
  int device = 0;
  void* context = nullptr;
  const CudaDriver& d = **driver;
  if (absl::Status status = d.ToStatus(d.device_get(&device, ordinal), "cuDeviceGet"); !status.ok()) return status;
  if (const std::string uuid = Uuid(d, device); !info.uuid.empty() && uuid != info.uuid)
    return absl::UnavailableError(absl::StrCat("CUDA device ", ordinal, " is now GPU ", uuid, ", no longer ", info.uuid,
                                               "; start the worker again"));
  if (absl::Status status = d.ToStatus(d.retain_context(&context, device), "cuDevicePrimaryCtxRetain"); !status.ok())
    return status;
  if (absl::Status status = d.ToStatus(d.set_context(context), "cuCtxSetCurrent"); !status.ok()) return status;
  DeviceInfo opened = info;
  opened.architecture = Architecture(d, device);
  return std::make_unique<CudaExecutor>(*std::move(driver), device, std::move(opened), assembler);
}

}  // namespace samebits::workers
