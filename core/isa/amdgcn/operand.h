#ifndef SAMEBITS_CORE_ISA_AMDGCN_OPERAND_H_
#define SAMEBITS_CORE_ISA_AMDGCN_OPERAND_H_

// Operands and modifiers of one instruction's text.

#include <string>
#include <string_view>
#include <vector>

#include "core/isa/amdgcn/program.h"

namespace samebits::isa::amdgcn {

std::string_view Strip(std::string_view text);
// A whole integer: decimal, 0x or 0b, with sign. Values wrap at 64 bits; false for anything else.
bool ParseInteger(std::string_view text, int64_t* out);

// One operand without trailing modifiers. A name that is no register is kLabel with imm = -1: the caller resolves it.
// False: malformed ("s[3:1]", "v300"); what is well formed but outside the model is kOther.
bool ParseOperand(std::string_view text, Operand* out);

// `text` cut at commas outside brackets, parentheses and quotes.
std::vector<std::string_view> SplitOperands(std::string_view text);

// One modifier word, such as "offset:16", "row_shr:8" or "op_sel:[0,1]". False: malformed; unknown ones set
// has_unknown_modifier.
bool ParseModifier(std::string_view word, Instruction* out);

// The operands of s_waitcnt.
bool ParseWaitcnt(std::string_view text, Instruction* out);

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_OPERAND_H_
