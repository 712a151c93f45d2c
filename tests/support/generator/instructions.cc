// Instructions of one lane, family by family (PTX ISA 9.7.1 to 9.7.9).

#include "tests/support/generator/writer.h"

namespace samebits::generator {

std::string Writer::OneOf(std::string_view list) {
  uint32_t count = 1;
  for (const char c : list) count += c == '|';
  uint32_t skip = random.Below(count);
  size_t at = 0;
  for (; skip > 0; --skip) at = list.find('|', at) + 1;
  return std::string(list.substr(at, list.find('|', at) - at));
}

std::string Writer::IntegerImmediate(int bits) {
  switch (random.Below(6)) {
    case 0: return OneOf("0|1|2|3|4|7|8|16|31|32");
    case 1:
      return bits == 16 ? OneOf("-1|-2|255|32767|-32768|128") : OneOf("-1|-2|255|256|65535|65536|-65536|2147483647");
    case 2: return std::to_string(random.Below(64));
    case 3: return std::to_string(uint64_t{1} << random.Below(static_cast<uint32_t>(bits) - 1));
    default: {
      const uint64_t word = random.Next() >> (64 - bits);
      return bits == 64 ? std::to_string(static_cast<int64_t>(word))
                        : std::to_string(bits == 16 ? word & 0x7fff : word);
    }
  }
}

namespace {
std::string Hex(uint64_t value, int digits) {
  std::string out(static_cast<size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, value >>= 4) out[static_cast<size_t>(i)] = "0123456789ABCDEF"[value & 15];
  return out;
}
}  // namespace

std::string Writer::FloatImmediate() { return "0f" + Hex(AdversarialWord(random), 8); }
std::string Writer::DoubleImmediate() { return "0d" + Hex(AdversarialDouble(random), 16); }

namespace {

std::string Integer16(Writer& w) {
  const std::string d = w.H() + ", ";
  switch (w.random.Below(6)) {
    case 0:
      return w.OneOf("add.s16|add.u16|sub.s16|sub.u16|mul.lo.s16|mul.hi.s16|mul.hi.u16") + " " + d + w.H() + ", " +
             w.HI();
    case 1: return w.OneOf("min.s16|max.s16|min.u16|max.u16|and.b16|or.b16|xor.b16") + " " + d + w.H() + ", " + w.HI();
    case 2: return w.OneOf("neg.s16|abs.s16|not.b16") + " " + d + w.H();
    case 3:
      return w.OneOf("shl.b16|shr.u16|shr.s16") + " " + d + w.H() + ", " +
             (w.random.OneIn(2) ? w.R() : std::to_string(w.random.Below(20)));
    case 4: return w.OneOf("mul.wide.s16|mul.wide.u16") + " " + w.R() + ", " + w.H() + ", " + w.HI();
    default: return w.OneOf("mad.lo.s16|mad.lo.u16") + " " + d + w.H() + ", " + w.HI() + ", " + w.H();
  }
}

std::string Integer32(Writer& w) {
  const std::string d = w.R() + ", ";
  switch (w.random.Below(8)) {
    case 0:
    case 1:
      return w.OneOf("add.s32|add.u32|sub.s32|mul.lo.s32|mul.lo.u32|mul.hi.s32|mul.hi.u32") + " " + d + w.R() + ", " +
             w.RI();
    case 2: return w.OneOf("min.s32|max.s32|min.u32|max.u32") + " " + d + w.R() + ", " + w.RI();
    case 3: return w.OneOf("div.s32|div.u32|rem.s32|rem.u32") + " " + d + w.R() + ", " + w.RI();
    case 4: return w.OneOf("neg.s32|abs.s32") + " " + d + w.R();
    case 5:
      return w.OneOf("mad.lo.s32|mad.lo.u32|mad.hi.s32|mad.hi.u32") + " " + d + w.R() + ", " + w.RI() + ", " + w.R();
    case 6: return w.OneOf("popc.b32|clz.b32|brev.b32|bfind.u32|bfind.s32") + " " + d + w.R();
    default: return w.OneOf("mul.wide.s32|mul.wide.u32") + " " + w.RD() + ", " + w.R() + ", " + w.RI();
  }
}

std::string Integer64(Writer& w) {
  const std::string d = w.RD() + ", ";
  switch (w.random.Below(7)) {
    case 0:
      return w.OneOf("add.s64|add.u64|sub.s64|mul.lo.s64|mul.lo.u64|mul.hi.s64|mul.hi.u64") + " " + d + w.RD() + ", " +
             w.RDI();
    case 1:
      return w.OneOf("min.s64|max.s64|min.u64|max.u64|and.b64|or.b64|xor.b64") + " " + d + w.RD() + ", " + w.RDI();
    case 2: return w.OneOf("neg.s64|abs.s64|not.b64") + " " + d + w.RD();
    case 3:
      return w.OneOf("shl.b64|shr.u64|shr.s64") + " " + d + w.RD() + ", " +
             (w.random.OneIn(3) ? w.R() : std::to_string(w.random.Below(70)));
    case 4: return w.OneOf("popc.b64|clz.b64|bfind.u64|bfind.s64") + " " + w.R() + ", " + w.RD();
    case 5: return w.OneOf("mad.wide.s32|mad.wide.u32") + " " + d + w.R() + ", " + w.RI() + ", " + w.RD();
    default: return w.OneOf("div.s64|div.u64|rem.s64|rem.u64") + " " + d + w.RD() + ", " + w.RDI();
  }
}

std::string SmallCount(Writer& w, uint32_t below) {
  return w.random.OneIn(4) ? w.R() : std::to_string(w.random.Below(below));
}

std::string Bits(Writer& w) {
  const std::string d = w.R() + ", ";
  switch (w.random.Below(9)) {
    case 0: return w.OneOf("and.b32|or.b32|xor.b32") + " " + d + w.R() + ", " + w.RI();
    case 1: return "not.b32 " + d + w.R();
    case 2: return w.OneOf("shl.b32|shr.u32|shr.s32|shr.b32") + " " + d + w.R() + ", " + SmallCount(w, 36);
    case 3:
      return w.OneOf("shf.l.wrap.b32|shf.r.wrap.b32|shf.l.clamp.b32|shf.r.clamp.b32") + " " + d + w.R() + ", " + w.R() +
             ", " + SmallCount(w, 36);
    case 4: return w.OneOf("bfe.u32|bfe.s32") + " " + d + w.R() + ", " + SmallCount(w, 34) + ", " + SmallCount(w, 34);
    case 5: return "bfi.b32 " + d + w.RI() + ", " + w.R() + ", " + SmallCount(w, 34) + ", " + SmallCount(w, 34);
    case 6: return "lop3.b32 " + d + w.R() + ", " + w.R() + ", " + w.R() + ", " + std::to_string(w.random.Below(256));
    case 7: {
      const bool any = w.random.OneIn(3);
      std::string selector = "0x";
      for (int i = 0; i < 4; ++i) selector += "0123456789abcdef"[w.random.Below(any ? 16 : 8)];
      return "prmt.b32 " + d + w.R() + ", " + w.RI() + ", " + (w.random.OneIn(5) ? w.R() : selector);
    }
    default:
      return w.OneOf("prmt.b32.f4e|prmt.b32.b4e|prmt.b32.rc8|prmt.b32.ecl|prmt.b32.ecr|prmt.b32.rc16") + " " + d +
             w.R() + ", " + w.R() + ", " + SmallCount(w, 4);
  }
}

std::string Bits64(Writer& w) {
  switch (w.random.Below(3)) {
    case 0:
      return w.OneOf("bfe.u64|bfe.s64") + " " + w.RD() + ", " + w.RD() + ", " + SmallCount(w, 66) + ", " +
             SmallCount(w, 66);
    case 1:
      return "bfi.b64 " + w.RD() + ", " + w.RD() + ", " + w.RD() + ", " + SmallCount(w, 66) + ", " + SmallCount(w, 66);
    default: return "brev.b64 " + w.RD() + ", " + w.RD();
  }
}

std::string Moves(Writer& w) {
  switch (w.random.Below(8)) {
    case 0: return "mov.b32 " + w.R() + ", {" + w.H() + ", " + w.H() + "}";
    case 1: return "mov.b32 {%h0, %h" + std::to_string(1 + w.random.Below(kHalves - 1)) + "}, " + w.R();
    case 2: return "mov.b64 " + w.RD() + ", {" + w.R() + ", " + w.R() + "}";
    case 3: return "mov.b64 {%r0, %r" + std::to_string(1 + w.random.Below(kWords - 1)) + "}, " + w.RD();
    case 4: return "mov.b64 " + w.RD() + ", " + w.D();
    case 5: return "mov.b64 " + w.RD() + ", {" + w.H() + ", " + w.H() + ", " + w.H() + ", " + w.H() + "}";
    case 6:
      return "mov.u32 " + w.R() + ", " +
             (w.random.OneIn(2) ? w.IntegerImmediate(32)
                                : w.OneOf("%tid.x|%tid.y|%ntid.x|%ntid.y|%ctaid.x|%ctaid.y|%nctaid.x|%laneid|%lanemask_"
                                          "lt|%lanemask_eq|%lanemask_ge"));
    default: return "mov.b16 " + w.H() + ", " + w.IntegerImmediate(16);
  }
}

std::string Single(Writer& w) {
  const std::string d = w.R() + ", ";
  const std::string round = w.OneOf(".rn|.rn|.rz|.rm|.rp"), ftz = w.OneOf("||.ftz"), sat = w.OneOf("|||.sat");
  switch (w.random.Below(9)) {
    case 0:
    case 1: return w.OneOf("add|sub|mul") + w.OneOf("|" + round) + ftz + sat + ".f32 " + d + w.R() + ", " + w.FI();
    case 2: return "fma" + round + ftz + sat + ".f32 " + d + w.R() + ", " + w.FI() + ", " + w.FI();
    case 3:
      return w.OneOf("min|max") + ftz + w.OneOf("|.NaN") + w.OneOf("||.xorsign.abs") + ".f32 " + d + w.R() + ", " +
             w.FI();
    case 4: return w.OneOf("abs|neg") + ftz + ".f32 " + d + w.R();
    case 5: return "div" + round + ftz + ".f32 " + d + w.R() + ", " + w.FI();
    case 6: return w.OneOf("sqrt|rcp") + round + ftz + ".f32 " + d + w.R();
    case 7: return "copysign.f32 " + d + w.R() + ", " + w.R();
    default:
      if (!w.options.approximate) return "neg.f32 " + d + w.R();
      if (w.random.OneIn(4))
        return w.OneOf("div.full|div.approx|div.full.ftz|div.approx.ftz") + ".f32 " + d + w.R() + ", " + w.R();
      return w.OneOf(
                 "ex2.approx|ex2.approx.ftz|lg2.approx|sin.approx|cos.approx.ftz|tanh.approx|rsqrt.approx|rsqrt.approx."
                 "ftz|rcp.approx|rcp.approx.ftz|sqrt.approx") +
             ".f32 " + d + w.R();
  }
}

std::string Half(Writer& w) {
  const bool packed = w.random.OneIn(2), bf16 = w.random.OneIn(2);
  const auto reg = [&] { return packed ? w.R() : w.H(); };
  const std::string type = std::string(bf16 ? ".bf16" : ".f16") + (packed ? "x2 " : " ");
  const std::string ftz = bf16 ? "" : w.OneOf("||.ftz"), sat = bf16 ? "" : w.OneOf("||.sat");
  const std::string d = reg() + ", ";
  switch (w.random.Below(6)) {
    case 0:
    case 1:
      return w.OneOf("add|sub|mul") + (bf16 ? ".rn" : w.OneOf("|.rn")) + ftz + sat + type + d + reg() + ", " + reg();
    case 2:
      return "fma.rn" + ftz + (sat.empty() ? w.OneOf("||.relu") : sat) + type + d + reg() + ", " + reg() + ", " + reg();
    case 3:
      return w.OneOf("min|max") + ftz + w.OneOf("|.NaN") + w.OneOf("||.xorsign.abs") + type + d + reg() + ", " + reg();
    case 4: return w.OneOf("abs|neg") + ftz + type + d + reg();
    default:
      if (!w.options.approximate) return "neg" + type + d + reg();
      return w.OneOf(bf16 ? "ex2.approx.ftz|tanh.approx" : "ex2.approx|tanh.approx") + type + d + reg();
  }
}

std::string Double(Writer& w) {
  const std::string d = w.D() + ", ", round = w.OneOf(".rn|.rz|.rm|.rp");
  switch (w.random.Below(6)) {
    case 0:
    case 1: return w.OneOf("add|sub|mul") + w.OneOf("|" + round) + ".f64 " + d + w.D() + ", " + w.DI();
    case 2: return "fma" + round + ".f64 " + d + w.D() + ", " + w.DI() + ", " + w.D();
    case 3: return w.OneOf("min|max") + ".f64 " + d + w.D() + ", " + w.D();
    case 4: return w.OneOf("abs|neg") + ".f64 " + d + w.D();
    default: return w.OneOf("div.rn|div.rz") + ".f64 " + d + w.D() + ", " + w.D();
  }
}

// A register that holds an integer type of `bits`.
std::string Holder(Writer& w, int bits) { return bits == 64 ? w.RD() : bits == 32 ? w.R() : w.H(); }

std::string IntegerConvert(Writer& w) {
  static constexpr int kBits[] = {8, 16, 32, 64};
  const int to = w.random.Pick(kBits), from = w.random.Pick(kBits);
  // 8-bit values may stand in wider registers.
  const std::string d = to == 8 && w.random.OneIn(2) ? w.R() : Holder(w, to);
  const std::string a = from == 8 && w.random.OneIn(2) ? w.R() : Holder(w, from);
  return "cvt" + w.OneOf("|||.sat") + "." + w.OneOf("u|s") + std::to_string(to) + "." + w.OneOf("u|s") +
         std::to_string(from) + " " + d + ", " + a;
}

std::string FloatConvert(Writer& w) {
  const std::string round = w.OneOf(".rn|.rn|.rz|.rm|.rp"), integral = w.OneOf(".rni|.rzi|.rmi|.rpi");
  const std::string ftz = w.OneOf("||.ftz"), sat = w.OneOf("||.sat"), relu = w.OneOf("||.relu");
  const std::string r = w.R(), h = w.H();
  switch (w.random.Below(20)) {
    case 0: return "cvt" + w.OneOf(".rn|.rz") + (relu.empty() ? ftz + sat : relu) + ".f16.f32 " + h + ", " + r;
    case 1: return "cvt" + ftz + sat + ".f32.f16 " + r + ", " + h;
    case 2: return "cvt" + w.OneOf(".rn|.rz") + relu + ".bf16.f32 " + h + ", " + r;
    case 3: return "cvt" + std::string(".f32.bf16 ") + r + ", " + h;
    case 4: return "cvt" + w.OneOf(".rn|.rz") + relu + ".f16x2.f32 " + w.R() + ", " + r + ", " + w.R();
    case 5: return "cvt" + w.OneOf(".rn|.rz") + relu + ".bf16x2.f32 " + w.R() + ", " + r + ", " + w.R();
    case 6: return "cvt" + w.OneOf(".rna|.rn|.rz|.rn.relu") + ".tf32.f32 " + w.R() + ", " + r;
    case 7: return "cvt.rn.satfinite" + relu + w.OneOf(".e4m3x2|.e5m2x2") + ".f32 " + h + ", " + r + ", " + w.R();
    case 8: return "cvt.rn" + relu + w.OneOf(".f16x2.e4m3x2|.f16x2.e5m2x2") + " " + w.R() + ", " + h;
    case 9: return "cvt.rn.satfinite" + relu + w.OneOf(".e4m3x2|.e5m2x2") + ".f16x2 " + h + ", " + w.R();
    case 10: return "cvt" + integral + ftz + sat + ".f32.f32 " + w.R() + ", " + r;
    case 11: return "cvt" + integral + ".f16.f16 " + w.H() + ", " + h;
    case 12: return "cvt" + integral + ftz + "." + w.OneOf("s32|u32") + ".f32 " + w.R() + ", " + r;
    case 13: return "cvt" + integral + ftz + "." + w.OneOf("s64|u64") + ".f32 " + w.RD() + ", " + r;
    case 14: return "cvt" + integral + ftz + "." + w.OneOf("s16|u16|s8|u8") + ".f32 " + h + ", " + r;
    case 15: return "cvt" + integral + "." + w.OneOf("s32.f16|u32.f16") + " " + w.R() + ", " + h;
    case 16:
      return "cvt" + round + sat + ".f32." +
             (w.random.OneIn(2) ? w.OneOf("s32|u32") + " " + w.R() + ", " + r
                                : w.OneOf("s64|u64") + " " + r + ", " + w.RD());
    case 17: return "cvt" + round + ".f32." + w.OneOf("s16|u16|s8|u8") + " " + r + ", " + h;
    case 18: return "cvt.rn.f16." + w.OneOf("s32|u32") + " " + h + ", " + r;
    default: return "cvt.rn.f16." + w.OneOf("s16|u16|s8") + " " + w.H() + ", " + h;
  }
}

std::string DoubleConvert(Writer& w) {
  const std::string round = w.OneOf(".rn|.rz|.rm|.rp"), integral = w.OneOf(".rni|.rzi|.rmi|.rpi");
  switch (w.random.Below(5)) {
    case 0:
      return "cvt" + round + ".f64." +
             (w.random.OneIn(2) ? w.OneOf("s64|u64") + " " + w.D() + ", " + w.RD()
                                : w.OneOf("s32|u32") + " " + w.D() + ", " + w.R());
    case 1: return "cvt" + round + w.OneOf("||.ftz") + ".f32.f64 " + w.R() + ", " + w.D();
    case 2:
      return "cvt" + integral + "." +
             (w.random.OneIn(2) ? w.OneOf("s64|u64") + ".f64 " + w.RD() : w.OneOf("s32|u32") + ".f64 " + w.R()) + ", " +
             w.D();
    case 3: return "cvt" + integral + ".f64.f64 " + w.D() + ", " + w.D();
    default: return "cvt" + w.OneOf(".rn") + ".f16.f64 " + w.H() + ", " + w.D();
  }
}

std::string Comparison(Writer& w) {
  const std::string combine = w.OneOf("|||.and|.or|.xor");
  const std::string d = w.random.OneIn(3) ? "%p0|%p" + std::to_string(1 + w.random.Below(kPredicates - 1)) : w.P();
  const std::string tail = combine.empty() ? "" : ", " + std::string(w.random.OneIn(3) ? "!" : "") + w.P();
  const std::string floats = w.OneOf(".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan");
  const std::string ordered = w.OneOf(".eq|.ne|.lt|.le|.gt|.ge"), equality = w.OneOf(".eq|.ne");
  switch (w.random.Below(9)) {
    case 0: return "setp" + ordered + combine + w.OneOf(".s32|.u32") + " " + d + ", " + w.R() + ", " + w.RI() + tail;
    case 1: return "setp" + w.OneOf(".lo|.ls|.hi|.hs") + combine + ".u32 " + d + ", " + w.R() + ", " + w.RI() + tail;
    case 2: return "setp" + equality + combine + ".b32 " + d + ", " + w.R() + ", " + w.RI() + tail;
    case 3: return "setp" + ordered + combine + w.OneOf(".s16|.u16") + " " + d + ", " + w.H() + ", " + w.HI() + tail;
    case 4: return "setp" + ordered + combine + w.OneOf(".s64|.u64") + " " + d + ", " + w.RD() + ", " + w.RDI() + tail;
    case 5: return "setp" + floats + combine + w.OneOf("||.ftz") + ".f32 " + d + ", " + w.R() + ", " + w.FI() + tail;
    case 6: return "setp" + floats + combine + w.OneOf("|.ftz") + ".f16 " + w.P() + ", " + w.H() + ", " + w.H() + tail;
    case 7: return "setp" + floats + combine + ".bf16 " + w.P() + ", " + w.H() + ", " + w.H() + tail;
    default: return "setp" + floats + combine + ".f64 " + d + ", " + w.D() + ", " + w.DI() + tail;
  }
}

std::string Selection(Writer& w) {
  switch (w.random.Below(7)) {
    case 0:
    case 1: return w.OneOf("selp.b32|selp.s32|selp.u32") + " " + w.R() + ", " + w.RI() + ", " + w.RI() + ", " + w.P();
    case 2: return "selp.f32 " + w.R() + ", " + w.FI() + ", " + w.FI() + ", " + w.P();
    case 3: return "selp.b16 " + w.H() + ", " + w.HI() + ", " + w.H() + ", " + w.P();
    case 4: return "selp.b64 " + w.RD() + ", " + w.RDI() + ", " + w.RD() + ", " + w.P();
    case 5: return "selp.f64 " + w.D() + ", " + w.DI() + ", " + w.D() + ", " + w.P();
    default:
      return w.random.OneIn(3) ? "not.pred " + w.P() + ", " + w.P()
                               : w.OneOf("and.pred|or.pred|xor.pred") + " " + w.P() + ", " + w.P() + ", " + w.P();
  }
}

}  // namespace

std::string PureInstruction(Writer& w) {
  switch (w.random.Below(22)) {
    case 0:
    case 1: return Integer16(w);
    case 2:
    case 3:
    case 4: return Integer32(w);
    case 5: return Integer64(w);
    case 6:
    case 7: return Bits(w);
    case 8: return Bits64(w);
    case 9:
    case 10: return Moves(w);
    case 11:
    case 12:
    case 13: return Single(w);
    case 14:
    case 15: return Half(w);
    case 16: return Double(w);
    case 17: return IntegerConvert(w);
    case 18: return FloatConvert(w);
    case 19: return DoubleConvert(w);
    case 20: return Comparison(w);
    default: return Selection(w);
  }
}

}  // namespace samebits::generator
