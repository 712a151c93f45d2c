#ifndef SAMEBITS_CORE_ISA_FINGERPRINT_H_
#define SAMEBITS_CORE_ISA_FINGERPRINT_H_

// What a module says, whatever its names and lines.

#include "core/base/hash.h"
#include "core/isa/module.h"

namespace samebits::isa {

// Digest of all that execution of `entry` can depend on: target, symbols in order of declaration with their layout and
// contents, and of all functions the instructions with operands, registers by number (they are numbered by first use),
// branch targets by index. Left out: names of registers, labels and of what the module itself defines, lines, .loc,
// files and comments. Equal fingerprints: equal computation for every launch. Not equal: nothing is known. Names of
// entries are left out too; `entry` is an index of `module.functions`.
Digest128 Fingerprint(const Module& module, uint32_t entry);

}  // namespace samebits::isa

#endif  // SAMEBITS_CORE_ISA_FINGERPRINT_H_
