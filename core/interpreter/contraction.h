#ifndef SAMEBITS_CORE_INTERPRETER_CONTRACTION_H_
#define SAMEBITS_CORE_INTERPRETER_CONTRACTION_H_

#include <cstdint>
#include <optional>

#include "core/isa/module.h"

namespace samebits::interpreter {

// Line of the first sum that an assembler may fuse with a product: an `add` or `sub` without rounding modifier that
// reads a register into which, directly or through moves and changes of sign, a `mul` without one or an approximate
// `div` of the same type goes (PTX ISA sections "add" and "mul"). By registers, not by paths: there may be more lines
// than an assembler would find, never fewer. Linear but for chains of moves. nullopt: what is written is what is
// computed.
std::optional<uint32_t> FindContractibleSum(const isa::Module& module);

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_CONTRACTION_H_
