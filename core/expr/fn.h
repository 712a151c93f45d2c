#ifndef SAMEBITS_CORE_EXPR_FN_H_
#define SAMEBITS_CORE_EXPR_FN_H_

// Operations of expression nodes. They name arithmetic, not instructions, so that two instruction sets can meet in
// them; what distinguishes variants (format, rounding, flags) is in the attribute word (Attr).

#include <cstdint>
#include <string>
#include <string_view>

namespace samebits::expr {

// X(enumerator, printed name). The numeric value enters digests: append only, or bump the signature version.
#define SAMEBITS_EXPR_FNS(X)                                                                                      \
  /* leaves */                                                                                                    \
  X(kUndef, "undef") X(kConst, "const") X(kLeaf, "load") X(kInt, "int") X(kParam, "param")                        \
  /* structure */                                                                                                 \
  X(kGather, "gather") X(kSelect, "select") X(kConcat, "concat") X(kExtract, "extract") X(kSignExtend, "sext")    \
  X(kVector, "vec")                                                                                               \
  /* floating point */                                                                                            \
  X(kFAdd, "fadd") X(kFMul, "fmul") X(kFFma, "fma") X(kFDiv, "fdiv") X(kFRcp, "frcp") X(kFSqrt, "fsqrt")          \
  X(kFRsqrt, "frsqrt") X(kFMin, "fmin") X(kFMax, "fmax") X(kFNeg, "fneg") X(kFAbs, "fabs")                        \
  X(kFConvert, "fcvt") X(kFToInt, "f2i") X(kIntToF, "i2f") X(kFCompare, "fcmp") X(kFCopySign, "fcopysign")        \
  X(kFTest, "ftest") X(kEx2, "ex2") X(kLg2, "lg2") X(kSin, "sin") X(kCos, "cos") X(kTanh, "tanh")                 \
  X(kSignFlip, "signflip") X(kMatrixStep, "mma")                                                                  \
  /* integers and bits */                                                                                         \
  X(kIAdd, "iadd") X(kIMul, "imul") X(kIMulHi, "imulhi") X(kIDiv, "idiv") X(kIRem, "irem") X(kIMin, "imin")       \
  X(kIMax, "imax") X(kINeg, "ineg") X(kIAbs, "iabs") X(kAnd, "and") X(kOr, "or") X(kXor, "xor") X(kNot, "not")    \
  X(kShl, "shl") X(kShr, "shr") X(kSar, "sar") X(kICompare, "icmp")                                               \
  /* an instruction modelled as a pure function of its operands' bits, by its spelling */                         \
  X(kIsa, "isa")                                                                                                  \
  X(kReduceAdd, "reduce_add") X(kIConvert, "icvt")                                                                \
  /* what a loop of open length leaves: per member hole, step and first value; then condition and result */       \
  X(kFold, "fold")

enum class Fn : uint8_t {
#define X(name, text) name,
  SAMEBITS_EXPR_FNS(X)
#undef X
};
std::string_view FnName(Fn fn);

// Value formats of operands and results.
enum class Format : uint8_t {
  kNone, kF16, kBf16, kF32, kF64, kTf32, kE4m3, kE5m2,
  kS8, kU8, kS16, kU16, kS32, kU32, kS64, kU64, kB8, kB16, kB32, kB64, kB1,
  kE2m3, kE3m2, kE2m1, kUe8m0,
};
std::string_view FormatName(Format format);
int FormatBits(Format format);

enum class Round : uint8_t { kNone, kRn, kRz, kRm, kRp, kRna, kRni, kRzi, kRmi, kRpi };
std::string_view RoundName(Round round);

// Comparison of kFCompare and kICompare. Unordered float variants are separate.
enum class Compare : uint8_t {
  kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan,
};
std::string_view CompareName(Compare compare);

// The attribute word of an operation node.
struct Attr {
  static constexpr uint64_t kFtz = 1ull << 24, kSat = 1ull << 25, kApprox = 1ull << 26, kFull = 1ull << 27,
                            kNanFlag = 1ull << 28, kRelu = 1ull << 29, kXorsign = 1ull << 30, kSatFinite = 1ull << 31,
                            kAbsFlag = 1ull << 32, kSigned = 1ull << 33,
                            // fmul: written without rounding modifier, and so open to contraction.
                            // fadd: takes such a product, and the two may be fused by the assembler.
                            kContract = 1ull << 34, kClamp = 1ull << 35;
  Format to = Format::kNone;    // result (or operand) format
  Format from = Format::kNone;  // source format of conversions and compares
  Round round = Round::kNone;
  Compare compare = Compare::kEq;
  uint64_t flags = 0;

  uint64_t Encode() const {
    return static_cast<uint64_t>(to) | static_cast<uint64_t>(from) << 8 | static_cast<uint64_t>(round) << 16 |
           static_cast<uint64_t>(compare) << 20 | flags;
  }
  static Attr Decode(uint64_t word) {
    Attr a;
    a.to = static_cast<Format>(word & 255);
    a.from = static_cast<Format>(word >> 8 & 255);
    a.round = static_cast<Round>(word >> 16 & 15);
    a.compare = static_cast<Compare>(word >> 20 & 15);
    a.flags = word & ~0xffffffull;
    return a;
  }
};

// Readable attribute: "f32.rn.ftz".
std::string AttrName(Fn fn, uint64_t attr);

// Associative and commutative in bits for the operands they are used with: these nodes are multisets.
bool IsAssociative(Fn fn);
// Two operands that may be exchanged.
bool IsCommutative(Fn fn);
bool IsSymmetric(Compare compare);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_FN_H_
