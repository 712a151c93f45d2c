#include "core/isa/amdgcn/op_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace samebits::isa::amdgcn {

namespace {

constexpr OpInfo Describe(Op op, std::string_view name, Unit unit, std::string_view shape) {
  const size_t colon = shape.find(':');
  const bool none = shape[0] == '-';
  return {op, name, unit, shape, static_cast<int8_t>(none ? 0 : colon), static_cast<int8_t>(shape.size() - colon - 1)};
}

constexpr OpInfo kInfos[] = {
    Describe(Op::kUnknown, "", Unit::kNone, "-:"),
#define X(name, text, unit, shape) Describe(Op::name, text, Unit::unit, shape),
    SAMEBITS_AMDGCN_OPS(X)
#undef X
};

const std::unordered_map<std::string_view, Op>& Names() {
  static const auto* const names = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (const OpInfo& info : kInfos)
      if (info.op != Op::kUnknown) map->emplace(info.name, info.op);
    return map;
  }();
  return *names;
}

constexpr std::pair<std::string_view, Compare> kCompares[] = {
    {"f", Compare::kF}, {"lt", Compare::kLt}, {"eq", Compare::kEq}, {"le", Compare::kLe}, {"gt", Compare::kGt},
    {"lg", Compare::kLg}, {"ge", Compare::kGe}, {"o", Compare::kO}, {"u", Compare::kU}, {"nge", Compare::kNge},
    {"nlg", Compare::kNlg}, {"ngt", Compare::kNgt}, {"nle", Compare::kNle}, {"neq", Compare::kNeq},
    {"nlt", Compare::kNlt}, {"tru", Compare::kTru}, {"t", Compare::kTru}, {"ne", Compare::kNe}};

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"f16", Type::kF16}, {"f32", Type::kF32}, {"f64", Type::kF64}, {"i16", Type::kI16}, {"u16", Type::kU16},
    {"i32", Type::kI32}, {"u32", Type::kU32}, {"i64", Type::kI64}, {"u64", Type::kU64}, {"bf16", Type::kBf16},
    {"fp8", Type::kFp8}, {"bf8", Type::kBf8}, {"xf32", Type::kXf32}, {"i8", Type::kI8}};

Type TypeNamed(std::string_view text) {
  for (const auto& [name, type] : kTypes)
    if (name == text) return type;
  return Type::kNone;
}

bool Comparison(std::string_view rest, Mnemonic* out) {
  const size_t bar = rest.find('_');
  if (bar == std::string_view::npos) return false;
  out->type = TypeNamed(rest.substr(bar + 1));
  if (out->type == Type::kNone) return false;
  for (const auto& [name, compare] : kCompares)
    if (name == rest.substr(0, bar)) {
      out->compare = compare;
      return true;
    }
  return false;
}

bool IsFloatType(Type t) { return t == Type::kF16 || t == Type::kF32 || t == Type::kF64; }

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

}  // namespace

const OpInfo& InfoOf(Op op) { return kInfos[static_cast<size_t>(op)]; }

Mnemonic FindMnemonic(std::string_view name) {
  const std::string_view whole = name;
  for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa", "_e64_dpp"})
    if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
      name.remove_suffix(suffix.size());
      break;
    }
  Mnemonic m;
  std::string_view rest = name;
  if (TakePrefix(&rest, "v_cmp_") || TakePrefix(&rest, "v_cmpx_")) {
    if (Comparison(rest, &m) && (IsFloatType(m.type) || m.compare <= Compare::kGe || m.compare >= Compare::kTru))
      m.op = name[5] == 'x' ? Op::kVCmpx : Op::kVCmp;
    return m;
  }
  if (name.size() == whole.size() && (TakePrefix(&rest, "s_cmp_") || TakePrefix(&rest, "s_cmpk_"))) {
    const bool constant = name[5] == 'k';
    if (Comparison(rest, &m) && (m.type == Type::kI32 || m.type == Type::kU32 || (!constant && m.type == Type::kU64)))
      m.op = constant ? Op::kSCmpk : Op::kSCmp;
    return m;
  }
  MfmaShape shape;
  if (ParseMfma(whole, &shape)) {
    m.op = Op::kMfma;
    return m;
  }
  const auto it = Names().find(name);
  if (it != Names().end() && it->second != Op::kVCmp && it->second != Op::kVCmpx && it->second != Op::kSCmp &&
      it->second != Op::kSCmpk && it->second != Op::kMfma && it->second != Op::kBufferLoadLds1 &&
      (name.size() == whole.size() || InfoOf(it->second).unit == Unit::kVector))
    m.op = it->second;
  return m;
}

bool ParseMfma(std::string_view name, MfmaShape* out) {
  if (!TakePrefix(&name, "v_mfma_")) return false;
  const size_t bar = name.find('_');
  if (bar == std::string_view::npos) return false;
  out->result = TypeNamed(name.substr(0, bar));
  name.remove_prefix(bar + 1);
  int* const sizes[3] = {&out->m, &out->n, &out->k};
  for (int i = 0; i < 3; ++i) {
    int value = 0, digits = 0;
    while (!name.empty() && name[0] >= '0' && name[0] <= '9' && digits++ < 4) {
      value = value * 10 + name[0] - '0';
      name.remove_prefix(1);
    }
    if (value == 0) return false;
    *sizes[i] = value;
    if (name.empty()) return false;
    // gfx90a writes the types without a bar: 32x32x8f16.
    if (i < 2 && name[0] != 'x') return false;
    if (i < 2) name.remove_prefix(1);
  }
  TakePrefix(&name, "_");
  out->blocks = 0;
  for (const auto& [text, blocks] : {std::pair<std::string_view, int>{"2b_", 2}, {"4b_", 4}, {"16b_", 16}})
    if (TakePrefix(&name, text)) out->blocks = blocks;
  if (name == "bf16_1k") name = "bf16";
  const size_t second = name.find('_');
  out->a = TypeNamed(name.substr(0, second));
  out->b = second == std::string_view::npos ? out->a : TypeNamed(name.substr(second + 1));
  return out->a != Type::kNone && out->b != Type::kNone && (out->result == Type::kF32 || out->result == Type::kI32) &&
         out->m == out->n && (out->m == 4 || out->m == 16 || out->m == 32);
}

}  // namespace samebits::isa::amdgcn
