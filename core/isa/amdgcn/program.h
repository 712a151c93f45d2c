#ifndef SAMEBITS_CORE_ISA_AMDGCN_PROGRAM_H_
#define SAMEBITS_CORE_ISA_AMDGCN_PROGRAM_H_

// A parsed AMDGCN assembler text: kernels with their instructions, descriptors and argument layout.
// Source: LLVM's "User Guide for AMDGPU Backend" and the instruction set references of CDNA 2 and 3.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/isa/amdgcn/op_table.h"

namespace samebits::isa::amdgcn {

inline constexpr int kWaveLanes = 64;

// One numbering for all 32-bit registers. VCC is the pair that follows s105, as in the encoding.
enum : uint16_t {
  kVccLo = 106, kVccHi = 107, kM0 = 124, kExecLo = 126, kExecHi = 127, kScc = 128, kMode = 129,
  kFirstVgpr = 256, kFirstAgpr = 512, kRegisters = 768,
};
inline constexpr int kMaxSgprs = 106;
std::string RegisterName(uint16_t reg);

enum class OperandKind : uint8_t {
  kRegister,   // reg, count
  kImmediate,  // imm; is_float: written as a decimal fraction, imm holds its pattern as f32
  kLabel,      // imm: instruction index in the kernel
  kOff,        // `off`
  kOther,      // anything else an unmodelled instruction has
};

struct Operand {
  OperandKind kind = OperandKind::kOther;
  bool neg = false, abs = false, sext = false, is_float = false;
  uint8_t count = 1;   // 32-bit registers
  uint16_t reg = 0;
  int64_t imm = 0;
};

enum class DppKind : uint8_t {
  kNone, kQuadPerm, kRowShl, kRowShr, kRowRor, kRowMirror, kRowHalfMirror, kRowBcast15, kRowBcast31, kWaveShl1,
  kWaveRol1, kWaveShr1, kWaveRor1, kRowNewBcast,
};
enum class SdwaSel : uint8_t { kDword, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };
enum class SdwaUnused : uint8_t { kPad, kSext, kPreserve };

struct Instruction {
  static constexpr int kMaxOperands = 8;
  Op op = Op::kUnknown;
  Compare compare = Compare::kF;       // of v_cmp and s_cmp
  Type type = Type::kNone;             // operand type of those
  uint8_t operand_count = 0;
  std::array<Operand, kMaxOperands> operands;
  bool clamp = false, offen = false, idxen = false, lds = false, sdwa = false, has_unknown_modifier = false;
  bool has_op_sel = false, has_op_sel_hi = false;
  int8_t omod = 0;                     // 1: times 2, 2: times 4, 3: divided by 2
  uint8_t op_sel = 0, op_sel_hi = 0xff, neg_lo = 0, neg_hi = 0;  // bit i: operand i among the sources (last: dst)
  DppKind dpp = DppKind::kNone;
  uint8_t dpp_value = 0;               // lanes of a shift; four 2-bit fields of quad_perm
  uint8_t row_mask = 15, bank_mask = 15;
  bool bound_ctrl = false;             // lanes without a source read zero
  SdwaSel dst_sel = SdwaSel::kDword, src_sel[2] = {SdwaSel::kDword, SdwaSel::kDword};
  SdwaUnused dst_unused = SdwaUnused::kPreserve;  // as where the text does not say
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  int32_t offset = 0, offset0 = 0, offset1 = 0;
  // s_waitcnt: 255 where a counter is not waited for.
  uint8_t vmcnt = 255, lgkmcnt = 255, expcnt = 255;
  uint32_t line = 0;                   // 1-based
  uint32_t loc_file = 0, loc_line = 0;
  std::string_view name;               // mnemonic as written, into Program::text
};

// One argument of the kernarg segment.
struct KernelArgument {
  uint32_t offset = 0, size = 0;       // bytes
  bool is_pointer = false;
  std::string_view value_kind, name;   // into Program::text
};

struct Kernel {
  std::string_view name;               // into Program::text
  std::vector<Instruction> instructions;
  // Index of the instruction at byte 256, where a kernel with preloaded arguments begins; 0 where there is none.
  uint32_t preload_entry = 0;
  std::vector<KernelArgument> arguments;         // all, the hidden ones last
  uint32_t explicit_arguments = 0;
  uint32_t group_segment_bytes = 0, kernarg_bytes = 0, private_bytes = 0;
  uint32_t max_workgroup = 0;                    // .max_flat_workgroup_size; 0: not given
  std::array<uint32_t, 3> required_workgroup{0, 0, 0};
  uint32_t wave_lanes = 64;
  bool has_descriptor = false, has_metadata = false;
  // Descriptor: user SGPRs in their order, then workgroup ids.
  uint32_t private_segment_buffer = 0, dispatch_ptr = 0, queue_ptr = 0, kernarg_ptr = 0, dispatch_id = 0,
           flat_scratch_init = 0, private_segment_size = 0, preload_length = 0, preload_offset = 0, user_sgpr_count = 0;
  bool has_user_sgpr_count = false;
  bool workgroup_id[3] = {true, false, false};
  bool workgroup_info = false;
  uint32_t workitem_id = 0;                      // dimensions beside x
  uint32_t float_round_32 = 0, float_round_16_64 = 0, float_denorm_32 = 0, float_denorm_16_64 = 3;
  bool ieee_mode = true, dx10_clamp = true, fp16_overflow = false;
  uint32_t line = 0;
};

// Immutable after parsing.
struct Program {
  std::string_view text;         // owned by the isa::Module that holds the program
  std::string target;            // "gfx942"
  std::vector<Kernel> kernels;
};

}  // namespace samebits::isa::amdgcn

#endif  // SAMEBITS_CORE_ISA_AMDGCN_PROGRAM_H_
