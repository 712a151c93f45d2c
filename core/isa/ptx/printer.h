#ifndef SAMEBITS_CORE_ISA_PTX_PRINTER_H_
#define SAMEBITS_CORE_ISA_PTX_PRINTER_H_

#include <string>

#include "core/isa/module.h"

namespace samebits::isa::ptx {

// PTX text of a module in a normal form: names of registers, labels and local variables are numbered, scopes are
// dissolved, one statement a line, no comments, linkage or debug sections. Parsing it gives a module of the same
// structure (up to lines and those names), and printing that module gives the same text again.
std::string Print(const Module& module);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_PRINTER_H_
