#ifndef SAMEBITS_CORE_ISA_AMDGCN_METADATA_H_
#define SAMEBITS_CORE_ISA_AMDGCN_METADATA_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/isa/amdgcn/program.h"

namespace samebits::isa::amdgcn {

// One kernel of the `amdhsa.kernels` list of an .amdgpu_metadata block.
struct KernelMetadata {
  std::string_view name;
  std::vector<KernelArgument> arguments;
  uint32_t group_segment_bytes = 0, kernarg_bytes = 0, private_bytes = 0, max_workgroup = 0, wave_lanes = 64;
  std::array<uint32_t, 3> required_workgroup{0, 0, 0};
};

// Reads the lines between .amdgpu_metadata and .end_amdgpu_metadata: the block style that compilers write, nothing else
// of YAML. False with *error and its line (0-based in `lines`).
bool ParseMetadata(const std::vector<std::string_view>& lines, std::vector<KernelMetadata>* out, size_t* line,
                   std::string* error);

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_METADATA_H_
