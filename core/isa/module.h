#ifndef SAMEBITS_CORE_ISA_MODULE_H_
#define SAMEBITS_CORE_ISA_MODULE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/isa/ptx/op_table.h"
#include "core/isa/types.h"

namespace samebits::isa {

namespace amdgcn {
struct Program;
}

inline constexpr uint32_t kNone32 = 0xffffffffu;

enum class StateSpace : uint8_t { kNone, kReg, kParam, kGlobal, kShared, kLocal, kConst, kTex };

// Read-only special registers (PTX ISA section 10). X(enumerator, spelling after '%')
#define SAMEBITS_PTX_SPECIALS(X)                                                                       \
  X(kTidX, "tid.x") X(kTidY, "tid.y") X(kTidZ, "tid.z")                                                \
  X(kNtidX, "ntid.x") X(kNtidY, "ntid.y") X(kNtidZ, "ntid.z")                                          \
  X(kCtaidX, "ctaid.x") X(kCtaidY, "ctaid.y") X(kCtaidZ, "ctaid.z")                                    \
  X(kNctaidX, "nctaid.x") X(kNctaidY, "nctaid.y") X(kNctaidZ, "nctaid.z")                              \
  X(kLaneid, "laneid") X(kWarpid, "warpid") X(kNwarpid, "nwarpid")                                     \
  X(kLanemaskEq, "lanemask_eq") X(kLanemaskLe, "lanemask_le") X(kLanemaskLt, "lanemask_lt")            \
  X(kLanemaskGe, "lanemask_ge") X(kLanemaskGt, "lanemask_gt")                                          \
  X(kSmid, "smid") X(kNsmid, "nsmid") X(kGridid, "gridid")                                             \
  X(kClock, "clock") X(kClockHi, "clock_hi") X(kClock64, "clock64")                                    \
  X(kGlobaltimer, "globaltimer") X(kGlobaltimerLo, "globaltimer_lo") X(kGlobaltimerHi, "globaltimer_hi") \
  X(kDynamicSmemSize, "dynamic_smem_size") X(kTotalSmemSize, "total_smem_size")                        \
  X(kAggrSmemSize, "aggr_smem_size")                                                                   \
  X(kClusteridX, "clusterid.x") X(kClusteridY, "clusterid.y") X(kClusteridZ, "clusterid.z")            \
  X(kNclusteridX, "nclusterid.x") X(kNclusteridY, "nclusterid.y") X(kNclusteridZ, "nclusterid.z")      \
  X(kClusterCtaidX, "cluster_ctaid.x") X(kClusterCtaidY, "cluster_ctaid.y")                            \
  X(kClusterCtaidZ, "cluster_ctaid.z")                                                                 \
  X(kClusterNctaidX, "cluster_nctaid.x") X(kClusterNctaidY, "cluster_nctaid.y")                        \
  X(kClusterNctaidZ, "cluster_nctaid.z")                                                               \
  X(kClusterCtarank, "cluster_ctarank") X(kClusterNctarank, "cluster_nctarank")                        \
  X(kIsExplicitCluster, "is_explicit_cluster")

enum class Special : uint8_t {
  kOther,  // %envreg, %pm, ...: unmodelled
#define X(name, text) name,
  SAMEBITS_PTX_SPECIALS(X)
#undef X
};

// Spelling without '%'; "" for kOther.
std::string_view SpecialName(Special special);
// kOther if `text` (without '%') names no modelled special register.
Special ParseSpecial(std::string_view text);

enum class OperandKind : uint8_t {
  kRegister,   // reg (and pair_reg for `d|p`)
  kImmediate,  // imm: integer literal, or the bit pattern of a float literal (is_float; see float_bits)
  kSpecial,    // special; for Special::kOther, its spelling is text->substr(first, count)
  kSymbol,     // symbol: a variable, parameter or function name used as a value (`mov.u32 %r, smem`); + imm
  kAddress,    // [reg + imm], [symbol + imm] or [imm]: reg or symbol set, or neither
  kVector,     // {a, b, ...}: `count` operands from Function::operand_pool[first]. A register declared with .v2 or
               // .v4 and used whole is the vector of its components. [a, {x, y}], [a, b, {x, y}]: the vector of a
               // kAddress, then what follows it in order, inner braces dropped (only here is element 0 an address)
  kLabel,      // target: instruction index in the function
  kSink,       // `_`
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;        // `!%p`, and `-%r` of vmad
  bool is_float = false;       // immediate was written 0f..., 0d... or decimal with a point
  Special special = Special::kOther;
  uint8_t float_bits = 0;      // 32 for 0f, 64 for 0d and decimal literals
  char selector = 0;           // `%r.b0`, `%r.h1`, `%r.b7610` of video instructions: 'b' or 'h'; 0 where absent
  uint16_t selected = 0xffff;  // the selector's digits, first one in the low nibble, unused nibbles 0xf
  uint32_t reg = kNone32;      // index into Function::registers
  uint32_t pair_reg = kNone32; // second half of `d|p`
  uint32_t symbol = kNone32;   // index into Module::symbols
  uint32_t first = 0, count = 0;
  uint32_t target = kNone32;
  int64_t imm = 0;             // two's complement; unsigned literals above 2^63 wrap
};

// One instruction. Modifiers keep their order of writing, because for matrix instructions it has meaning
// (`.row.col`); types likewise (`cvt.f32.f16`: destination first).
struct Instruction {
  static constexpr int kMaxMods = 14;
  static constexpr int kMaxTypes = 6;
  ptx::Op op = ptx::Op::kUnknown;
  uint8_t mod_count = 0, type_count = 0;
  uint8_t vector = 1;             // .v2 .v4 .v8
  uint8_t xcount = 0;             // .x1 .x2 .x4 of ldmatrix and kin
  bool guard_negated = false;
  bool has_unknown_modifier = false;  // some dotted piece was not recognised: see `name`
  std::array<ptx::Mod, kMaxMods> mods{};
  std::array<ScalarType, kMaxTypes> types{};
  uint16_t m = 0, n = 0, k = 0;   // matrix shape .mMnNkK, 0 where absent (.m8n8: k = 0)
  uint32_t guard = kNone32;       // predicate register
  uint32_t first_operand = 0, operand_count = 0;  // in Function::operand_pool
  uint32_t line = 0;              // 1-based line of the text
  uint32_t loc_file = 0, loc_line = 0;            // from the governing .loc; 0 where none
  std::string_view name;          // whole dotted name as written, into Module::text

  bool Has(ptx::Mod mod) const {
    for (int i = 0; i < mod_count; ++i)
      if (mods[i] == mod) return true;
    return false;
  }
  ScalarType type(int i = 0) const { return i >= 0 && i < type_count ? types[i] : ScalarType::kNone; }
};

// Only registers that a function's text uses (or has as register parameters) exist, in the order of their first use.
struct Register {
  std::string_view name;  // as first written: with '%' if it has one, with ".x" for a component of a vector
  ScalarType type;
};

// An address in an initialiser: that of symbol `symbol` plus `addend`, generic or in its own space, at byte `offset`.
// `mask` is the one written before it, `0xFF00(x)`; 0 without.
struct InitAddress {
  uint64_t offset = 0, mask = 0;
  uint32_t symbol = kNone32;
  int64_t addend = 0;
  bool is_generic = false;
};

// A variable, kernel or function parameter, or function. Local names are resolved by scope: each declaration
// is a symbol of its own.
struct Symbol {
  enum class Kind : uint8_t { kVariable, kParam, kFunction, kOther };
  std::string_view name;
  Kind kind = Kind::kVariable;
  StateSpace space = StateSpace::kNone;
  ScalarType type = ScalarType::kNone;
  uint32_t align = 1;           // bytes; the natural alignment where the text gives none
  uint64_t size = 0;            // bytes; 0 for an unsized extern array (dynamic shared memory)
  bool is_extern = false;
  bool is_pointer = false;      // `.param .u64 .ptr`
  StateSpace pointer_space = StateSpace::kNone;  // `.ptr .global`; kNone is generic
  uint32_t pointer_align = 0;   // `.ptr .align 16`, bytes; 0 where absent
  uint8_t vector = 1;           // `.v2`, `.v4` variables; counted in size
  uint32_t function = kNone32;  // owner for locals and params; own index for kFunction
  uint32_t param_index = kNone32;  // position among the owner's inputs, for kParam of an entry or .func
  std::vector<uint8_t> init;    // initial bytes of .global/.const variables; those past its end are zero
  bool init_has_addresses = false;  // the initialiser names other symbols: its bytes are not known
  std::vector<InitAddress> init_addresses;
  // For kOther: the text after the label of `.callprototype`, empty for tables.
  std::string_view prototype;
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  bool is_declaration = false;           // no body
  std::vector<uint32_t> params;          // symbols of the inputs, in order
  std::vector<uint32_t> returns;         // symbols or registers of the outputs, in order
  bool register_params = false;          // .func with .reg parameters: params/returns are register indices
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Operand> operand_pool;
  // `.branchtargets`: instruction indices by table symbol. `.calltargets`: function symbols by table symbol.
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> branch_tables, call_tables;
  std::array<uint32_t, 3> reqntid{0, 0, 0}, maxntid{0, 0, 0}, reqnctapercluster{0, 0, 0};
  bool explicit_cluster = false;
  uint32_t line = 0;
};

// A parsed text. Immutable after parsing; string_views point into `text`, which the module owns.
// Thread-safe for concurrent reads. Not copyable, movable (the text lives on the heap).
struct Module {
  std::unique_ptr<const std::string> text;
  int version_major = 0, version_minor = 0;
  std::string_view target;     // "sm_90a"
  int sm = 0;                  // 90
  char sm_suffix = 0;          // 'a', 'f' or 0
  int address_size = 64;
  bool debug = false;
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  std::vector<std::string> files;   // by .file index
  // Of an AMDGCN text: kernel i is function i, whose instructions here have lines, names and branches only.
  std::shared_ptr<const amdgcn::Program> amdgcn;

  // Index of the entry `name`; if `name` is empty, the only entry. kNone32 if there is none or no single one.
  uint32_t FindEntry(std::string_view name) const;
};

}  // namespace samebits::isa

#endif  // SAMEBITS_CORE_ISA_MODULE_H_
