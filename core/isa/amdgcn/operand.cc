#include "core/isa/amdgcn/operand.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>

namespace samebits::isa::amdgcn {

namespace {

bool Digits(std::string_view text, int* out) {
  if (text.empty() || text.size() > 4) return false;
  *out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    *out = *out * 10 + c - '0';
  }
  return true;
}

bool IsName(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '$' || c == '@';
  });
}

// Decimal fractions and exponents, as a pattern of f32.
bool ParseFraction(std::string_view text, int64_t* bits) {
  if (text.empty() || text.size() > 40) return false;
  bool point = false;
  for (const char c : text) {
    if (!(std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'e' || c == '-' || c == '+')) return false;
    point |= c == '.' || c == 'e';
  }
  if (!point) return false;
  const std::string copy(text);
  char* end = nullptr;
  const float value = std::strtof(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return false;
  *bits = std::bit_cast<uint32_t>(value);
  return true;
}

// 1 register, 0 no register's spelling, -1 a register that does not exist.
int ParseRegister(std::string_view text, Operand* out) {
  static constexpr std::pair<std::string_view, std::pair<uint16_t, uint8_t>> kNamed[] = {
      {"vcc", {kVccLo, 2}}, {"vcc_lo", {kVccLo, 1}}, {"vcc_hi", {kVccHi, 1}}, {"exec", {kExecLo, 2}},
      {"exec_lo", {kExecLo, 1}}, {"exec_hi", {kExecHi, 1}}, {"m0", {kM0, 1}}, {"scc", {kScc, 1}}, {"src_scc", {kScc, 1}}};
  for (const auto& [name, place] : kNamed)
    if (name == text) {
      out->reg = place.first;
      out->count = place.second;
      return 1;
    }
  if (text.size() < 2) return 0;
  const char file = text[0];
  if (file != 's' && file != 'v' && file != 'a') return 0;
  int first = 0, last = 0;
  if (text[1] == '[') {
    if (text.back() != ']') return -1;
    const std::string_view inner = text.substr(2, text.size() - 3);
    const size_t colon = inner.find(':');
    if (!Digits(Strip(inner.substr(0, colon)), &first)) return -1;
    last = first;
    if (colon != std::string_view::npos && !Digits(Strip(inner.substr(colon + 1)), &last)) return -1;
  } else {
    if (!Digits(text.substr(1), &first)) return 0;
    last = first;
  }
  const int limit = file == 's' ? kMaxSgprs : 256;
  if (last < first || last >= limit || last - first >= 32) return -1;
  out->reg = static_cast<uint16_t>(first + (file == 's' ? 0 : file == 'v' ? kFirstVgpr : kFirstAgpr));
  out->count = static_cast<uint8_t>(last - first + 1);
  return 1;
}

bool ParseBits(std::string_view text, int most, uint8_t* out) {
  if (text.size() < 3 || text[0] != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  *out = 0;
  int i = 0;
  for (; !text.empty(); ++i) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view bit = Strip(text.substr(0, comma));
    if (i >= most || (bit != "0" && bit != "1")) return false;
    if (bit == "1") *out |= static_cast<uint8_t>(1 << i);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return i > 0;
}

bool ParseSel(std::string_view text, SdwaSel* out) {
  static constexpr std::pair<std::string_view, SdwaSel> kSels[] = {
      {"DWORD", SdwaSel::kDword}, {"BYTE_0", SdwaSel::kByte0}, {"BYTE_1", SdwaSel::kByte1}, {"BYTE_2", SdwaSel::kByte2},
      {"BYTE_3", SdwaSel::kByte3}, {"WORD_0", SdwaSel::kWord0}, {"WORD_1", SdwaSel::kWord1}};
  for (const auto& [name, sel] : kSels)
    if (name == text) {
      *out = sel;
      return true;
    }
  return false;
}

struct DppName {
  std::string_view name;
  DppKind kind;
  int low, high;
};
constexpr DppName kDppNames[] = {
    {"row_shl", DppKind::kRowShl, 1, 15}, {"row_shr", DppKind::kRowShr, 1, 15}, {"row_ror", DppKind::kRowRor, 1, 15},
    {"row_newbcast", DppKind::kRowNewBcast, 0, 15}, {"wave_shl", DppKind::kWaveShl1, 1, 1},
    {"wave_rol", DppKind::kWaveRol1, 1, 1}, {"wave_shr", DppKind::kWaveShr1, 1, 1}, {"wave_ror", DppKind::kWaveRor1, 1, 1}};

// 1 taken, 0 no DPP control, -1 malformed.
int ParseDpp(std::string_view key, std::string_view value, Instruction* out) {
  if (key == "row_mirror" || key == "row_half_mirror") {
    out->dpp = key == "row_mirror" ? DppKind::kRowMirror : DppKind::kRowHalfMirror;
    return value.empty() ? 1 : -1;
  }
  int64_t n = 0;
  if (key == "quad_perm") {
    if (value.size() != 9 || value[0] != '[' || value[8] != ']') return -1;
    out->dpp = DppKind::kQuadPerm;
    out->dpp_value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = value[static_cast<size_t>(2 * i + 1)];
      if (c < '0' || c > '3' || (i > 0 && value[static_cast<size_t>(2 * i)] != ',')) return -1;
      out->dpp_value |= static_cast<uint8_t>((c - '0') << (2 * i));
    }
    return 1;
  }
  if (key == "row_bcast") {
    if (!ParseInteger(value, &n) || (n != 15 && n != 31)) return -1;
    out->dpp = n == 15 ? DppKind::kRowBcast15 : DppKind::kRowBcast31;
    return 1;
  }
  for (const DppName& d : kDppNames) {
    if (d.name != key) continue;
    if (!ParseInteger(value, &n) || n < d.low || n > d.high) return -1;
    out->dpp = d.kind;
    out->dpp_value = static_cast<uint8_t>(n);
    return 1;
  }
  return 0;
}

// The offset that swizzle(...) of ds_swizzle_b32 stands for.
bool ParseSwizzle(std::string_view text, int32_t* offset) {
  const std::vector<std::string_view> parts = SplitOperands(text);
  if (parts.empty()) return false;
  int64_t n[4] = {0, 0, 0, 0};
  const bool bits = parts[0] == "BITMASK_PERM";
  if (parts.size() > 5) return false;
  for (size_t i = 1; i < parts.size() && !bits; ++i)
    if (!ParseInteger(parts[i], &n[i - 1]) || n[i - 1] < 0 || n[i - 1] > 32) return false;
  const bool group = (n[0] & (n[0] - 1)) == 0 && n[0] > 0;  // a power of two
  if (parts[0] == "QUAD_PERM") {
    if (parts.size() != 5 || (n[0] | n[1] | n[2] | n[3]) > 3) return false;
    *offset = static_cast<int32_t>(0x8000 | n[0] | n[1] << 2 | n[2] << 4 | n[3] << 6);
  } else if (parts[0] == "BROADCAST") {
    if (parts.size() != 3 || n[0] < 2 || !group || n[1] >= n[0]) return false;
    *offset = static_cast<int32_t>((32 - n[0]) | n[1] << 5);
  } else if (parts[0] == "SWAP") {
    if (parts.size() != 2 || !group || n[0] > 16) return false;
    *offset = static_cast<int32_t>(0x1f | n[0] << 10);
  } else if (parts[0] == "REVERSE") {
    if (parts.size() != 2 || n[0] < 2 || !group) return false;
    *offset = static_cast<int32_t>(0x1f | (n[0] - 1) << 10);
  } else if (bits && parts.size() == 2 && parts[1].size() == 7 && parts[1].front() == '"' && parts[1].back() == '"') {
    *offset = 0;
    for (int i = 0; i < 5; ++i) {  // the highest bit of the lane first
      const int bit = 16 >> i;
      switch (parts[1][static_cast<size_t>(i + 1)]) {
        case '0': break;
        case '1': *offset |= bit << 5; break;
        case 'p': *offset |= bit; break;
        case 'i': *offset |= bit | bit << 10; break;
        default: return false;
      }
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string RegisterName(uint16_t reg) {
  switch (reg) {
    case kVccLo: return "vcc_lo";
    case kVccHi: return "vcc_hi";
    case kM0: return "m0";
    case kExecLo: return "exec_lo";
    case kExecHi: return "exec_hi";
    case kScc: return "scc";
    case kMode: return "mode";
    default: break;
  }
  if (reg >= kFirstAgpr) return "a" + std::to_string(reg - kFirstAgpr);
  if (reg >= kFirstVgpr) return "v" + std::to_string(reg - kFirstVgpr);
  return "s" + std::to_string(reg);
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool ParseInteger(std::string_view text, int64_t* out) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16, text.remove_prefix(2);
  else if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) base = 2, text.remove_prefix(2);
  if (text.empty() || text.size() > 64) return false;
  uint64_t value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    if (digit >= base || value > (~uint64_t{0} - static_cast<uint64_t>(digit)) / static_cast<uint64_t>(base)) return false;
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  *out = static_cast<int64_t>(negative ? ~value + 1 : value);
  return true;
}

bool ParseOperand(std::string_view text, Operand* out) {
  *out = Operand{};
  text = Strip(text);
  if (text.empty()) return false;
  if (text == "off") {
    out->kind = OperandKind::kOff;
    return true;
  }
  // A sign before a number is the number's.
  if (ParseInteger(text, &out->imm)) {
    out->kind = OperandKind::kImmediate;
    return true;
  }
  if (ParseFraction(text, &out->imm)) {
    out->kind = OperandKind::kImmediate;
    out->is_float = true;
    return true;
  }
  auto wrapped = [&](std::string_view word) {
    if (text.size() < word.size() + 2 || text.substr(0, word.size()) != word || text[word.size()] != '(' || text.back() != ')') return false;
    text = Strip(text.substr(word.size() + 1, text.size() - word.size() - 2));
    return true;
  };
  for (int depth = 0; depth < 3; ++depth) {
    // A minus inside belongs to a number; two of them are none.
    if (depth == 0 && text.size() > 1 && text[0] == '-' && text[1] != '-') {
      out->neg = !out->neg;
      text = Strip(text.substr(1));
    } else if (text.size() > 2 && text[0] == '|' && text.back() == '|') {
      out->abs = true;
      text = Strip(text.substr(1, text.size() - 2));
    } else if (wrapped("neg")) {
      out->neg = !out->neg;
    } else if (wrapped("abs")) {
      out->abs = true;
    } else if (wrapped("sext")) {
      out->sext = true;
    } else {
      break;
    }
  }
  if (ParseInteger(text, &out->imm)) {
    out->kind = OperandKind::kImmediate;
    return true;
  }
  if (ParseFraction(text, &out->imm)) {
    out->kind = OperandKind::kImmediate;
    out->is_float = true;
    return true;
  }
  const int found = ParseRegister(text, out);
  if (found < 0) return false;
  if (found > 0) {
    out->kind = OperandKind::kRegister;
    return true;
  }
  if (IsName(text)) {
    out->kind = OperandKind::kLabel;
    out->imm = -1;
    return true;
  }
  out->kind = OperandKind::kOther;
  return true;
}

std::vector<std::string_view> SplitOperands(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(Strip(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!Strip(text).empty()) parts.push_back(Strip(text.substr(start)));
  return parts;
}

bool ParseModifier(std::string_view word, Instruction* out) {
  const size_t colon = word.find(':');
  const std::string_view key = word.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
  int64_t n = 0;
  auto number = [&](int64_t low, int64_t high) { return ParseInteger(value, &n) && n >= low && n <= high; };
  if (const int dpp = ParseDpp(key, value, out); dpp != 0) return dpp > 0;
  if (colon == std::string_view::npos) {
    if (key == "offen") out->offen = true;
    else if (key == "idxen") out->idxen = true;
    else if (key == "lds") out->lds = true;
    else if (key == "clamp") out->clamp = true;
    // Cache policy: decides where data is kept, not what a launch without data races reads.
    else if (key == "glc" || key == "slc" || key == "sc0" || key == "sc1" || key == "nt") return true;
    else out->has_unknown_modifier = true;
    return true;
  }
  if (key == "offset") {
    if (value.substr(0, 8) == "swizzle(" && value.back() == ')') return ParseSwizzle(value.substr(8, value.size() - 9), &out->offset);
    if (!number(-(int64_t{1} << 24), int64_t{1} << 24)) return false;
    out->offset = static_cast<int32_t>(n);
  } else if (key == "offset0" || key == "offset1") {
    if (!number(0, 255)) return false;
    (key == "offset0" ? out->offset0 : out->offset1) = static_cast<int32_t>(n);
  } else if (key == "row_mask" || key == "bank_mask") {
    if (!number(0, 15)) return false;
    (key == "row_mask" ? out->row_mask : out->bank_mask) = static_cast<uint8_t>(n);
  } else if (key == "bound_ctrl") {
    if (!number(0, 1)) return false;  // both spellings set the bit
    out->bound_ctrl = true;
  } else if (key == "op_sel") {
    if (!ParseBits(value, 4, &out->op_sel)) return false;
    out->has_op_sel = true;
  } else if (key == "op_sel_hi") {
    if (!ParseBits(value, 3, &out->op_sel_hi)) return false;
    out->has_op_sel_hi = true;
  } else if (key == "neg_lo") {
    return ParseBits(value, 3, &out->neg_lo);
  } else if (key == "neg_hi") {
    return ParseBits(value, 3, &out->neg_hi);
  } else if (key == "mul") {
    if (!number(2, 4) || n == 3) return false;
    out->omod = n == 2 ? 1 : 2;
  } else if (key == "div") {
    if (!number(2, 2)) return false;
    out->omod = 3;
  } else if (key == "dst_sel") {
    out->sdwa = true;
    return ParseSel(value, &out->dst_sel);
  } else if (key == "src0_sel" || key == "src1_sel") {
    out->sdwa = true;
    return ParseSel(value, &out->src_sel[key == "src1_sel" ? 1 : 0]);
  } else if (key == "dst_unused") {
    out->sdwa = true;
    if (value == "UNUSED_PAD") out->dst_unused = SdwaUnused::kPad;
    else if (value == "UNUSED_SEXT") out->dst_unused = SdwaUnused::kSext;
    else if (value == "UNUSED_PRESERVE") out->dst_unused = SdwaUnused::kPreserve;
    else return false;
  } else if (key == "cbsz" || key == "abid" || key == "blgp") {
    if (!number(0, 15)) return false;
    (key == "cbsz" ? out->cbsz : key == "abid" ? out->abid : out->blgp) = static_cast<uint8_t>(n);
  } else {
    out->has_unknown_modifier = true;
  }
  return true;
}

bool ParseWaitcnt(std::string_view text, Instruction* out) {
  text = Strip(text);
  int64_t whole = 0;
  if (ParseInteger(text, &whole)) {
    if (whole < 0 || whole > 0xffff) return false;
    out->vmcnt = static_cast<uint8_t>((whole & 15) | (whole >> 14 & 3) << 4);
    out->expcnt = static_cast<uint8_t>(whole >> 4 & 7);
    out->lgkmcnt = static_cast<uint8_t>(whole >> 8 & 15);
    if (out->vmcnt == 63) out->vmcnt = 255;
    if (out->expcnt == 7) out->expcnt = 255;
    if (out->lgkmcnt == 15) out->lgkmcnt = 255;
    return true;
  }
  for (int counters = 0; !text.empty(); ++counters) {
    const size_t open = text.find('('), close = text.find(')');
    if (counters > 3 || open == std::string_view::npos || close == std::string_view::npos || close < open) return false;
    const std::string_view name = Strip(text.substr(0, open));
    int64_t n = 0;
    if (!ParseInteger(Strip(text.substr(open + 1, close - open - 1)), &n) || n < 0 || n > 63) return false;
    const uint8_t value = static_cast<uint8_t>(n);
    if (name == "vmcnt") out->vmcnt = value;
    else if (name == "lgkmcnt") out->lgkmcnt = value;
    else if (name == "expcnt") out->expcnt = value;
    else return false;
    text = Strip(text.substr(close + 1));
    while (!text.empty() && (text[0] == '&' || text[0] == ',')) text = Strip(text.substr(1));
  }
  return true;
}

}  // namespace samebits::isa::amdgcn
