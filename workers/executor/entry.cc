#include "workers/executor/entry.h"

#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/parser.h"

namespace samebits::workers {

absl::StatusOr<uint32_t> FindEntry(const isa::Module& module, const KernelLaunch& launch) {
  const uint32_t entry = module.FindEntry(launch.entry);
  if (entry == isa::kNone32)
    return absl::InvalidArgumentError(absl::StrCat("the text has no entry '", launch.entry, "'"));
  const std::vector<uint32_t>& parameters = module.functions[entry].params;
  if (parameters.size() != launch.arguments.size())
    return absl::InvalidArgumentError(absl::StrCat("the entry has ", parameters.size(), " parameters, the launch ",
                                                   launch.arguments.size(), " arguments"));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const KernelLaunch::Argument& argument = launch.arguments[i];
    const size_t given = argument.buffer ? sizeof(uint64_t) : argument.bytes.size();
    if (given < module.symbols[parameters[i]].size)
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is shorter than its parameter"));
  }
  return entry;
}

absl::Status ExpectPtx(const KernelLaunch& launch) {
  if (!isa::amdgcn::LooksLikeAmdgcn(launch.text)) return absl::OkStatus();
  return absl::UnimplementedError("the text is AMDGCN, which rocm devices and the cpu run; cuda devices run PTX");
}

absl::Status ExpectAmdgcn(const KernelLaunch& launch) {
  if (isa::amdgcn::LooksLikeAmdgcn(launch.text)) return absl::OkStatus();
  return absl::UnimplementedError("the text is PTX, which cuda devices and the cpu run; rocm devices run AMDGCN");
}

absl::Status CheckWorkgroup(const isa::amdgcn::Kernel& kernel, const KernelLaunch& launch) {
  const std::array<uint32_t, 3>& required = kernel.required_workgroup;
  const auto text = [](const auto& dim) { return absl::StrCat(dim[0], " x ", dim[1], " x ", dim[2]); };
  if (required[0] != 0 && required != launch.block)
    return absl::InvalidArgumentError(absl::StrCat("the kernel demands workgroups of ", text(required), ", the launch has ", text(launch.block)));
  const uint64_t items = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (kernel.max_workgroup != 0 && items > kernel.max_workgroup)
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel takes workgroups of at most ", kernel.max_workgroup, " work-items, the launch has ", items));
  return absl::OkStatus();
}

}  // namespace samebits::workers
