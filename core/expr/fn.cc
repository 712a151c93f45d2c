#include "core/expr/fn.h"

namespace samebits::expr {

std::string_view FnName(Fn fn) {
  static constexpr std::string_view kNames[] = {
#define X(name, text) text,
      SAMEBITS_EXPR_FNS(X)
#undef X
  };
  return kNames[static_cast<int>(fn)];
}

std::string_view FormatName(Format format) {
  static constexpr std::string_view kNames[] = {
      "",    "f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2", "s8", "u8",   "s16",  "u16",  "s32",
      "u32", "s64", "u64",  "b8",  "b16", "b32",  "b64",  "b1",   "e2m3", "e3m2", "e2m1", "ue8m0"};
  return kNames[static_cast<int>(format)];
}

int FormatBits(Format format) {
  static constexpr uint8_t kBits[] = {0,  16, 16, 32, 64, 32, 8,  8, 8,  8, 16, 16, 32,
                                      32, 64, 64, 8,  16, 32, 64, 1, 6,  6, 4,  8};
  return kBits[static_cast<int>(format)];
}

std::string_view RoundName(Round round) {
  static constexpr std::string_view kNames[] = {"", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};
  return kNames[static_cast<int>(round)];
}

std::string_view CompareName(Compare compare) {
  static constexpr std::string_view kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  return kNames[static_cast<int>(compare)];
}

std::string AttrName(Fn fn, uint64_t word) {
  switch (fn) {  // attribute words that are no Attr
    case Fn::kSignExtend: return " from " + std::to_string(word) + " bits";
    case Fn::kExtract: case Fn::kConcat: case Fn::kVector: case Fn::kGather: case Fn::kIsa: case Fn::kMatrixStep:
    case Fn::kParam: case Fn::kInt: case Fn::kConst: case Fn::kFold:
      return "";
    default: break;
  }
  const Attr attr = Attr::Decode(word);
  std::string out;
  auto add = [&out](std::string_view piece) {
    if (piece.empty()) return;
    out += '.';
    out += piece;
  };
  if (fn == Fn::kFCompare || fn == Fn::kICompare) add(CompareName(attr.compare));
  add(RoundName(attr.round));
  if (attr.flags & Attr::kApprox) add("approx");
  if (attr.flags & Attr::kFull) add("full");
  if (attr.flags & Attr::kFtz) add("ftz");
  if (attr.flags & Attr::kSat) add("sat");
  if (attr.flags & Attr::kSatFinite) add("satfinite");
  if (attr.flags & Attr::kNanFlag) add("NaN");
  if (attr.flags & Attr::kRelu) add("relu");
  if (attr.flags & Attr::kXorsign) add("xorsign");
  if (attr.flags & Attr::kAbsFlag) add("abs");
  if (attr.flags & Attr::kContract) add("contractible");
  if (attr.flags & Attr::kSigned) add("signed");
  add(FormatName(attr.to));
  add(FormatName(attr.from));
  return out;
}

bool IsAssociative(Fn fn) {
  switch (fn) {
    case Fn::kFMin: case Fn::kFMax: case Fn::kIAdd: case Fn::kIMin: case Fn::kIMax:
    case Fn::kAnd: case Fn::kOr: case Fn::kXor:
      return true;
    default:
      return false;
  }
}

bool IsCommutative(Fn fn) {
  return fn == Fn::kFAdd || fn == Fn::kFMul || fn == Fn::kIMul || fn == Fn::kIMulHi || IsAssociative(fn);
}

bool IsSymmetric(Compare compare) {
  switch (compare) {
    case Compare::kEq: case Compare::kNe: case Compare::kEqu: case Compare::kNeu: case Compare::kNum: case Compare::kNan:
      return true;
    default:
      return false;
  }
}

}  // namespace samebits::expr
