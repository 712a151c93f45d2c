#ifndef SAMEBITS_CORE_CHECKER_TEXT_H_
#define SAMEBITS_CORE_CHECKER_TEXT_H_

// The instruction sets that the checker reads: PTX and AMDGCN assembler text.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "core/isa/module.h"
#include "core/symexec/machine.h"

namespace samebits::checker {

// Parses and verifies a text of the set that `isa` names, or that its content shows. Errors as ComputeSignature.
absl::StatusOr<isa::Module> ParseText(std::string_view text, TextIsa isa, const Limits& limits);

// The set that a text's content shows: kPtx or kAmdgcn.
TextIsa IsaOf(std::string_view text);

// As DescribeText, of a text of the set that `isa` names.
absl::StatusOr<TextInfo> DescribeTextAs(std::string_view text, const Limits& limits, TextIsa isa);

// The executor for a module's instruction set. Arguments as Machine's.
std::unique_ptr<symexec::Machine> MakeMachine(const isa::Module& module, uint32_t entry, const symexec::LaunchConfig& launch,
                                              const std::vector<uint32_t>& blocks, canonical::Builder* builder,
                                              symexec::LaneSpace* space, symexec::SymbolicSpace* symbolic,
                                              const symexec::MachineLimits& limits);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_TEXT_H_
