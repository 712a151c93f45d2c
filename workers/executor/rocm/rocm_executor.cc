#include "workers/executor/rocm/rocm_executor.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/parser.h"
#include "workers/executor/entry.h"
#include "workers/executor/guarded_buffers.h"
#include "workers/executor/rocm/code_object.h"
#include "workers/executor/rocm/hip_errors.h"
#include "workers/executor/rocm/rocm_devices.h"
#include "workers/loading/return_if.h"
#include "workers/rocm/runtime/hip_runtime.h"

namespace samebits::workers {
namespace {

class HipMemory : public DeviceMemory {
 public:
  explicit HipMemory(const HipRuntime& hip) : hip_(hip) {}
  absl::Status Allocate(uint64_t bytes, uint64_t* address) override {
    void* pointer = nullptr;
    SAMEBITS_RETURN_IF(ToStatus(hip_, hip_.hipMalloc(&pointer, bytes), "hipMalloc"));
    *address = reinterpret_cast<uint64_t>(pointer);
    return absl::OkStatus();
  }
  void Free(uint64_t address) override { hip_.hipFree(Pointer(address)); }
  absl::Status Set(uint64_t address, uint8_t value, uint64_t bytes) override {
    return ToStatus(hip_, hip_.hipMemset(Pointer(address), value, bytes), "hipMemset");
  }
  absl::Status Upload(uint64_t address, const uint8_t* from, uint64_t bytes) override {
    return ToStatus(hip_, hip_.hipMemcpy(Pointer(address), from, bytes, hip::kCopyHostToDevice), "hipMemcpy");
  }
  absl::Status Download(uint8_t* to, uint64_t address, uint64_t bytes) override {
    return ToStatus(hip_, hip_.hipMemcpy(to, Pointer(address), bytes, hip::kCopyDeviceToHost), "hipMemcpy");
  }

 private:
  static void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
  const HipRuntime& hip_;
};

class RocmExecutor : public Executor {
 public:
  RocmExecutor(std::shared_ptr<const HipRuntime> hip, std::unique_ptr<Assembler> assembler, uint32_t most_shared,
               DeviceInfo info)
      : hip_(std::move(hip)), assembler_(std::move(assembler)), most_shared_(most_shared), info_(std::move(info)),
        memory_(*hip_) {}
  ~RocmExecutor() override { Unload(); }

  const DeviceInfo& device() const override { return info_; }
  absl::Status Prepare(const KernelLaunch& launch) override;
  absl::Status Run(uint32_t variant, Buffers* buffers) override;

 private:
  // The kernel of the text, where this device can run the launch.
  absl::StatusOr<std::string> Check(const KernelLaunch& launch) const;
  void Unload() {
    if (module_ != nullptr) hip_->hipModuleUnload(std::exchange(module_, nullptr));
  }

  const std::shared_ptr<const HipRuntime> hip_;
  const std::unique_ptr<Assembler> assembler_;
  const uint32_t most_shared_;  // bytes of LDS of a workgroup
  const DeviceInfo info_;
  HipMemory memory_;
  GuardedBuffers arena_{memory_};
  std::string code_object_;  // of the module, as long as that is loaded
  hip::Module module_ = nullptr;
  hip::Function function_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
};

absl::StatusOr<std::string> RocmExecutor::Check(const KernelLaunch& launch) const {
  SAMEBITS_RETURN_IF(ExpectAmdgcn(launch));
  const absl::StatusOr<isa::Module> module = isa::amdgcn::Parse(launch.text);
  if (!module.ok()) return module.status();
  const absl::StatusOr<uint32_t> entry = FindEntry(*module, launch);
  if (!entry.ok()) return entry.status();
  if (module->amdgcn->target != info_.architecture)
    return absl::InvalidArgumentError(
        absl::StrCat("the text is for ", module->amdgcn->target, ", the device is ", info_.architecture));
  const isa::amdgcn::Kernel& kernel = module->amdgcn->kernels[*entry];
  if (!kernel.has_metadata)
    return absl::InvalidArgumentError("the text has no .amdgpu_metadata for this kernel: its arguments are not known");
  SAMEBITS_RETURN_IF(CheckWorkgroup(kernel, launch));
  const uint64_t shared = uint64_t{kernel.group_segment_bytes} + launch.shared_bytes;
  if (shared > most_shared_)
    return absl::InvalidArgumentError(
        absl::StrCat("the launch needs ", shared, " bytes of LDS a workgroup, the device has ", most_shared_));
  return std::string(kernel.name);
}

absl::Status RocmExecutor::Prepare(const KernelLaunch& launch) {
  launch_ = nullptr;
  const absl::StatusOr<std::string> kernel = Check(launch);
  if (!kernel.ok()) return kernel.status();
  Unload();
  const absl::StatusOr<AssemblerInput> input = PrepareForAssembler(launch.text);
  if (!input.ok()) return input.status();
  absl::StatusOr<std::string> code_object = assembler_->Assemble(*input);
  if (!code_object.ok()) return code_object.status();
  code_object_ = *std::move(code_object);
  if (const int error = hip_->hipModuleLoadData(&module_, code_object_.data()); error != hip::kSuccess) {
    module_ = nullptr;
    return ToStatus(*hip_, error, "hipModuleLoadData");
  }
  SAMEBITS_RETURN_IF(
      ToStatus(*hip_, hip_->hipModuleGetFunction(&function_, module_, kernel->c_str()), "hipModuleGetFunction"));
  launch_ = &launch;
  return absl::OkStatus();
}

absl::Status RocmExecutor::Run(uint32_t, Buffers* buffers) {
  if (launch_ == nullptr) return absl::InternalError("no launch is prepared");
  SAMEBITS_RETURN_IF(arena_.Fill(*buffers));
  std::vector<std::vector<uint8_t>> values = arena_.Arguments(*launch_);
  std::vector<void*> pointers;
  for (std::vector<uint8_t>& value : values) pointers.push_back(value.data());
  const auto& [grid, block] = std::pair(launch_->grid, launch_->block);
  SAMEBITS_RETURN_IF(ToStatus(*hip_,
                              hip_->hipModuleLaunchKernel(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                                          launch_->shared_bytes, nullptr, pointers.data(), nullptr),
                              "hipModuleLaunchKernel"));
  SAMEBITS_RETURN_IF(ToStatus(*hip_, hip_->hipDeviceSynchronize(), "hipDeviceSynchronize"));
  return arena_.ReadBack(buffers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> MakeRocmExecutor(int ordinal, const DeviceInfo& info, const std::string& clang) {
  absl::StatusOr<std::shared_ptr<const HipRuntime>> loaded = HipRuntime::Load();
  if (!loaded.ok()) return loaded.status();
  const HipRuntime& hip = **loaded;
  SAMEBITS_RETURN_IF(ToStatus(hip, hip.hipInit(0), "hipInit"));
  SAMEBITS_RETURN_IF(ToStatus(hip, hip.hipSetDevice(ordinal), "hipSetDevice"));
  absl::StatusOr<DeviceInfo> now = DescribeRocmDevice(hip, ordinal);
  if (!now.ok()) return now.status();
  if (!info.uuid.empty() && now->uuid != info.uuid)
    return absl::UnavailableError(absl::StrCat("HIP device ", ordinal, " is now GPU ", now->uuid, ", no longer ", info.uuid,
                                               "; start the worker again"));
  now->index = info.index;
  int most_shared = 0;
  SAMEBITS_RETURN_IF(ToStatus(
      hip, hip.hipDeviceGetAttribute(&most_shared, hip::kAttributeMaxSharedMemoryPerBlock, ordinal), "hipDeviceGetAttribute"));
  absl::StatusOr<std::unique_ptr<Assembler>> assembler = FindAssembler(clang);
  if (!assembler.ok()) return assembler.status();
  return std::make_unique<RocmExecutor>(*std::move(loaded), *std::move(assembler), static_cast<uint32_t>(most_shared),
                                        *std::move(now));
}

}  // namespace samebits::workers
