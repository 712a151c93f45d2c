#include <array>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <random>

#include "tests/device/probes.h"

namespace samebits::device_test {
namespace {

using Names = std::initializer_list<const char*>;

void Add(std::vector<Probe>& probes, Inputs inputs, Names texts) {
  for (const char* text : texts) probes.push_back({text, inputs});
}

void AddFloat(std::vector<Probe>& probes, const std::string& type, const std::string& reg, Inputs inputs,
              Names suffixes) {
  const std::string d = "%" + reg + "0, ", a = "%" + reg + "1", b = ", %" + reg + "2", c = ", %" + reg + "3";
  for (const std::string suffix : suffixes) {
    for (const char* op : {"add", "sub", "mul"}) {
      probes.push_back({op + suffix + "." + type + " " + d + a + b + ";", inputs});
    }
    const std::string rounding = suffix.find(".r") == std::string::npos ? ".rn" + suffix : suffix;
    probes.push_back({"fma" + rounding + "." + type + " " + d + a + b + c + ";", inputs});
  }
}

void AddUnary(std::vector<Probe>& probes, Inputs inputs, const std::string& to, const std::string& from, Names ops) {
  for (const std::string op : ops) probes.push_back({op + " %" + to + "0, %" + from + "1;", inputs});
}

void AddArithmetic(std::vector<Probe>& probes) {
  AddFloat(probes, "f32", "w", Inputs::kF32,
           {"", ".rn", ".rz", ".rm", ".rp", ".ftz", ".rn.ftz", ".rz.ftz", ".rm.ftz", ".rp.ftz", ".sat", ".ftz.sat"});
  AddFloat(probes, "f64", "d", Inputs::kF64, {".rn", ".rz", ".rm", ".rp"});
  AddFloat(probes, "f16", "h", Inputs::kF16, {"", ".rn", ".ftz", ".sat", ".ftz.sat"});
  AddFloat(probes, "f16x2", "w", Inputs::kHalves, {"", ".ftz", ".sat"});
  AddFloat(probes, "bf16", "h", Inputs::kBf16, {".rn"});
  AddFloat(probes, "bf16x2", "w", Inputs::kBrains, {".rn"});
  Add(probes, Inputs::kF16, {"fma.rn.relu.f16 %h0, %h1, %h2, %h3;", "fma.rn.ftz.relu.f16 %h0, %h1, %h2, %h3;"});
  Add(probes, Inputs::kBf16, {"fma.rn.relu.bf16 %h0, %h1, %h2, %h3;"});
  for (const std::string rounding : {".rn", ".rz", ".rm", ".rp"}) {
    for (const std::string ftz : {"", ".ftz"}) {
      probes.push_back({"div" + rounding + ftz + ".f32 %w0, %w1, %w2;", Inputs::kF32});
      probes.push_back({"rcp" + rounding + ftz + ".f32 %w0, %w1;", Inputs::kF32});
      probes.push_back({"sqrt" + rounding + ftz + ".f32 %w0, %w1;", Inputs::kF32});
    }
    probes.push_back({"div" + rounding + ".f64 %d0, %d1, %d2;", Inputs::kF64});
    probes.push_back({"rcp" + rounding + ".f64 %d0, %d1;", Inputs::kF64});
    probes.push_back({"sqrt" + rounding + ".f64 %d0, %d1;", Inputs::kF64});
  }
}

void AddMinMax(std::vector<Probe>& probes) {
  for (const std::string op : {"min", "max"}) {
    for (const char* mods : {"", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
      probes.push_back({op + mods + ".f32 %w0, %w1, %w2;", Inputs::kF32});
      probes.push_back({op + mods + ".f16 %h0, %h1, %h2;", Inputs::kF16});
    }
    for (const char* mods : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
      probes.push_back({op + mods + ".bf16 %h0, %h1, %h2;", Inputs::kBf16});
      probes.push_back({op + mods + ".bf16x2 %w0, %w1, %w2;", Inputs::kBrains});
      probes.push_back({op + mods + ".f16x2 %w0, %w1, %w2;", Inputs::kHalves});
    }
    probes.push_back({op + ".f64 %d0, %d1, %d2;", Inputs::kF64});
    for (const char* type : {"s32", "u32", "s16x2", "u16x2"}) {
      probes.push_back({op + "." + type + " %w0, %w1, %w2;", Inputs::kInteger});
    }
    for (const char* type : {"s16", "u16"}) probes.push_back({op + "." + type + " %h0, %h1, %h2;", Inputs::kInteger});
    for (const char* type : {"s64", "u64"}) probes.push_back({op + "." + type + " %d0, %d1, %d2;", Inputs::kInteger});
    probes.push_back({op + ".relu.s32 %w0, %w1, %w2;", Inputs::kInteger});
    probes.push_back({op + ".relu.s16x2 %w0, %w1, %w2;", Inputs::kInteger});
  }
  AddUnary(probes, Inputs::kF32, "w", "w", {"abs.f32", "abs.ftz.f32", "neg.f32", "neg.ftz.f32"});
  AddUnary(probes, Inputs::kF64, "d", "d", {"abs.f64", "neg.f64"});
  AddUnary(probes, Inputs::kF16, "h", "h", {"abs.f16", "abs.ftz.f16", "neg.f16", "neg.ftz.f16"});
  AddUnary(probes, Inputs::kBf16, "h", "h", {"abs.bf16", "neg.bf16"});
  AddUnary(probes, Inputs::kHalves, "w", "w", {"abs.f16x2", "neg.f16x2"});
  Add(probes, Inputs::kF32, {"copysign.f32 %w0, %w1, %w2;"});
  Add(probes, Inputs::kF64, {"copysign.f64 %d0, %d1, %d2;"});
}

void AddComparisons(std::vector<Probe>& probes) {
  for (const std::string op :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    probes.push_back({"setp." + op + ".f32 %p|%p2, %w1, %w2;", Inputs::kF32});
    probes.push_back({"setp." + op + ".ftz.f32 %p|%p2, %w1, %w2;", Inputs::kF32});
    probes.push_back({"setp." + op + ".f64 %p|%p2, %d1, %d2;", Inputs::kF64});
    probes.push_back({"setp." + op + ".f16 %p, %h1, %h2;", Inputs::kF16});
    probes.push_back({"setp." + op + ".bf16 %p, %h1, %h2;", Inputs::kBf16});
    probes.push_back({"setp." + op + ".f16x2 %p|%p2, %w1, %w2;", Inputs::kHalves});
    probes.push_back({"set." + op + ".u32.f32 %w0, %w1, %w2;", Inputs::kF32});
    probes.push_back({"set." + op + ".f32.f32 %w0, %w1, %w2;", Inputs::kF32});
    probes.push_back({"set." + op + ".f16.f16 %h0, %h1, %h2;", Inputs::kF16});
    probes.push_back({"set." + op + ".f16x2.f16x2 %w0, %w1, %w2;", Inputs::kHalves});
  }
  for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    probes.push_back({"setp." + op + ".s32 %p|%p2, %w1, %w2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".s16 %p|%p2, %h1, %h2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".s64 %p|%p2, %d1, %d2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".u32 %p|%p2, %w1, %w2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".u64 %p|%p2, %d1, %d2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".and.s32 %p|%p2, %w1, %w2, %q;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".or.s32 %p|%p2, %w1, %w2, !%q;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".xor.f32 %p|%p2, %w1, %w2, %q;", Inputs::kF32});
  }
  for (const std::string op : {"lo", "ls", "hi", "hs"}) {
    probes.push_back({"setp." + op + ".u32 %p|%p2, %w1, %w2;", Inputs::kInteger});
    probes.push_back({"setp." + op + ".u64 %p|%p2, %d1, %d2;", Inputs::kInteger});
  }
  for (const std::string op : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    probes.push_back({"testp." + op + ".f32 %p, %w1;", Inputs::kF32});
    probes.push_back({"testp." + op + ".f64 %p, %d1;", Inputs::kF64});
  }
  Add(probes, Inputs::kInteger,
      {"selp.b32 %w0, %w1, %w2, %q;", "selp.b32 %w0, %w1, %w2, !%q;", "slct.u32.s32 %w0, %w1, %w2, %w3;"});
  Add(probes, Inputs::kF32, {"slct.f32.f32 %w0, %w1, %w2, %w3;", "slct.ftz.f32.f32 %w0, %w1, %w2, %w3;"});
}

void AddFloatConversions(std::vector<Probe>& probes) {
  for (const std::string rounding : {".rn", ".rz", ".rm", ".rp"}) {
    probes.push_back({"cvt" + rounding + ".f32.f64 %w0, %d1;", Inputs::kF64});
    probes.push_back({"cvt" + rounding + ".ftz.f32.f64 %w0, %d1;", Inputs::kF64});
    probes.push_back({"cvt" + rounding + ".sat.f32.f64 %w0, %d1;", Inputs::kF64});
    probes.push_back({"cvt" + rounding + ".f16.f64 %h0, %d1;", Inputs::kF64});
    probes.push_back({"cvt" + rounding + ".f16.f32 %h0, %w1;", Inputs::kF32});
    probes.push_back({"cvt" + rounding + ".ftz.f16.f32 %h0, %w1;", Inputs::kF32});
    probes.push_back({"cvt" + rounding + ".sat.f16.f32 %h0, %w1;", Inputs::kF32});
    const std::string integral = rounding + "i";
    for (const char* mods : {"", ".ftz", ".sat"}) {
      probes.push_back({"cvt" + integral + mods + ".f32.f32 %w0, %w1;", Inputs::kF32});
    }
    probes.push_back({"cvt" + integral + ".f64.f64 %d0, %d1;", Inputs::kF64});
    probes.push_back({"cvt" + integral + ".f16.f16 %h0, %h1;", Inputs::kF16});
  }
  for (const std::string rounding : {".rn", ".rz"}) {
    for (const std::string mods : {"", ".relu"}) {
      probes.push_back({"cvt" + rounding + mods + ".f16x2.f32 %w0, %w1, %w2;", Inputs::kF32});
      probes.push_back({"cvt" + rounding + mods + ".bf16x2.f32 %w0, %w1, %w2;", Inputs::kF32});
      probes.push_back({"cvt" + rounding + mods + ".bf16.f32 %h0, %w1;", Inputs::kF32});
      probes.push_back({"cvt" + rounding + mods + ".tf32.f32 %w0, %w1;", Inputs::kF32});
    }
  }
  Add(probes, Inputs::kF32,
      {"cvt.rna.tf32.f32 %w0, %w1;", "cvt.rn.satfinite.e4m3x2.f32 %h0, %w1, %w2;",
       "cvt.rn.satfinite.e5m2x2.f32 %h0, %w1, %w2;", "cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %w1, %w2;",
       "cvt.rn.satfinite.relu.e5m2x2.f32 %h0, %w1, %w2;", "cvt.f64.f32 %d0, %w1;", "cvt.ftz.f64.f32 %d0, %w1;",
       "cvt.f32.f32 %w0, %w1;", "cvt.ftz.f32.f32 %w0, %w1;", "cvt.sat.f32.f32 %w0, %w1;",
       "cvt.ftz.sat.f32.f32 %w0, %w1;"});
  Add(probes, Inputs::kHalves,
      {"cvt.rn.satfinite.e4m3x2.f16x2 %h0, %w1;", "cvt.rn.satfinite.e5m2x2.f16x2 %h0, %w1;",
       "cvt.rn.satfinite.relu.e4m3x2.f16x2 %h0, %w1;"});
  Add(probes, Inputs::kBytes,
      {"cvt.rn.f16x2.e4m3x2 %w0, %h1;", "cvt.rn.f16x2.e5m2x2 %w0, %h1;", "cvt.rn.relu.f16x2.e5m2x2 %w0, %h1;"});
  Add(probes, Inputs::kF16,
      {"cvt.f32.f16 %w0, %h1;", "cvt.ftz.f32.f16 %w0, %h1;", "cvt.sat.f32.f16 %w0, %h1;", "cvt.f64.f16 %d0, %h1;"});
  Add(probes, Inputs::kBf16,
      {"cvt.f32.bf16 %w0, %h1;", "cvt.rn.f16.bf16 %h0, %h1;", "cvt.f64.bf16 %d0, %h1;", "cvt.rni.bf16.bf16 %h0, %h1;",
       "cvt.rzi.s32.bf16 %w0, %h1;"});
  Add(probes, Inputs::kF16, {"cvt.rn.bf16.f16 %h0, %h1;", "cvt.rz.bf16.f16 %h0, %h1;"});
  Add(probes, Inputs::kF64, {"cvt.rn.bf16.f64 %h0, %d1;", "cvt.rz.bf16.f64 %h0, %d1;", "cvt.f64.f64 %d0, %d1;"});
  Add(probes, Inputs::kF32,
      {"cvt.rn.satfinite.f16.f32 %h0, %w1;", "cvt.rn.satfinite.bf16.f32 %h0, %w1;",
       "cvt.rz.satfinite.f16x2.f32 %w0, %w1, %w2;", "cvt.rn.satfinite.relu.bf16x2.f32 %w0, %w1, %w2;",
       "cvt.rna.satfinite.tf32.f32 %w0, %w1;"});
}

// Whether some value of integer type `from` lies outside of `to`: otherwise `.sat` is not allowed.
bool CanSaturate(const std::string& to, const std::string& from) {
  const int to_bits = std::stoi(to.substr(1)), from_bits = std::stoi(from.substr(1));
  if (to[0] == from[0]) return from_bits > to_bits;
  return from[0] == 's' || from_bits >= to_bits;
}

void AddIntegerConversions(std::vector<Probe>& probes) {
  struct To {
    const char* type;
    const char* reg;
  };
  const To targets[] = {{"s8", "w"},  {"u8", "w"},  {"s16", "h"}, {"u16", "h"},
                        {"s32", "w"}, {"u32", "w"}, {"s64", "d"}, {"u64", "d"}};
  for (const To& to : targets) {
    const std::string target = std::string(".") + to.type, reg = std::string(" %") + to.reg + "0, ";
    for (const std::string rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
      probes.push_back({"cvt" + rounding + target + ".f32" + reg + "%w1;", Inputs::kF32});
      probes.push_back({"cvt" + rounding + target + ".f64" + reg + "%d1;", Inputs::kF64});
      probes.push_back({"cvt" + rounding + target + ".f16" + reg + "%h1;", Inputs::kF16});
    }
    probes.push_back({"cvt.rpi.ftz" + target + ".f32" + reg + "%w1;", Inputs::kF32});
    for (const To& from : targets) {
      const std::string source = std::string("%") + from.reg + "1;";
      probes.push_back({"cvt" + target + "." + from.type + reg + source, Inputs::kInteger});
      if (CanSaturate(to.type, from.type)) {
        probes.push_back({"cvt.sat" + target + "." + from.type + reg + source, Inputs::kInteger});
      }
    }
    const std::string source = std::string("%") + to.reg + "1;";
    for (const std::string rounding : {".rn", ".rz", ".rm", ".rp"}) {
      probes.push_back({"cvt" + rounding + ".f32" + target + " %w0, " + source, Inputs::kInteger});
      probes.push_back({"cvt" + rounding + ".f64" + target + " %d0, " + source, Inputs::kInteger});
      probes.push_back({"cvt" + rounding + ".f16" + target + " %h0, " + source, Inputs::kInteger});
    }
    probes.push_back({"cvt.rn.sat.f32" + target + " %w0, " + source, Inputs::kInteger});
    if (isdigit(to.type[2])) probes.push_back({"cvt.rn.bf16" + target + " %h0, " + source, Inputs::kInteger});
  }
  Add(probes, Inputs::kInteger,
      {"cvt.pack.sat.s16.s32 %w0, %w1, %w2;", "cvt.pack.sat.u16.s32 %w0, %w1, %w2;",
       "cvt.pack.sat.s8.s32.b32 %w0, %w1, %w2, %w3;", "cvt.pack.sat.u8.s32.b32 %w0, %w1, %w2, %w3;"});
}

void AddIntegers(std::vector<Probe>& probes) {
  struct Type {
    const char* name;
    const char* reg;
  };
  for (const Type& type :
       {Type{"s16", "h"}, Type{"u16", "h"}, Type{"s32", "w"}, Type{"u32", "w"}, Type{"s64", "d"}, Type{"u64", "d"}}) {
    const std::string t = std::string(".") + type.name, r = std::string("%") + type.reg;
    const std::string two = t + " " + r + "0, " + r + "1, " + r + "2;",
                      three = t + " " + r + "0, " + r + "1, " + r + "2, " + r + "3;";
    for (const char* op : {"add", "sub", "mul.lo", "mul.hi"}) probes.push_back({op + two, Inputs::kInteger});
    for (const char* op : {"mad.lo", "mad.hi"}) probes.push_back({op + three, Inputs::kInteger});
    if (type.reg[0] != 'd') {
      const std::string wide = type.reg[0] == 'h' ? "%w" : "%d";
      probes.push_back({"mul.wide" + t + " " + wide + "0, " + r + "1, " + r + "2;", Inputs::kInteger});
      probes.push_back({"mad.wide" + t + " " + wide + "0, " + r + "1, " + r + "2, " + wide + "3;", Inputs::kInteger});
    }
    const std::string shift = t + " " + r + "0, " + r + "1, %w2;";
    probes.push_back({"shr" + shift, Inputs::kShift});
    probes.push_back({"shl.b" + t.substr(2) + " " + r + "0, " + r + "1, %w2;", Inputs::kShift});
    probes.push_back({"sad" + three, Inputs::kInteger});
    const std::string nonzero = "or.b" + t.substr(2) + " " + r + "2, " + r + "2, 1; ";
    for (const char* op : {"div", "rem"}) probes.push_back({nonzero + op + two, Inputs::kInteger});
    if (type.name[0] == 's') {
      for (const char* op : {"abs", "neg"}) probes.push_back({op + t + " " + r + "0, " + r + "1;", Inputs::kInteger});
    }
    if (type.reg[0] == 'h') continue;
    probes.push_back({"bfe" + t + " " + r + "0, " + r + "1, %w2, %w3;", Inputs::kShift});
    for (const char* op : {"bfind", "bfind.shiftamt"}) probes.push_back({op + t + " %w0, " + r + "1;", Inputs::kShift});
  }
  Add(probes, Inputs::kShift,
      {"bfi.b32 %w0, %w1, %w4, %w2, %w3;", "bfi.b64 %d0, %d1, %d1, %w2, %w3;", "shf.l.clamp.b32 %w0, %w1, %w4, %w2;",
       "shf.r.clamp.b32 %w0, %w1, %w4, %w2;", "shf.l.wrap.b32 %w0, %w1, %w4, %w2;",
       "shf.r.wrap.b32 %w0, %w1, %w4, %w2;", "bmsk.clamp.b32 %w0, %w2, %w3;", "bmsk.wrap.b32 %w0, %w2, %w3;",
       "szext.clamp.u32 %w0, %w1, %w2;", "szext.wrap.u32 %w0, %w1, %w2;", "szext.clamp.s32 %w0, %w1, %w2;",
       "szext.wrap.s32 %w0, %w1, %w2;", "fns.b32 %w0, %w1, %w2, 1;", "fns.b32 %w0, %w1, %w2, -2;",
       "fns.b32 %w0, %w1, %w2, 0;"});
  Add(probes, Inputs::kInteger,
      {"and.b32 %w0, %w1, %w2;",
       "or.b64 %d0, %d1, %d2;",
       "xor.b16 %h0, %h1, %h2;",
       "not.b32 %w0, %w1;",
       "cnot.b32 %w0, %w1;",
       "brev.b32 %w0, %w1;",
       "brev.b64 %d0, %d1;",
       "popc.b32 %w0, %w1;",
       "popc.b64 %w0, %d1;",
       "clz.b32 %w0, %w1;",
       "clz.b64 %w0, %d1;",
       "lop3.b32 %w0, %w1, %w2, %w3, 0x1d;",
       "lop3.b32 %w0, %w1, %w2, %w3, 0xca;",
       "lop3.or.b32 %w0|%p, %w1, %w2, %w3, 0x80, %q;",
       "lop3.and.b32 %w0|%p, %w1, %w2, %w3, 0x80, %q;",
       "prmt.b32 %w0, %w1, %w2, %w3;",
       "prmt.b32.f4e %w0, %w1, %w2, %w3;",
       "prmt.b32.b4e %w0, %w1, %w2, %w3;",
       "prmt.b32.rc8 %w0, %w1, %w2, %w3;",
       "prmt.b32.ecl %w0, %w1, %w2, %w3;",
       "prmt.b32.ecr %w0, %w1, %w2, %w3;",
       "prmt.b32.rc16 %w0, %w1, %w2, %w3;",
       "dp4a.s32.s32 %w0, %w1, %w2, %w3;",
       "dp4a.u32.s32 %w0, %w1, %w2, %w3;",
       "dp4a.u32.u32 %w0, %w1, %w2, %w3;",
       "dp2a.lo.s32.s32 %w0, %w1, %w2, %w3;",
       "dp2a.hi.s32.u32 %w0, %w1, %w2, %w3;",
       "mul24.lo.s32 %w0, %w1, %w2;",
       "mul24.hi.s32 %w0, %w1, %w2;",
       "mul24.hi.u32 %w0, %w1, %w2;",
       "mad24.lo.s32 %w0, %w1, %w2, %w3;",
       "mad24.hi.u32 %w0, %w1, %w2, %w3;",
       "mad24.hi.sat.s32 %w0, %w1, %w2, %w3;",
       "add.sat.s32 %w0, %w1, %w2;",
       "sub.sat.s32 %w0, %w1, %w2;",
       "mad.hi.sat.s32 %w0, %w1, %w2, %w3;",
       "add.u16x2 %w0, %w1, %w2;",
       "add.s16x2 %w0, %w1, %w2;",
       "add.cc.u32 %w4, %w1, %w2; addc.u32 %w0, %w2, %w3;",
       "sub.cc.u32 %w4, %w1, %w2; subc.u32 %w0, %w2, %w3;",
       "add.cc.u64 %d0, %d1, %d2; addc.u32 %w0, %w2, %w3;",
       "sub.cc.s32 %w4, %w1, %w2; subc.cc.s32 %w0, %w2, %w3;",
       "mad.lo.cc.u32 %w4, %w1, %w2, %w3; madc.hi.u32 %w0, %w1, %w2, %w3;",
       "mad.hi.cc.s32 %w4, %w1, %w2, %w3; addc.u32 %w0, 0, 0;",
       "mov.b32 {%h0, %h3}, %w1;",
       "mov.b64 {%w0, %w4}, %d1;",
       "mov.b32 %w0, {%h1, %h2};"});
}

void AddWarp(std::vector<Probe>& probes) {
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    for (const char* clamp : {"0x1f", "0", "0x1c03", "0x181f", "0x0807"}) {
      probes.push_back(
          {std::string("shfl.sync.") + mode + ".b32 %w0|%p, %w1, %w2, " + clamp + ", -1;", Inputs::kShift});
    }
  }
  Add(probes, Inputs::kShift,
      {"vote.sync.all.pred %p, %q, -1;", "vote.sync.any.pred %p, %q, -1;", "vote.sync.uni.pred %p, %q, -1;",
       "vote.sync.ballot.b32 %w0, !%q, -1;", "match.any.sync.b32 %w0, %w3, -1;", "match.all.sync.b32 %w0|%p, %w3, -1;",
       "match.any.sync.b64 %w0, %d3, -1;", "redux.sync.add.s32 %w0, %w1, -1;", "redux.sync.min.s32 %w0, %w1, -1;",
       "redux.sync.max.u32 %w0, %w1, -1;", "redux.sync.and.b32 %w0, %w1, -1;", "redux.sync.xor.b32 %w0, %w1, -1;",
       "elect.sync %w0|%p, -1;"});
}

// On the thread's own word, in global and in shared memory. Packed sums in shared memory are left out: the assembler
// (CUDA 13.0) adds the wrong register to the upper half.
void AddAtomics(std::vector<Probe>& probes) {
  const auto add = [&](const std::string& op, const std::string& type, const std::string& reg, Inputs inputs) {
    const std::string bits = reg == "d" ? "b64" : "b32", value = "%" + reg;
    for (const std::string space : {"global", "shared"}) {
      if (space == "shared" && type.find("x2") != std::string::npos) continue;
      const std::string at = space == "global" ? "[%out]" : "[%cell]";
      probes.push_back({"st." + space + "." + bits + " " + at + ", " + value + "2; atom." + space + "." + op + "." +
                            type + " " + (reg == "d" ? "%d1, " : "%w4, ") + at + ", " + value +
                            (op == "cas" ? "2, " + value + "3" : "1") + "; ld." + space + "." + bits + " " + value +
                            "0, " + at + ";",
                        inputs});
    }
  };
  add("add", "f32", "w", Inputs::kF32);
  add("add", "f64", "d", Inputs::kF64);
  add("add.noftz", "f16x2", "w", Inputs::kHalves);
  add("add.noftz", "bf16x2", "w", Inputs::kBrains);
  for (const char* op : {"add", "min", "max", "inc", "dec"}) add(op, "u32", "w", Inputs::kInteger);
  for (const char* op : {"min", "max"}) add(op, "s32", "w", Inputs::kInteger);
  for (const char* op : {"and", "or", "xor", "exch", "cas"}) add(op, "b32", "w", Inputs::kInteger);
  for (const char* op : {"add", "min", "max"}) add(op, "u64", "d", Inputs::kInteger);
  for (const char* op : {"exch", "cas", "xor"}) add(op, "b64", "d", Inputs::kInteger);
}

void AddApproximate(std::vector<Probe>& probes) {
  AddUnary(probes, Inputs::kSpecialF32, "w", "w",
           {"ex2.approx.f32", "ex2.approx.ftz.f32", "lg2.approx.f32", "lg2.approx.ftz.f32", "sin.approx.f32",
            "cos.approx.f32", "tanh.approx.f32", "rcp.approx.f32", "rcp.approx.ftz.f32", "rsqrt.approx.f32",
            "rsqrt.approx.ftz.f32", "sqrt.approx.f32", "sqrt.approx.ftz.f32"});
  Add(probes, Inputs::kSpecialF32,
      {"div.full.f32 %w0, %w1, %w2;", "div.full.ftz.f32 %w0, %w1, %w2;", "div.approx.f32 %w0, %w1, %w2;",
       "div.approx.ftz.f32 %w0, %w1, %w2;"});
}

std::vector<uint64_t> FloatEdges(int bits, int fraction) {
  const int exponent_bits = bits - 1 - fraction;
  const uint64_t one = ((uint64_t{1} << (exponent_bits - 1)) - 1) << fraction;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << fraction, sign = uint64_t{1} << (bits - 1);
  const uint64_t normal = uint64_t{1} << fraction;
  std::vector<uint64_t> edges = {0,
                                 1,
                                 2,
                                 normal / 2,
                                 normal - 1,
                                 normal,
                                 normal + 1,
                                 2 * normal,
                                 one - 1,
                                 one,
                                 one + 1,
                                 one + normal,
                                 one + normal / 2,
                                 infinity - 1,
                                 infinity,
                                 infinity + 1,
                                 infinity | normal / 2,
                                 infinity | (normal - 1),
                                 one - normal - 1,
                                 one - normal,
                                 one - (fraction + 1) * normal,
                                 one - (fraction + 1) * normal + 1};
  if (bits == 64) {
    // Where f32 and f16 begin to be subnormal, and where they overflow.
    edges.insert(edges.end(), {0x380fffffe0000000, 0x380ffffff0000000, 0x380fffffefffffff, 0x380ffffff0000001,
                               0x3f0ffc0000000000, 0x3f0ffe0000000000, 0x3f0ffdffffffffff, 0x47efffffe0000000,
                               0x47effffff0000000, 0x47efffffefffffff, 0x40effc0000000000, 0x40effe0000000000});
  }
  const size_t count = edges.size();
  for (size_t i = 0; i < count; ++i) edges.push_back(edges[i] | sign);
  return edges;
}

std::vector<uint64_t> EdgesOf(Inputs inputs) {
  switch (inputs) {
    case Inputs::kF16:
      return FloatEdges(16, 10);
    case Inputs::kBf16:
      return FloatEdges(16, 7);
    case Inputs::kF32:
      return FloatEdges(32, 23);
    case Inputs::kF64:
      return FloatEdges(64, 52);
    default:
      return {};
  }
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  uint64_t Float(int bits, int fraction) {
    const std::vector<uint64_t> edges = FloatEdges(bits, fraction);
    const uint64_t any = random_() & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
    switch (random_() % 5) {
      case 0:
        return edges[random_() % edges.size()];
      case 1:
        return any;
      default: {
        const int exponent_bits = bits - 1 - fraction;
        const uint64_t bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
        const uint64_t spread = random_() % 3 == 0 ? 2 : bias < 16 ? 7 : random_() % 2 == 0 ? 40 : bias;
        uint64_t low = any & ((uint64_t{1} << fraction) - 1);
        if (random_() % 3 == 0) low &= ~uint64_t{0} << (fraction - 3);
        return (any & uint64_t{1} << (bits - 1)) | (bias + random_() % (2 * spread) - spread) << fraction | low;
      }
    }
  }

  uint64_t Integer() {
    static constexpr uint64_t kEdges[] = {0,
                                          1,
                                          2,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fff,
                                          0x8000,
                                          0xffff,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          ~uint64_t{0}};
    const uint64_t any = random_();
    switch (any % 4) {
      case 0:
        return kEdges[random_() % std::size(kEdges)];
      case 1:
        return random_() >> (random_() % 64);
      case 2:
        return ~(random_() >> (random_() % 64));
      default:
        return random_();
    }
  }

  uint64_t Operand(Inputs inputs, int position) {
    switch (inputs) {
      case Inputs::kF16:
        return Float(16, 10);
      case Inputs::kBf16:
        return Float(16, 7);
      case Inputs::kF32:
        return Float(32, 23);
      case Inputs::kF64:
        return Float(64, 52);
      case Inputs::kHalves:
        return Float(16, 10) << 16 | Float(16, 10);
      case Inputs::kBrains:
        return Float(16, 7) << 16 | Float(16, 7);
      case Inputs::kBytes:
        return random_() & 0xffff;
      case Inputs::kInteger:
        return Integer();
      case Inputs::kShift:
        return position == 0 ? Integer() : random_() % (random_() % 4 == 0 ? 300 : 70);
      case Inputs::kSpecialF32: {
        static constexpr uint64_t kSpecials[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                                 0x7fc00000, 0xffc00001, 0x7f800001};
        return kSpecials[random_() % std::size(kSpecials)];
      }
    }
    return 0;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::vector<Probe> ScalarProbes() {
  std::vector<Probe> probes;
  AddArithmetic(probes);
  AddMinMax(probes);
  AddComparisons(probes);
  AddFloatConversions(probes);
  AddIntegerConversions(probes);
  AddIntegers(probes);
  AddWarp(probes);
  AddAtomics(probes);
  AddApproximate(probes);
  return probes;
}

const std::vector<Row>& RowsFor(Inputs inputs) {
  static std::array<std::vector<Row>, kInputsCount> cache;
  std::vector<Row>& rows = cache[static_cast<size_t>(inputs)];
  if (!rows.empty()) return rows;
  Generator generator(static_cast<uint64_t>(inputs) + 1);
  rows.resize(kScalarRows);
  for (Row& row : rows) {
    row = {generator.Operand(inputs, 0), generator.Operand(inputs, 1), generator.Operand(inputs, 2)};
  }
  // Every pair of edges meets once.
  const std::vector<uint64_t> edges = EdgesOf(inputs);
  for (size_t i = 0; i < edges.size() * edges.size(); ++i) {
    rows[i] = {edges[i % edges.size()], edges[i / edges.size()], edges[i * 7 % edges.size()]};
  }
  return rows;
}

std::string ScalarKernel(const Probe& probe) {
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry probe(.param .u64 in, .param .u64 out)
{
  .reg .b64 %d<4>, %in, %out, %offset;
  .reg .b32 %w<5>, %index, %block, %size, %flags, %flag2;
  .reg .b16 %h<4>;
  .reg .pred %p, %p2, %q;
  .reg .b32 %cell;
  .shared .align 8 .b8 cells[1024];
  mov.u32 %index, %tid.x;
  mov.u32 %cell, cells;
  mad.lo.s32 %cell, %index, 8, %cell;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.s32 %index, %block, %size, %index;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mul.wide.u32 %offset, %index, 24;
  add.s64 %in, %in, %offset;
  mul.wide.u32 %offset, %index, 24;
  add.s64 %out, %out, %offset;
  ld.global.u64 %d1, [%in];
  ld.global.u64 %d2, [%in+8];
  ld.global.u64 %d3, [%in+16];
  cvt.u32.u64 %w1, %d1;
  cvt.u32.u64 %w2, %d2;
  cvt.u32.u64 %w3, %d3;
  cvt.u16.u64 %h1, %d1;
  cvt.u16.u64 %h2, %d2;
  cvt.u16.u64 %h3, %d3;
  mov.b64 %d0, 0;
  mov.b32 %w0, 0;
  shr.u32 %w4, %w1, 3;
  xor.b32 %w4, %w4, %w2;
  mov.b16 %h0, 0;
  and.b32 %flags, %w3, 1;
  setp.ne.s32 %q, %flags, 0;
  setp.ne.s32 %p, 0, 0;
  setp.ne.s32 %p2, 0, 0;
  )" + probe.text +
         R"(
  selp.b32 %flags, 1, 0, %p;
  selp.b32 %flag2, 2, 0, %p2;
  or.b32 %flags, %flags, %flag2;
  st.global.u64 [%out], %d0;
  st.global.u32 [%out+8], %w0;
  st.global.u32 [%out+12], %w4;
  st.global.u16 [%out+16], %h0;
  st.global.u16 [%out+18], %h3;
  st.global.u32 [%out+20], %flags;
  ret;
}
)";
}

}  // namespace samebits::device_test
