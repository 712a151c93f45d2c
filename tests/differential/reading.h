#ifndef SAMEBITS_TESTS_DIFFERENTIAL_READING_H_
#define SAMEBITS_TESTS_DIFFERENTIAL_READING_H_

#include <string>

#include "core/isa/amdgcn/program.h"

namespace samebits::differential {

// Assembler text of a parsed instruction, from its fields alone: an assembler that encodes it as it encodes the source
// says that nothing was misread. Only the encoding suffix (_e32, _dpp, ...) is taken from the source; cache policies are not
// held. Branch targets are written L<index>. Empty for Op::kUnknown and for unknown modifiers.
std::string Spell(const isa::amdgcn::Instruction& in);

}  // namespace samebits::differential

#endif  // SAMEBITS_TESTS_DIFFERENTIAL_READING_H_
