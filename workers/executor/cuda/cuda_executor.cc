#include "workers/executor/cuda/cuda_executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/isa/ptx/parser.h"
#include "workers/executor/cuda/cuda_driver.h"
#include "workers/loading/cuda_libraries.h"

namespace samebits::workers {
namespace {

constexpr uint64_t kGuardBytes = 64 << 10, kAlign = 4096;
constexpr uint8_t kGuardByte = 0xC3;
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

// Buffers on the device, freed with the object.
class Arena {
 public:
  explicit Arena(const CudaDriver& driver) : driver_(driver) {}
  ~Arena() {
    if (base_ != 0) driver_.free(base_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Lays the buffers out between guard zones and fills both.
  absl::Status Fill(const Buffers& buffers) {
    offsets_.clear();
    uint64_t end = kGuardBytes;
    for (const auto& buffer : buffers) {
      offsets_.push_back(end);
      end += (buffer.size() + kAlign - 1) / kAlign * kAlign + kGuardBytes;
    }
    if (end > size_) {
      if (base_ != 0) driver_.free(std::exchange(base_, 0));
      size_ = 0;
      if (absl::Status status = driver_.ToStatus(driver_.allocate(&base_, end), "cuMemAlloc"); !status.ok())
        return status;
      size_ = end;
    }
    end_ = end;
    if (absl::Status status = driver_.ToStatus(driver_.set_bytes(base_, kGuardByte, end), "cuMemsetD8"); !status.ok())
      return status;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].empty()) continue;
      absl::Status status =
          driver_.ToStatus(driver_.upload(Address(i), buffers[i].data(), buffers[i].size()), "cuMemcpyHtoD");
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Copies the buffers back; OUT_OF_RANGE where a byte between them has changed.
  absl::Status ReadBack(Buffers* buffers) const {
    std::vector<uint8_t> all(end_);
    if (absl::Status status = driver_.ToStatus(driver_.download(all.data(), base_, end_), "cuMemcpyDtoH"); !status.ok())
      return status;
    uint64_t at = 0;
    for (size_t i = 0; i <= buffers->size(); ++i) {
      const uint64_t begin = i < buffers->size() ? offsets_[i] : end_;
      for (; at < begin; ++at)
        if (all[at] != kGuardByte)
          return absl::OutOfRangeError(absl::StrCat("the kernel wrote outside its buffers, ", begin - at,
                                                    " bytes before buffer ", i));
      if (i == buffers->size()) break;
      std::vector<uint8_t>& buffer = (*buffers)[i];
      std::copy_n(all.begin() + static_cast<int64_t>(begin), buffer.size(), buffer.begin());
      at = begin + buffer.size();
    }
    return absl::OkStatus();
  }
  uint64_t Address(size_t buffer) const { return base_ + offsets_[buffer]; }

 private:
  const CudaDriver& driver_;
  uint64_t base_ = 0, size_ = 0, end_ = 0;
  std::vector<uint64_t> offsets_;
};

class CudaExecutor : public Executor {
 public:
  CudaExecutor(std::shared_ptr<const CudaDriver> driver, int device, DeviceInfo info, AssemblerOptions assembler)
      : driver_(std::move(driver)), device_(device), info_(std::move(info)), assembler_(std::move(assembler)),
        arena_(*driver_) {}
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
  Arena arena_;
  void* module_ = nullptr;
  void* function_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
};

struct Entry {
  std::string name, target;
};

// The entry and its text's target, and whether the launch has its number of arguments: the driver reads one pointer for
// each parameter, whatever it is given.
absl::StatusOr<Entry> CheckEntry(const KernelLaunch& launch) {
  const absl::StatusOr<isa::Module> module = isa::ptx::Parse(launch.text);
  if (!module.ok()) return module.status();
  const uint32_t entry = module->FindEntry(launch.entry);
  if (entry == isa::kNone32)
    return absl::InvalidArgumentError(absl::StrCat("the text has no entry '", launch.entry, "'"));
  const auto& parameters = module->functions[entry].params;
  if (parameters.size() != launch.arguments.size())
    return absl::InvalidArgumentError(absl::StrCat("the entry has ", parameters.size(), " parameters, the launch ",
                                                   launch.arguments.size(), " arguments"));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const KernelLaunch::Argument& argument = launch.arguments[i];
    if (!argument.buffer && argument.bytes.size() < module->symbols[parameters[i]].size)
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is shorter than its parameter"));
  }
  return Entry{std::string(module->functions[entry].name), std::string(module->target)};
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
  std::vector<std::vector<uint8_t>> values;
  std::vector<void*> pointers;
  for (const KernelLaunch::Argument& argument : launch_->arguments) {
    values.push_back(argument.bytes);
    if (argument.buffer) {
      const uint64_t address = arena_.Address(*argument.buffer);
      const auto* bytes = reinterpret_cast<const uint8_t*>(&address);
      values.back().assign(bytes, bytes + sizeof(address));
    }
  }
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
