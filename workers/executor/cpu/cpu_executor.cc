#include "workers/executor/cpu/cpu_executor.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checker/text.h"
#include "core/interpreter/amdgcn/interpreter.h"
#include "core/interpreter/contraction.h"
#include "core/interpreter/interpreter.h"
#include "core/isa/amdgcn/program.h"
#include "workers/executor/entry.h"

namespace samebits::workers {
namespace {

DeviceInfo Describe(const CpuOptions& options, uint32_t index) {
  DeviceInfo info;
  info.backend = "cpu";
  info.index = index;
  info.name = "interpreter of PTX and AMDGCN";
  if (options.sm != 0) info.architecture = absl::StrCat("sm_", options.sm);
  info.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return info;
}

class CpuExecutor : public Executor {
 public:
  CpuExecutor(const CpuOptions& options, uint32_t index) : options_(options), info_(Describe(options, index)) {}

  const DeviceInfo& device() const override { return info_; }
  absl::Status Prepare(const KernelLaunch& launch) override;
  absl::Status Run(uint32_t variant, Buffers* buffers) override;

 private:
  const CpuOptions options_;
  const DeviceInfo info_;
  const KernelLaunch* launch_ = nullptr;
  std::optional<isa::Module> module_;
  uint32_t entry_ = 0;
};

absl::Status CpuExecutor::Prepare(const KernelLaunch& launch) {
  launch_ = nullptr;
  absl::StatusOr<isa::Module> module = checker::ParseText(launch.text, checker::TextIsa::kDetect, {});
  if (!module.ok()) return module.status();
  module_.emplace(*std::move(module));
  const absl::StatusOr<uint32_t> entry = FindEntry(*module_, launch);
  if (!entry.ok()) return entry.status();
  entry_ = *entry;
  if (module_->amdgcn != nullptr) {
    if (absl::Status status = CheckWorkgroup(module_->amdgcn->kernels[entry_], launch); !status.ok()) return status;
  } else if (const std::optional<uint32_t> line = interpreter::FindContractibleSum(*module_)) {
    return absl::UnimplementedError(absl::StrCat(
        "line ", *line, ": an assembler may fuse this sum with a product; without .rn its bits are not fixed"));
  }
  launch_ = &launch;
  return absl::OkStatus();
}

absl::Status CpuExecutor::Run(uint32_t variant, Buffers* buffers) {
  if (launch_ == nullptr) return absl::InternalError("no launch is prepared");
  interpreter::LaunchConfig config;
  config.grid = launch_->grid;
  config.block = launch_->block;
  config.shared_bytes = launch_->shared_bytes;
  config.max_steps = options_.max_steps;
  config.sm = options_.sm;
  config.descending = variant % 2 != 0;
  interpreter::Memory memory;
  std::vector<uint64_t> addresses;
  for (const std::vector<uint8_t>& buffer : *buffers) addresses.push_back(memory.Allocate(buffer));
  const std::vector<uint32_t>& parameters = module_->functions[entry_].params;
  for (size_t i = 0; i < launch_->arguments.size(); ++i) {
    const KernelLaunch::Argument& argument = launch_->arguments[i];
    std::vector<uint8_t>& bytes = config.args.emplace_back(
        argument.buffer ? interpreter::Bytes(addresses[*argument.buffer]) : argument.bytes);
    bytes.resize(std::min<size_t>(bytes.size(), module_->symbols[parameters[i]].size));
  }
  const auto run = module_->amdgcn != nullptr ? interpreter::RunAmdgcn : interpreter::Run;
  const absl::StatusOr<interpreter::RunResult> result = run(*module_, launch_->entry, config, memory);
  if (!result.ok()) return result.status();
  if (result->model_results != 0)
    return absl::UnimplementedError(absl::StrCat(
        result->model_results, " results of approximate functions or matrix steps are known to hardware only"));
  for (size_t i = 0; i < buffers->size(); ++i) {
    const auto bytes = memory.Buffer(addresses[i]);
    (*buffers)[i].assign(bytes.begin(), bytes.end());
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Executor> MakeCpuExecutor(const CpuOptions& options, uint32_t index) {
  return std::make_unique<CpuExecutor>(options, index);
}

}  // namespace samebits::workers
