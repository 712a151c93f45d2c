#ifndef SAMEBITS_CORE_ISA_PTX_RENAME_H_
#define SAMEBITS_CORE_ISA_PTX_RENAME_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace samebits::isa::ptx {

// `text` with every declared register and every label under a new name, the same for each occurrence, chosen by
// `seed`; numbers of register ranges are shifted too. Everything else stays byte for byte: special registers,
// variables, opcodes, comments, strings. A name that the text also declares as a variable, parameter or function, or
// that is an opcode, stays as well. Works on tokens and never fails; on a text that parses, the result parses to the
// same structure. For tests that results do not depend on names.
std::string RenameRegistersAndLabels(std::string_view text, uint64_t seed);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_RENAME_H_
