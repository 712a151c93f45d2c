#ifndef SAMEBITS_CORE_ISA_PTX_VERIFIER_H_
#define SAMEBITS_CORE_ISA_PTX_VERIFIER_H_

#include "absl/status/status.h"
#include "core/isa/module.h"

namespace samebits::isa::ptx {

// Checks what the grammar does not: operand counts of known opcodes, that guards and predicate operands are
// predicates and data operands are not, that registers have the width of the instruction's type where the ISA asks
// for it (PTX ISA section 6.4 and table "relaxed type-checking"), that branches go to labels and direct calls have
// as many arguments as their function has parameters. Instructions with an unknown opcode or modifier pass: later
// stages refuse them. INVALID_ARGUMENT names the line; thread-safe; linear.
absl::Status Verify(const Module& module);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_VERIFIER_H_
