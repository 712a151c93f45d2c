#include <algorithm>
#include <tuple>

#include "core/checker/draws.h"

namespace samebits::checker {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Program;
using expr::ValueId;

namespace {

Format MatrixFormat(const Program::Value& v) {
  if (v.width == 64) return Format::kF64;
  if (v.width == 16) return Format::kF16;
  const Format a = static_cast<Format>(v.attr >> 32 & 255);
  return IsFloatFormat(a) || a == Format::kTf32 ? Format::kF32 : Format::kS32;
}

// Format in which a step takes its operand `i`; `result` is the format in which its own result is taken.
Format OperandFormat(const Program::Value& v, int i, Format result) {
  const Attr attr = Attr::Decode(v.attr);
  switch (v.fn) {
    case Fn::kFAdd:
    case Fn::kFMul:
    case Fn::kFFma:
    case Fn::kFDiv:
    case Fn::kFRcp:
    case Fn::kFSqrt:
    case Fn::kFRsqrt:
    case Fn::kFMin:
    case Fn::kFMax:
    case Fn::kFNeg:
    case Fn::kFAbs:
    case Fn::kFCopySign:
    case Fn::kEx2:
    case Fn::kLg2:
    case Fn::kSin:
    case Fn::kCos:
    case Fn::kTanh:
      return attr.to;
    case Fn::kFConvert:
    case Fn::kFToInt:
    case Fn::kIntToF:
    case Fn::kIConvert:
    case Fn::kFCompare:
    case Fn::kICompare:
      return attr.from;
    case Fn::kSelect:
      return i == 0 ? Format::kNone : result;
    case Fn::kSignFlip:
    case Fn::kAnd:
    case Fn::kOr:
    case Fn::kXor:
      return IsFloatFormat(result) ? result : Format::kNone;
    case Fn::kMatrixStep:
      if (i == 0) return MatrixFormat(v);
      return static_cast<Format>(v.attr >> (i <= (v.count - 1) / 2 ? 32 : 40) & 255);
    case Fn::kConcat:  // the upper half of an f32 alone
      return v.count == 2 && v.width == 32 && (v.attr & 255) == 16 && result == Format::kF32 && i == 1 ? Format::kBf16
                                                                                                       : Format::kNone;
    default:
      return Format::kNone;
  }
}

}  // namespace

Format ResultFormat(const Program& program, ValueId id) {
  for (int depth = 0; depth < 64; ++depth) {
    const Program::Value& v = program.values()[id];
    if (v.kind != Program::Kind::kStep) return Format::kNone;
    switch (v.fn) {
      case Fn::kFAdd:
      case Fn::kFMul:
      case Fn::kFFma:
      case Fn::kFDiv:
      case Fn::kFRcp:
      case Fn::kFSqrt:
      case Fn::kFRsqrt:
      case Fn::kFMin:
      case Fn::kFMax:
      case Fn::kFNeg:
      case Fn::kFAbs:
      case Fn::kFCopySign:
      case Fn::kEx2:
      case Fn::kLg2:
      case Fn::kSin:
      case Fn::kCos:
      case Fn::kTanh:
      case Fn::kFConvert:
      case Fn::kIntToF:
        return Attr::Decode(v.attr).to;
      case Fn::kMatrixStep:
        return MatrixFormat(v);
      case Fn::kSelect: {
        const ValueId arm = program.operand(v, 1);
        id = program.values()[arm].kind == Program::Kind::kStep ? arm : program.operand(v, 2);
        break;
      }
      case Fn::kSignFlip:
        id = program.operand(v, 0);
        break;
      default:
        return Format::kNone;
    }
  }
  return Format::kNone;
}

std::vector<Cell> FindCells(const Program& program, const expr::Image& image, const std::vector<ValueId>& targets) {
  const size_t count = program.values().size();
  std::vector<Format> taken(count, Format::kNone);
  std::vector<bool> near(count), address(count), in_parts(count);
  for (const ValueId t : targets) near[t] = true;
  std::vector<Cell> cells;
  const auto add = [&](const Program::Value& v, int low, int bits, Format format, ValueId id, bool is_near) {
    Cell c;
    c.buffer = v.buffer;
    c.offset = v.offset + low / 8;
    c.bytes = static_cast<uint8_t>((bits + 7) / 8);
    c.format = expr::FormatBits(format) == bits ? format : Format::kNone;
    c.near = is_near;
    c.address = address[id];
    c.position = static_cast<size_t>(image.Find(c.buffer, c.offset, c.bytes));
    cells.push_back(c);
  };
  for (size_t n = count; n-- > 0;) {
    const auto id = static_cast<ValueId>(n);
    const Program::Value& v = program.values()[id];
    if (v.kind == Program::Kind::kInput) {
      if (taken[id] != Format::kNone || !in_parts[id]) add(v, 0, v.width, taken[id], id, near[id]);
      continue;
    }
    if (v.kind != Program::Kind::kStep) continue;
    for (int i = 0; i < v.count; ++i) {
      const ValueId o = program.operand(v, i);
      near[o] = near[o] || near[id];
      address[o] = address[o] || v.fn == Fn::kGather || (address[id] && !(v.fn == Fn::kSelect && i == 0));
      const Format f = OperandFormat(v, i, taken[id]);
      if (taken[o] == Format::kNone) taken[o] = f;
      const Program::Value& operand = program.values()[o];
      if (v.fn == Fn::kExtract && operand.kind == Program::Kind::kInput && v.attr % 8 == 0 && v.width % 8 == 0) {
        in_parts[o] = true;
        add(operand, static_cast<int>(v.attr), v.width, taken[id], o, near[id]);
      }
    }
  }
  // One cell a place: the one whose format is known, near if any is.
  std::sort(cells.begin(), cells.end(), [](const Cell& x, const Cell& y) {
    return std::tuple(x.position, x.bytes, x.format == Format::kNone) <
           std::tuple(y.position, y.bytes, y.format == Format::kNone);
  });
  size_t kept = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && cells[kept - 1].position == cells[i].position && cells[kept - 1].bytes == cells[i].bytes) {
      cells[kept - 1].near = cells[kept - 1].near || cells[i].near;
      cells[kept - 1].address = cells[kept - 1].address || cells[i].address;
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
  return cells;
}

}  // namespace samebits::checker
