#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/heal/instruction_mix/instruction_class.h"

namespace samebits::heal {
namespace {

using Class = InstructionClass;

constexpr std::string_view kSingleNames =
    "FADD FADD2 FADD32I FFMA FFMA2 FFMA32I FMUL FMUL2 FMUL32I FMNMX FMNMX3 FSWZADD FSWZ";
constexpr std::string_view kHalfNames =
    "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HMNMX2 VHMNMX";
constexpr std::string_view kDoubleNames = "DADD DFMA DMUL DMNMX";
constexpr std::string_view kSpecialNames = "MUFU RRO";
constexpr std::string_view kConversionNames = "F2F F2FP F2I F2IP I2F I2FP FRND";
constexpr std::string_view kCompareNames = "FSEL FSET FSETP FCMP FCHK HSET2 HSETP2 DSET DSETP";
constexpr std::string_view kIntegerNames =
    "BFE BFI BMSK BREV FLO I2I I2IP IABS IADD IADD2 IADD3 IADD32I IADD64 ICMP IDP IDP4A IMAD IMAD32I IMADSP IMNMX "
    "IMNMX3 IMUL IMUL32I ISCADD ISCADD32I ISET ISETP LEA LOP LOP3 LOP32I POPC SHF SHL SHR VABSDIFF VABSDIFF4 VADD "
    "VIADD VIADDMNMX VIMNMX VIMNMX3 VMAD VSHL VSHR XMAD MOV MOV32I MOV64IUR MOVM PRMT SEL SGXT PLOP3 PSET PSETP P2R "
    "R2P CSET CSETP REDUX CREDUX CLEA P2UR R2UP";
constexpr std::string_view kOtherNames =
    "ACQBULK AL2P ALD ARRIVES AST B2R BAR BMOV BPT BRA BREAK BRK BRX BRXU BSSY BSYNC CAL CALL CCTL CCTLL CCTLT "
    "CGABAR_ARV CGABAR_GET CGABAR_SET CGABAR_WAIT CGAERRBAR COLLECTIVE CONT CS2R DEPBAR ELECT ENDCOLLECTIVE ERRBAR EXIT FENCE "
    "GETLMEMBASE IPA ISBERD ISBEWR JCAL JMP JMX JMXU KILL LD LDC LDCU LDG LDGDEPBAR LDGMC LDGSTS LDL LDS LDSM LDT LDTM "
    "LEPC MATCH MEMBAR MEMSETS NANOSLEEP NANOTRAP NOP OUT PBK PCNT PIXLD PLONGJMP PMTRIG PREEXIT PRET QSPC R2B R2UR "
    "RAM RET RPCMOV RTT S2R S2UR SAM SETCTAID SETLMEMBASE SETMAXREG SETSHMSZ SHFL SSY ST STAS STG STGR STL STS STSM STT "
    "STTM SULD SUQ SUST SYNC SYNCS TEX TEXS TLD TLDS TLD4 TLD4S TMML TXD TXQ VIRTCOUNT VOTE VOTEU WARPGROUP "
    "WARPGROUPSET WARPSYNC YIELD BLKCP BLKPF GETNEXTWORKID TCATOMSWS TCBAR TCCP TCSHIFT TCSTSWS TMACCTL TMACMDFLUSH "
    "TMALDG TMALST TMAPF TMASTG";
// Floating-point arithmetic where a modifier says so, memory traffic otherwise.
constexpr std::string_view kAtomicNames = "ATOM ATOMG ATOMS RED REDG REDAS REDGR SUATOM SURED BLKRED TMAREDG";

using Names = std::unordered_map<std::string_view, Class>;

void Insert(std::string_view list, Class kind, Names* names) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (end > 0) names->emplace(list.substr(0, end), kind);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

Names MakeNames() {
  Names names;
  Insert(kSingleNames, Class::kSingle, &names);
  Insert(kHalfNames, Class::kHalf, &names);
  Insert(kDoubleNames, Class::kDouble, &names);
  Insert(kSpecialNames, Class::kSpecial, &names);
  Insert(kConversionNames, Class::kConversion, &names);
  Insert(kCompareNames, Class::kCompare, &names);
  Insert(kIntegerNames, Class::kInteger, &names);
  Insert(kOtherNames, Class::kOther, &names);
  Insert(kAtomicNames, Class::kAtomic, &names);
  return names;
}

// Part `index` of "a.b.c" or "a, b, c"; empty beyond the last.
std::string_view Part(std::string_view text, char separator, int index) {
  for (; index > 0; --index) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + 1);
  }
  text = text.substr(0, text.find(separator));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool HasFloatModifier(std::string_view opcode) {
  for (int i = 1; i < 16; ++i) {
    const std::string_view part = Part(opcode, '.', i);
    if (part.empty()) return false;
    if (part.starts_with("F16") || part.starts_with("F32") || part.starts_with("F64") || part.starts_with("BF16")) return true;
  }
  return false;
}

bool IsZeroRegister(std::string_view operand) {
  if (operand.starts_with('-')) operand.remove_prefix(1);
  const std::string_view name = Part(operand, '.', 0);
  return name == "RZ" || name == "URZ";
}

bool IsNumber(std::string_view operand) {
  if (operand.starts_with('-') || operand.starts_with('+')) operand.remove_prefix(1);
  return !operand.empty() && (('0' <= operand[0] && operand[0] <= '9') || operand == "INF" || operand == "QNAN");
}

// "R5, -RZ, RZ, 0, 5.96e-08": an addend alone, in whichever unit is idle.
bool IsConstantHfma2(std::string_view operands) {
  return IsZeroRegister(Part(operands, ',', 1)) && IsZeroRegister(Part(operands, ',', 2)) && IsNumber(Part(operands, ',', 3));
}

}  // namespace

InstructionClass ClassifySass(std::string_view opcode, std::string_view operands) {
  static const Names* const kNames = new Names(MakeNames());
  const std::string_view base = Part(opcode, '.', 0);
  if (base.ends_with("MMA")) return Class::kTensor;
  auto it = kNames->find(base);
  // The uniform data path's instructions are named after the others.
  if (it == kNames->end() && base.starts_with('U')) it = kNames->find(base.substr(1));
  if (it == kNames->end()) return Class::kUnrecognized;
  if (it->second == Class::kAtomic) return HasFloatModifier(opcode) ? Class::kAtomic : Class::kOther;
  if (base == "HADD2" && Part(opcode, '.', 1) == "F32") return Class::kConversion;
  if (base == "HFMA2" && IsConstantHfma2(operands)) return Class::kConstant;
  return it->second;
}

}  // namespace samebits::heal
