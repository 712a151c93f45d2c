#ifndef SAMEBITS_CORE_ISA_AMDGCN_PARSER_H_
#define SAMEBITS_CORE_ISA_AMDGCN_PARSER_H_

// Parses AMDGCN assembler text as compilers emit it into an isa::Module that holds an amdgcn::Program.
//
// Directives that read files, define macros, repeat or choose text are refused. An instruction that is not in the op
// table, or whose operands have a form outside the model, becomes Op::kUnknown with its name: it is no error, but
// nothing that reaches it is decided. Sections other than code and the kernel descriptors are skipped.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/isa/amdgcn/program.h"
#include "core/isa/module.h"

namespace samebits::isa::amdgcn {

struct ParseLimits {
  uint64_t max_text_bytes = 16ull << 20;
  uint32_t max_instructions = 1u << 20;
  uint32_t max_kernels = 1024;
};

// Whether a text looks like AMDGCN assembler rather than PTX.
bool LooksLikeAmdgcn(std::string_view text);

// Errors: INVALID_ARGUMENT with line, column and the fragment (isa::ptx::GetParseError reads them); RESOURCE_EXHAUSTED for a limit, by name. Every kernel of
// the module is an entry with one parameter for each explicit argument.
absl::StatusOr<Module> Parse(std::string text, const ParseLimits& limits = {});

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_PARSER_H_
