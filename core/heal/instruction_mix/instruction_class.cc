#include "core/heal/instruction_mix/instruction_class.h"

namespace samebits::heal {

const char* NameOf(InstructionClass kind) {
  switch (kind) {
    case InstructionClass::kTensor: return "tensor";
    case InstructionClass::kHalf: return "half";
    case InstructionClass::kSingle: return "single";
    case InstructionClass::kSpecial: return "special";
    case InstructionClass::kDouble: return "double";
    case InstructionClass::kAtomic: return "atomic";
    case InstructionClass::kConversion: return "conversion";
    case InstructionClass::kCompare: return "compare";
    case InstructionClass::kConstant: return "constant";
    case InstructionClass::kInteger: return "integer";
    case InstructionClass::kOther: return "other";
    case InstructionClass::kUnrecognized: return "unrecognized";
  }
  return "unrecognized";
}

bool IsArithmetic(InstructionClass kind) {
  switch (kind) {
    case InstructionClass::kTensor:
    case InstructionClass::kHalf:
    case InstructionClass::kSingle:
    case InstructionClass::kSpecial:
    case InstructionClass::kDouble:
    case InstructionClass::kAtomic: return true;
    case InstructionClass::kConversion:
    case InstructionClass::kCompare:
    case InstructionClass::kConstant:
    case InstructionClass::kInteger:
    case InstructionClass::kOther:
    case InstructionClass::kUnrecognized: return false;
  }
  return false;
}

}  // namespace samebits::heal
