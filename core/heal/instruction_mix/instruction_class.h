#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_CLASS_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_CLASS_H_

// What a machine instruction does to floating-point values, by its name (the paper's table 1; conversions, which that
// table leaves out, are where values are truncated).

#include <cstdint>
#include <string_view>

namespace samebits::heal {

enum class InstructionClass : uint8_t {
  kTensor,      // matrix units: HMMA, HGMMA, IMMA, QGMMA, DMMA; v_mfma_*, v_wmma_*
  kHalf,        // 16-bit, packed or not: HADD2, HFMA2.BF16_V2, HMNMX2; v_pk_fma_f16, v_add_f16
  kSingle,      // FADD, FFMA, FMUL, FMNMX; v_fma_f32, v_pk_mul_f32
  kSpecial,     // MUFU.*; v_exp_f32, v_rcp_f32
  kDouble,      // DADD, DFMA; v_fma_f64
  kAtomic,      // floating-point additions, minima, maxima in memory: RED.E.ADD.F32; global_atomic_add_f32
  kConversion,  // F2F, F2FP, F2I, I2F, FRND, HADD2.F32 (half to single); v_cvt_*, v_rndne_f32
  kCompare,     // of floating-point values, and selection by it: FSETP, FSEL; v_cmp_lt_f32
  kConstant,    // HFMA2 of zero times zero plus a constant: writes a register, computes nothing
  kInteger,     // integer arithmetic, logic, moves between registers
  kOther,       // memory, control, synchronisation
  kUnrecognized,  // no instruction that is known here
};
inline constexpr int kInstructionClasses = 12;

const char* NameOf(InstructionClass kind);  // "tensor", "half", ...

// Whether table 1 counts it: kTensor to kAtomic.
bool IsArithmetic(InstructionClass kind);

// `opcode`: with modifiers, "HMMA.16816.F32.BF16". `operands`: the text after it, "R4, R8, R20, R4".
InstructionClass ClassifySass(std::string_view opcode, std::string_view operands);

// `opcode`: "v_fma_f32", with or without the encoding's suffix ("_e32", "_dpp").
InstructionClass ClassifyAmdgcn(std::string_view opcode);

// The opcode without the suffixes that only say how it is encoded.
std::string_view WithoutEncoding(std::string_view amdgcn_opcode);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_CLASS_H_
