#ifndef SAMEBITS_CORE_ISA_PTX_OP_TABLE_H_
#define SAMEBITS_CORE_ISA_PTX_OP_TABLE_H_

// The one table of PTX opcodes and of their modifiers. Parser, printer, verifier and executor share it.
//
// An opcode is the longest table entry that is a dot-wise prefix of the instruction's name
// ("wgmma.mma_async.sync.aligned" -> "wgmma.mma_async"); every dotted piece after it is a data type
// (isa/types.h), a modifier of the second table, a shape (m16n8k16, x4, v2, b-fragment counts), or an unknown
// modifier, which parses and makes every later stage fail closed.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/isa/ptx/ops.inc"

namespace samebits::isa::ptx {

enum class Op : uint8_t {
  kUnknown,  // not in the table: parses, executes as UNKNOWN
#define X(name, text, dests, min_operands, max_operands) name,
  SAMEBITS_PTX_OPS(X)
#undef X
};

enum class Mod : uint16_t {
  kUnknown,
#define X(name, text) name,
  SAMEBITS_PTX_MODIFIERS(X)
#undef X
};

// Number of leading operands that the instruction writes (0 for stores, branches, barriers).
int DestinationCount(Op op);
// Fewest and most operands as they are written; the braces of a vector count once, `d|p` counts once.
int MinOperands(Op op);
int MaxOperands(Op op);
std::string_view OpName(Op op);
std::string_view ModName(Mod mod);

// The op with the longest spelling that is a dot-wise prefix of `name`; *length is that spelling's length.
// kUnknown if there is none: then *length ends the first piece.
Op FindOp(std::string_view name, size_t* length);
// kUnknown if `piece` (between two dots) names no modifier.
Mod FindMod(std::string_view piece);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_OP_TABLE_H_
