#ifndef SAMEBITS_TESTS_UNIT_CORE_CANONICAL_TREE_H_
#define SAMEBITS_TESTS_UNIT_CORE_CANONICAL_TREE_H_

// Expressions as values, to be built with and without rewrites and evaluated on adversarial memory.

#include <cstring>
#include <string>
#include <vector>

#include "core/canonical/builder.h"
#include "core/expr/evaluator.h"
#include "core/softfloat/format.h"
#include "gtest/gtest.h"
#include "tests/support/generator/generator.h"

namespace samebits::canonical {

using expr::Attr;
using expr::Compare;
using expr::Fn;
using expr::Format;
using expr::Round;

struct Tree {
  Fn fn = Fn::kLeaf;
  uint64_t attr = 0;  // kLeaf: which; kConst: value
  int width = 0;      // of the result; kLeaf: of what is read
  std::vector<Tree> children;
};

inline Tree X(int index, int width) { return {Fn::kLeaf, static_cast<uint64_t>(index), width, {}}; }
inline Tree C(uint64_t value, int width) { return {Fn::kConst, value, width, {}}; }

// Floating-point operation in one format.
inline Tree F(Fn fn, Format f, std::vector<Tree> children, Round round = Round::kRn, uint64_t flags = 0) {
  Attr attr;
  attr.to = f;
  attr.round = round;
  attr.flags = flags;
  return {fn, attr.Encode(), expr::FormatBits(f), std::move(children)};
}
inline Tree Flip(Tree a) {
  const int width = a.width;
  return {Fn::kSignFlip, 0, width, {std::move(a)}};
}
inline Tree Convert(Fn fn, Format to, Format from, Tree a, Round round = Round::kNone, uint64_t flags = 0) {
  Attr attr;
  attr.to = to;
  attr.from = from;
  attr.round = round;
  attr.flags = flags;
  return {fn, attr.Encode(), expr::FormatBits(to), {std::move(a)}};
}
inline Tree Comparison(Fn fn, Compare compare, Format from, Tree a, Tree b, uint64_t flags = 0) {
  Attr attr;
  attr.from = from;
  attr.compare = compare;
  attr.flags = flags;
  return {fn, attr.Encode(), 1, {std::move(a), std::move(b)}};
}
inline Tree I(Fn fn, int width, std::vector<Tree> children, uint64_t flags = 0) {
  Attr attr;
  attr.flags = flags;
  return {fn, attr.Encode(), width, std::move(children)};
}
inline Tree Select(Tree p, Tree a, Tree b) {
  const int width = a.width;
  return {Fn::kSelect, 0, width, {std::move(p), std::move(a), std::move(b)}};
}
inline Tree Concat(std::vector<Tree> parts) {
  Tree t{Fn::kConcat, 0, 0, std::move(parts)};
  for (size_t i = 0; i < t.children.size(); ++i) {
    t.attr |= static_cast<uint64_t>(t.children[i].width) << (8 * i);
    t.width += t.children[i].width;
  }
  return t;
}
inline Tree Extract(int offset, int width, Tree a) {
  return {Fn::kExtract, static_cast<uint64_t>(offset), width, {std::move(a)}};
}

// Sixteen leaves of sixteen bytes each.
class LeafMemory : public expr::Memory {
 public:
  static constexpr int kLeaves = 16;
  bool Read(expr::BufferId, int64_t offset, int bytes, uint8_t* out) const override {
    if (offset < 0 || offset + bytes > static_cast<int64_t>(sizeof bytes_)) return false;
    std::memcpy(out, bytes_ + offset, static_cast<size_t>(bytes));
    return true;
  }
  // f64 where `wide`, else words.
  void Fill(generator::Random& random, bool wide) {
    for (size_t i = 0; i < sizeof bytes_; i += 8) {
      uint64_t word = generator::AdversarialWord(random) | static_cast<uint64_t>(generator::AdversarialWord(random))
                                                               << 32;
      if (wide) word = generator::AdversarialDouble(random);
      std::memcpy(bytes_ + i, &word, 8);
    }
    // Equal operands are a case of their own.
    if (random.OneIn(4)) std::memcpy(bytes_ + 16, bytes_, 16);
  }

 private:
  uint8_t bytes_[16 * kLeaves] = {};
};

// Two builders on one set of nodes.
class TreeTest : public ::testing::Test {
 protected:
  TreeTest() : nodes(4u << 20), on(&nodes, {}), off(&nodes, {false, false}) { buffer = nodes.AddBuffer("x", {5, 6}); }

  expr::Scalar Build(Builder& builder, const Tree& t) {
    expr::Scalar s;
    if (t.fn == Fn::kLeaf) {
      s.node = nodes.Leaf(buffer);
      s.slots = 1;
      s.anchor[0] = {static_cast<int64_t>(16 * t.attr), 0, buffer, 0};
      return s;
    }
    if (t.fn == Fn::kConst) {
      s.node = nodes.Const(t.attr, t.width);
      return s;
    }
    std::vector<expr::Scalar> children;
    for (const Tree& c : t.children) children.push_back(Build(builder, c));
    EXPECT_TRUE(builder.Build(t.fn, t.attr, t.width, children.data(), static_cast<int>(children.size()), &s));
    return s;
  }

  static bool Same(const expr::Scalar& a, const expr::Scalar& b) {
    if (a.node != b.node) return false;
    for (int i = 0; i < a.slots; ++i)
      if (a.anchor[i].offset != b.anchor[i].offset) return false;
    return true;
  }

  static bool Holds(const Tree& t, Format f) {
    const bool has_format = t.fn != Fn::kLeaf && t.fn != Fn::kConst && t.fn != Fn::kConcat && t.fn != Fn::kExtract;
    if (has_format && (Attr::Decode(t.attr).to == f || Attr::Decode(t.attr).from == f)) return true;
    for (const Tree& c : t.children)
      if (Holds(c, f)) return true;
    return false;
  }

  // Evaluates both forms `times` times; on the first difference fails and returns false. NaN results of f64 arithmetic
  // count as one: the ISA leaves their patterns open.
  bool SameBits(const Tree& t, generator::Random& random, int times) {
    const expr::Scalar rewritten = Build(on, t), plain = Build(off, t);
    const bool wide = Holds(t, Format::kF64);
    for (int i = 0; i < times; ++i) {
      LeafMemory memory;
      memory.Fill(random, wide);
      expr::Evaluator evaluator(&nodes, &memory);
      const auto a = evaluator.Evaluate(rewritten, t.width), b = evaluator.Evaluate(plain, t.width);
      if (!a.ok() || !b.ok()) {
        ADD_FAILURE() << a.status() << " " << b.status() << "\n" << Print(t);
        return false;
      }
      if (t.width >= 16 && !FactsHold(t, rewritten.node, static_cast<uint64_t>(a->bits))) return false;
      if (a->bits == b->bits) continue;
      if (wide && t.width == 64 && IsNan(static_cast<uint64_t>(a->bits)) && IsNan(static_cast<uint64_t>(b->bits)))
        continue;
      ADD_FAILURE() << Print(t) << "\n gives " << std::hex << static_cast<uint64_t>(b->bits) << ", rewritten "
                    << static_cast<uint64_t>(a->bits);
      return false;
    }
    return true;
  }

  // What the builder claims of a node's value for every input.
  bool FactsHold(const Tree& t, expr::NodeId node, uint64_t bits) {
    namespace sf = softfloat;
    const uint8_t facts = on.FactsOf(node, t.width);
    const sf::Format& own = t.width == 64 ? sf::kF64 : t.width == 32 ? sf::kF32 : sf::kF16;
    const bool is_bf16 = nodes[node].width == 16 && Attr::Decode(nodes[node].attr).to == Format::kBf16;
    const sf::Format& format = is_bf16 ? sf::kBf16 : own;
    const auto holds = [&](bool ok, const char* fact) {
      if (!ok) ADD_FAILURE() << Print(t) << "\n gives " << std::hex << bits << ", which was never to be: " << fact;
      return ok;
    };
    const auto canonical = [&](const sf::Format& f) {
      if (!sf::IsNan(f, bits)) return true;
      return f.id == sf::FormatId::kF64 ? bits == sf::QuietNan(f, bits) : bits == f.canonical_nan;
    };
    return holds(!(facts & expr::kNeverMinusZero) || bits != own.sign_mask(), "-0") &&
           holds(!(facts & expr::kNonNegative) || !sf::IsNegative(own, bits) || sf::IsNan(format, bits), "negative") &&
           holds(!(facts & expr::kCanonicalNan) || canonical(own), "another NaN") &&
           holds(!(facts & expr::kCanonicalNanBf16) || t.width != 16 || canonical(sf::kBf16), "another bf16 NaN") &&
           holds(!(facts & expr::kArithmeticFtz) || !sf::IsSubnormal(own, bits), "subnormal");
  }

  static bool IsNan(uint64_t bits) { return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000; }

  static std::string Print(const Tree& t) {
    if (t.fn == Fn::kLeaf) return "x" + std::to_string(t.attr) + ":" + std::to_string(t.width);
    char text[64];
    std::snprintf(text, sizeof text, "0x%llx:%d", static_cast<unsigned long long>(t.attr), t.width);
    if (t.fn == Fn::kConst) return text;
    std::string out(expr::FnName(t.fn));
    out +=
        t.fn == Fn::kConcat || t.fn == Fn::kExtract ? "[" + std::to_string(t.attr) + "]" : expr::AttrName(t.fn, t.attr);
    if (Attr::Decode(t.attr).flags & Attr::kSigned) out += ".signed";
    out += ":" + std::to_string(t.width) + "(";
    for (size_t i = 0; i < t.children.size(); ++i) out += (i ? ", " : "") + Print(t.children[i]);
    return out + ")";
  }

  expr::NodeManager nodes;
  Builder on, off;
  expr::BufferId buffer;
};

}  // namespace samebits::canonical

#endif  // SAMEBITS_TESTS_UNIT_CORE_CANONICAL_TREE_H_
