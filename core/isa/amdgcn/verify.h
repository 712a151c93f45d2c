#ifndef SAMEBITS_CORE_ISA_AMDGCN_VERIFY_H_
#define SAMEBITS_CORE_ISA_AMDGCN_VERIFY_H_

#include <string_view>

#include "core/isa/amdgcn/program.h"

namespace samebits::isa::amdgcn {

struct Fault {
  std::string_view what;  // static text; empty: none
  int operand = -1;       // -1: the modifiers
};

// Why no assembler for gfx90a or gfx942 takes an instruction of the op table whose operands have the right number and
// widths: the file or alignment of a register, a constant where only a register goes, a modifier that the encoding has no
// field for. Not checked: limits on constants and on how many scalar registers one vector instruction reads.
Fault Verify(const Instruction& in);

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_VERIFY_H_
