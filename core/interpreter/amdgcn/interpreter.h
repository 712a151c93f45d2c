#ifndef SAMEBITS_CORE_INTERPRETER_AMDGCN_INTERPRETER_H_
#define SAMEBITS_CORE_INTERPRETER_AMDGCN_INTERPRETER_H_

// A direct AMDGCN interpreter: runs one grid launch on concrete bytes, wave by wave, lane by lane. It shares the parser
// with the symbolic executor and nothing of how instructions are executed, so that each checks the other.
//
// Semantics follow the instruction set references of CDNA 2 and 3; arithmetic is core/softfloat's, so a NaN result is the
// canonical one (a processor keeps a payload). No AMD device has confirmed this file. v_rcp_f32, v_rsq_f32, v_sqrt_f32,
// v_exp_f32, v_log_f32, v_sin_f32 and v_cos_f32 are approximate in hardware: here they are stand-ins, counted in
// RunResult::model_results; so are conversions to and from 8-bit floats and matrix steps whose arithmetic is not
// established, which are hashes or stand-ins. Memory operations take effect at once: waits only matter to the checker.

#include <string_view>

#include "absl/status/statusor.h"
#include "core/interpreter/interpreter.h"
#include "core/interpreter/memory.h"
#include "core/isa/module.h"

namespace samebits::interpreter {

// As Run (core/interpreter/interpreter.h), for a module with an amdgcn program. `config.args` are the explicit arguments; of
// the hidden ones the interpreter knows counts and sizes of workgroups, and UNIMPLEMENTED is what reads another.
absl::StatusOr<RunResult> RunAmdgcn(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                                    Memory& memory);

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_AMDGCN_INTERPRETER_H_
