#include "core/checker/explain/node_text.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace samebits::checker {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Scalar;

namespace {

constexpr size_t kMaxInline = 72;
constexpr int kInlineOperands = 4;

std::string Text(std::string_view text) { return std::string(text); }

// Format in which an operation reads operand `index` as a number; kNone where it reads bits.
Format OperandFormat(const expr::Node& n, int index) {
  const Attr attr = Attr::Decode(n.attr);
  switch (n.fn) {
    case Fn::kFAdd: case Fn::kFMul: case Fn::kFFma: case Fn::kFDiv: case Fn::kFRcp: case Fn::kFSqrt: case Fn::kFRsqrt:
    case Fn::kFMin: case Fn::kFMax: case Fn::kFNeg: case Fn::kFAbs: case Fn::kEx2: case Fn::kLg2: case Fn::kSin:
    case Fn::kCos: case Fn::kTanh: case Fn::kFCopySign:
      return attr.to;
    case Fn::kFCompare: case Fn::kFToInt: case Fn::kFConvert:
      return attr.from == Format::kNone ? attr.to : attr.from;
    case Fn::kMatrixStep:
      return index == 0 && n.width == 32 ? Format::kF32 : Format::kNone;
    default:
      return Format::kNone;
  }
}

std::string Number(uint64_t bits, Format format) {
  switch (format) {
    case Format::kF32: return absl::StrFormat("%.9g", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case Format::kF64: return absl::StrFormat("%.17g", std::bit_cast<double>(bits));
    case Format::kBf16: return absl::StrFormat("%.4g", std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    default: return "";
  }
}

std::string MatrixText(const expr::Node& n) {
  const auto format = [&](int shift) { return Text(expr::FormatName(static_cast<Format>(n.attr >> shift & 255))); };
  return absl::StrCat("mma.", format(32), ".", format(40), " x", n.attr >> 48 & 255);
}

}  // namespace

std::string NodeText::AtomName(symexec::AtomId atom) const {
  static constexpr const char* kBlocks[] = {"ctaid.x", "ctaid.y", "ctaid.z"};
  if (atom >= 1 && atom <= 3)
    return residues_[atom - 1] == 1 ? kBlocks[atom - 1] : absl::StrCat("floor(", kBlocks[atom - 1], " / ", residues_[atom - 1], ")");
  if (atom >= symexec::kFirstDerivedAtom) return absl::StrCat("expression ", atom - symexec::kFirstDerivedAtom + 1);
  return atom < symexec::kFirstParamAtom ? absl::StrCat("symbol ", atom) : absl::StrCat("arg", atom - symexec::kFirstParamAtom);
}

std::string NodeText::Address(const expr::Anchor& anchor) const {
  std::string open;
  for (const auto& [atom, factor] : symbolic_[anchor.symbolic].terms) {
    if (open.size() > kMaxInline) break;
    absl::StrAppend(&open, factor == 1 ? "" : absl::StrCat(factor, "*"), AtomName(atom), " + ");
  }
  const std::string offset = absl::StrCat(open, anchor.offset);
  return anchor.buffer == expr::kIntBuffer ? offset : absl::StrCat(nodes_.buffer_name(anchor.buffer), "[", offset, "]");
}

std::string NodeText::Operation(const Scalar& value) const {
  const expr::Node& n = nodes_[value.node];
  switch (n.fn) {
    case Fn::kLeaf: return Address(value.anchor[0]);
    case Fn::kInt: return absl::StrCat("int ", Address(value.anchor[0]));
    case Fn::kConst: return Constant(value, nullptr, 0);
    case Fn::kUndef: return "undefined";
    case Fn::kParam: return absl::StrCat("argument ", n.attr);
    case Fn::kGather: return absl::StrCat("load at a computed address, ", n.width, " bits");
    case Fn::kExtract: return absl::StrCat("bits ", n.attr & 0xffffffff, "..", (n.attr & 0xffffffff) + n.width - 1);
    case Fn::kVector: return absl::StrCat("vector of ", n.children);
    case Fn::kMatrixStep: return MatrixText(n);
    default: break;
  }
  const expr::IsaOperation* spelled = n.fn == Fn::kIsa ? nodes_.isa(n.attr) : nullptr;
  if (spelled == nullptr) return absl::StrCat(Text(expr::FnName(n.fn)), expr::AttrName(n.fn, n.attr));
  if (!spelled->spelling.empty()) return spelled->spelling;
  return absl::StrCat(Text(expr::FnName(spelled->fn)), expr::AttrName(spelled->fn, spelled->attr));
}

std::string NodeText::Constant(const Scalar& value, const Scalar* parent, int index) const {
  const expr::Node& n = nodes_[value.node];
  const std::string number = parent == nullptr ? "" : Number(n.attr, OperandFormat(nodes_[parent->node], index));
  const std::string bits = absl::StrFormat("0x%0*x", (n.width + 3) / 4, n.attr);
  return number.empty() ? bits : absl::StrCat(number, " (", bits, ")");
}

void NodeText::AppendInline(const Scalar& value, int depth, std::string* out) const {
  const expr::Node& n = nodes_[value.node];
  absl::StrAppend(out, Operation(value));
  if (n.children == 0) return;
  if (depth == 0 || out->size() > kMaxInline) {
    absl::StrAppend(out, "(...)");
    return;
  }
  *out += '(';
  for (int i = 0; i < n.children && i < kInlineOperands; ++i) {
    if (i > 0) *out += ", ";
    AppendInline(nodes_.ChildScalar(value, i), depth - 1, out);
  }
  absl::StrAppend(out, n.children > kInlineOperands ? ", ...)" : ")");
}

std::string NodeText::Inline(const Scalar& value, int depth) const {
  std::string out;
  AppendInline(value, depth, &out);
  return out;
}

bool NodeText::IsProgression(const std::vector<Scalar>& values) const {
  const Scalar &first = values[0], &second = values[1];
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].node != first.node) return false;
    for (int s = 0; s < first.slots; ++s) {
      const int64_t step = second.anchor[s].offset - first.anchor[s].offset;
      if (values[i].anchor[s].offset - values[i - 1].anchor[s].offset != step) return false;
    }
  }
  return true;
}

std::string NodeText::Run(const std::vector<Scalar>& values) const {
  std::string out;
  if (values.size() <= 3) {
    for (const Scalar& v : values) absl::StrAppend(&out, out.empty() ? "" : ", ", Inline(v));
    return out;
  }
  return absl::StrCat(Inline(values[0]), ", ", Inline(values[1]), ", ... ", Inline(values.back()), " (", values.size(),
                      IsProgression(values) ? " terms)" : " terms, unevenly)");
}

}  // namespace samebits::checker
