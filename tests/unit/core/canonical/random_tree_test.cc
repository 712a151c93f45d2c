// Random expressions that provoke the rewrites: with and without them the bits must be equal.

#include <cstdlib>
#include <iostream>

#include "core/canonical/rewrite.h"
#include "tests/unit/core/canonical/tree.h"

namespace samebits::canonical {
namespace {

class Grower {
 public:
  explicit Grower(generator::Random& random) : random_(random) {}

  Tree Any(int depth) {
    static constexpr Format kFormats[] = {Format::kF32, Format::kF32, Format::kF16, Format::kBf16, Format::kF64};
    if (random_.OneIn(8)) return random_.OneIn(2) ? Softmax() : Extremes(depth);
    switch (random_.Below(6)) {
      case 0: return Integer(Pick({16, 32, 64}), depth);
      case 1: return Predicate(depth);
      case 2: return Bits(32, depth);
      default: return Float(random_.Pick(kFormats), depth);
    }
  }

 private:
  int Pick(std::initializer_list<int> list) { return list.begin()[random_.Below(static_cast<uint32_t>(list.size()))]; }

  Tree Leaf(int width) { return X(static_cast<int>(random_.Below(3)), width); }

  Tree Constant(Format f) {
    const int width = expr::FormatBits(f);
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t one = f == Format::kF32   ? 0x3f800000
                         : f == Format::kF64 ? 0x3ff0000000000000
                         : f == Format::kF16 ? 0x3c00
                                             : 0x3f80;
    switch (random_.Below(7)) {
      case 0:
      case 1: return C(0, width);
      case 2: return C(sign, width);
      case 3: return C(one, width);
      case 4: return C(one | sign, width);
      default:
        return C(f == Format::kF64 ? generator::AdversarialDouble(random_) : generator::AdversarialWord(random_),
                 width);
    }
  }

  uint64_t Flags(Format f) {
    if (f == Format::kBf16) return random_.OneIn(8) ? Attr::kRelu : 0;
    if (f == Format::kF64) return 0;
    uint64_t flags = random_.OneIn(3) ? Attr::kFtz : 0;
    if (random_.OneIn(10)) flags |= Attr::kSat;
    if (random_.OneIn(5)) flags |= Attr::kContract;
    return flags;
  }
  Round Rounding(Format f) {
    if (f == Format::kF16 || f == Format::kBf16 || !random_.OneIn(4)) return Round::kRn;
    static constexpr Round kRounds[] = {Round::kRz, Round::kRm, Round::kRp};
    return random_.Pick(kRounds);
  }

  Tree Float(Format f, int depth) {
    const int width = expr::FormatBits(f);
    if (depth == 0) return random_.OneIn(3) ? Constant(f) : Leaf(width);
    const auto sub = [&] {
      return Float(f, depth - 1 - static_cast<int>(random_.Below(static_cast<uint32_t>(depth))));
    };
    const uint64_t ftz = f == Format::kF32 || f == Format::kF16 ? (random_.OneIn(3) ? Attr::kFtz : 0) : 0;
    switch (random_.Below(17)) {
      case 0:
      case 1:
      case 2: return F(Fn::kFAdd, f, {sub(), sub()}, Rounding(f), Flags(f));
      case 3:
      case 4: return F(Fn::kFMul, f, {sub(), sub()}, Rounding(f), Flags(f));
      case 5: {
        const Tree a = sub();
        return F(Fn::kFMul, f, {a, a}, Rounding(f), Flags(f) & ~Attr::kSat);
      }
      case 6:
      case 7: return F(Fn::kFFma, f, {sub(), sub(), sub()}, Rounding(f), Flags(f) & ~Attr::kContract);
      case 8: {
        const Tree a = sub();
        return F(Fn::kFFma, f, {a, random_.OneIn(3) ? Flip(a) : a, random_.OneIn(2) ? C(0, width) : sub()}, Rounding(f),
                 Flags(f) & ~Attr::kContract);
      }
      case 9: {
        const Tree a = sub();
        return F(random_.OneIn(2) ? Fn::kFMin : Fn::kFMax, f, {a, random_.OneIn(3) ? a : sub()}, Round::kNone,
                 ftz | (random_.OneIn(2) ? Attr::kNanFlag : 0));
      }
      case 10: return F(random_.OneIn(2) ? Fn::kFNeg : Fn::kFAbs, f, {sub()}, Round::kNone, ftz);
      case 11:
      case 12: return Flip(sub());
      case 13: {
        const Tree a = sub();
        return Select(Predicate(depth - 1), a, random_.OneIn(3) ? a : sub());
      }
      case 14: return ConvertTo(f, depth);
      case 15:
        return F(random_.OneIn(2) ? Fn::kFDiv : Fn::kFMul, f, {sub(), sub()}, Rounding(f), f == Format::kF32 ? ftz : 0);
      default:
        if (random_.OneIn(3)) return Concat({Extract(0, width - 1, sub()), C(random_.OneIn(4) ? 1 : 0, 1)});
        if (f == Format::kF32)
          return Concat({random_.OneIn(3) ? Integer(16, depth - 1) : C(0, 16), Float(Format::kBf16, depth - 1)});
        return sub();
    }
  }

  // A maximum of some leaves and -inf, and a sum of terms over it: of its own elements, of others, masked ones.
  Tree Softmax() {
    const Tree infinity = C(0xff800000, 32);
    const uint64_t ftz = random_.OneIn(4) ? Attr::kFtz : 0, nan = random_.OneIn(3) ? Attr::kNanFlag : 0;
    const auto element = [&] { return random_.OneIn(3) ? infinity : Leaf(32); };
    Tree max = element();
    for (int i = 0; i < 4; ++i) {
      const Tree next = element();
      max = random_.OneIn(2) ? F(Fn::kFMax, Format::kF32, {max, next}, Round::kNone, nan | ftz)
                             : F(Fn::kFMax, Format::kF32, {next, max}, Round::kNone, nan | ftz);
    }
    if (random_.OneIn(4)) max = Larger(Larger(Leaf(32), element()), Leaf(32));
    const auto term = [&] {
      const Tree difference = F(Fn::kFAdd, Format::kF32, {random_.OneIn(8) ? Constant(Format::kF32) : element(), Flip(max)}, Round::kRn, ftz);
      Tree scaled = F(Fn::kFMul, Format::kF32, {C(random_.OneIn(8) ? 0xbfb8aa3b : 0x3fb8aa3b, 32), difference}, Round::kRn, ftz);
      if (random_.OneIn(3)) scaled = F(Fn::kFFma, Format::kF32, {difference, C(0x3fb8aa3b, 32), Constant(Format::kF32)}, Round::kRn, ftz);
      return F(Fn::kEx2, Format::kF32, {scaled}, Round::kNone, Attr::kApprox | ftz);
    };
    Tree sum = term();
    for (int i = 0; i < 4; ++i) sum = F(Fn::kFAdd, Format::kF32, {sum, random_.OneIn(10) ? Leaf(32) : term()}, Round::kRn, ftz);
    return sum;
  }

  Tree Larger(Tree a, Tree b) {
    Tree order = Comparison(Fn::kFCompare, Compare::kLt, Format::kF32, b, a);
    Tree isnan = Comparison(Fn::kFCompare, Compare::kNan, Format::kF32, a, a);
    if (random_.OneIn(8)) order = Comparison(Fn::kFCompare, Compare::kLe, Format::kF32, b, a);
    if (random_.OneIn(8)) isnan = Comparison(Fn::kFCompare, Compare::kNan, Format::kF32, b, b);
    if (random_.OneIn(4)) order = Comparison(Fn::kFCompare, Compare::kLt, Format::kF32, a, b);
    if (random_.OneIn(2)) std::swap(order, isnan);
    return Select(order, a, Select(isnan, a, b));
  }

  // Selects that choose the larger or smaller of two, where zeros and NaNs may or may not show.
  Tree Extremes(int depth) {
    const auto leaf = [&] { return random_.OneIn(4) ? Constant(Format::kF32) : Leaf(32); };
    Tree chosen = Larger(leaf(), leaf());
    for (int i = 0; i < depth; ++i) chosen = random_.OneIn(2) ? Larger(chosen, leaf()) : Larger(leaf(), chosen);
    const uint64_t ftz = random_.OneIn(4) ? Attr::kFtz : 0;
    if (random_.OneIn(3)) chosen = F(Fn::kFAdd, Format::kF32, {leaf(), Flip(chosen)}, Rounding(Format::kF32), ftz);
    if (random_.OneIn(4)) chosen = F(Fn::kFMul, Format::kF32, {leaf(), chosen}, Rounding(Format::kF32), ftz);
    if (random_.OneIn(4)) chosen = F(Fn::kFAbs, Format::kF32, {chosen}, Round::kNone);
    switch (random_.Below(5)) {
      case 0: return F(Fn::kEx2, Format::kF32, {chosen}, Round::kNone, Attr::kApprox | ftz);
      case 1: return F(Fn::kFFma, Format::kF32, {chosen, leaf(), leaf()}, Rounding(Format::kF32), ftz);
      case 2: return F(Fn::kFAdd, Format::kF32, {F(Fn::kFAbs, Format::kF32, {leaf()}, Round::kNone), chosen}, Rounding(Format::kF32), ftz);
      case 3: return Select(Comparison(Fn::kFCompare, Compare::kLt, Format::kF32, chosen, leaf()), leaf(), leaf());
      default: return chosen;
    }
  }

  Tree ConvertTo(Format f, int depth) {
    const uint64_t ftz = random_.OneIn(3) ? Attr::kFtz : 0;
    switch (f) {
      case Format::kF32:
        switch (random_.Below(5)) {
          case 0: return Convert(Fn::kFConvert, f, Format::kF16, Float(Format::kF16, depth - 1), Round::kNone, ftz);
          case 1: return Convert(Fn::kFConvert, f, Format::kBf16, Float(Format::kBf16, depth - 1), Round::kNone, ftz);
          case 2: return Convert(Fn::kFConvert, f, f, Float(f, depth - 1), Round::kRmi, ftz);
          case 3: return Convert(Fn::kFConvert, Format::kTf32, f, Float(f, depth - 1), Round::kRna);
          default: return Convert(Fn::kIntToF, f, Format::kS32, Integer(32, depth - 1), Rounding(f));
        }
      case Format::kF64: return Convert(Fn::kIntToF, f, Format::kS64, Integer(64, depth - 1), Rounding(f));
      default:
        return Convert(Fn::kFConvert, f, Format::kF32, Float(Format::kF32, depth - 1),
                       random_.OneIn(2) ? Round::kRn : Round::kRz,
                       random_.OneIn(6)    ? Attr::kRelu
                       : f == Format::kF16 ? ftz
                                           : 0);
    }
  }

  Tree Integer(int width, int depth) {
    if (depth == 0) {
      if (!random_.OneIn(3)) return Leaf(width);
      static constexpr uint64_t kSpecial[] = {0, 0, 1, ~uint64_t{0}, 0x80, 0x8000, 0x80000000, 0xffff, 7};
      return C(random_.Pick(kSpecial) & static_cast<uint64_t>((uint128{1} << width) - 1), width);
    }
    const auto sub = [&] { return Integer(width, depth - 1); };
    static constexpr Fn kFns[] = {Fn::kIAdd, Fn::kIAdd, Fn::kAnd,  Fn::kOr,    Fn::kXor,
                                  Fn::kIMin, Fn::kIMax, Fn::kIMul, Fn::kIMulHi};
    switch (random_.Below(8)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const Fn fn = random_.Pick(kFns);
        const Tree a = sub();
        const bool has_sign = fn == Fn::kIMin || fn == Fn::kIMax || fn == Fn::kIMulHi;
        return I(fn, width, {a, random_.OneIn(5) ? a : sub()}, has_sign && random_.OneIn(2) ? Attr::kSigned : 0);
      }
      case 4: {
        static constexpr Fn kShifts[] = {Fn::kShl, Fn::kShr, Fn::kSar};
        return I(random_.Pick(kShifts), width,
                 {sub(), random_.OneIn(2) ? C(random_.Below(4) * 9, 32) : Integer(32, 0)});
      }
      case 5: return I(random_.OneIn(2) ? Fn::kNot : Fn::kINeg, width, {sub()});
      case 6: return Select(Predicate(depth - 1), sub(), sub());
      default: return Bits(width, depth);
    }
  }

  // Cuts and joins.
  Tree Bits(int width, int depth) {
    if (depth == 0 || width < 16)
      return width % 8 == 0 ? Leaf(width) : Extract(static_cast<int>(random_.Below(9)), width, Leaf(32));
    switch (random_.Below(4)) {
      case 0:
        return Extract(static_cast<int>(random_.Below(static_cast<uint32_t>(64 - width + 1))), width,
                       Bits(64, depth - 1));
      case 1: {
        const int low = random_.OneIn(4) ? 4 : width / 2;
        const Tree whole = Bits(width, depth - 1);
        return Concat({Extract(0, low, whole),
                       random_.OneIn(3) ? Extract(low, width - low, whole) : Bits(width - low, depth - 1)});
      }
      case 2: return width == 64 ? Bits(width, depth - 1) : Flip(Bits(width, depth - 1));
      default:
        return width == 32   ? Float(Format::kF32, depth - 1)
               : width == 16 ? Float(Format::kF16, depth - 1)
                             : Integer(width, depth - 1);
    }
  }

  Tree Predicate(int depth) {
    if (depth <= 0) return Comparison(Fn::kICompare, Compare::kLt, Format::kB32, Leaf(32), Leaf(32), Attr::kSigned);
    static constexpr Compare kAll[] = {Compare::kEq,  Compare::kNe,  Compare::kLt,  Compare::kLe,  Compare::kGt,
                                       Compare::kGe,  Compare::kEqu, Compare::kNeu, Compare::kLtu, Compare::kLeu,
                                       Compare::kGtu, Compare::kGeu, Compare::kNum, Compare::kNan};
    static constexpr Format kFormats[] = {Format::kF32, Format::kF32, Format::kF16, Format::kBf16};
    switch (random_.Below(5)) {
      case 0:
      case 1: {
        const Format f = random_.Pick(kFormats);
        return Comparison(Fn::kFCompare, random_.Pick(kAll), f, Float(f, depth - 1), Float(f, depth - 1),
                          f == Format::kF32 && random_.OneIn(3) ? Attr::kFtz : 0);
      }
      case 2: {
        const Compare c = kAll[random_.Below(6)];
        const bool is_signed = c != Compare::kEq && c != Compare::kNe && random_.OneIn(2);
        return Comparison(Fn::kICompare, c, Format::kB32, Integer(32, depth - 1), Integer(32, depth - 1),
                          is_signed ? Attr::kSigned : 0);
      }
      case 3: return I(Fn::kNot, 1, {Predicate(depth - 1)});
      default: {
        static constexpr Fn kFns[] = {Fn::kAnd, Fn::kOr, Fn::kXor};
        return I(random_.Pick(kFns), 1, {Predicate(depth - 1), Predicate(depth - 1)});
      }
    }
  }

  generator::Random& random_;
};

class RandomTreeTest : public TreeTest {};

// SAMEBITS_RANDOM_SEED picks other expressions.
TEST_F(RandomTreeTest, RewritesAreExactInBits) {
  constexpr uint64_t kTrees = 30'000;
  constexpr int kMemories = 12;
  const char* chosen = std::getenv("SAMEBITS_RANDOM_SEED");
  const uint64_t seed = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10);
  SCOPED_TRACE("seed " + std::to_string(seed));
  generator::Random random(seed);
  Grower grower(random);
  int failures = 0;
  for (uint64_t i = 0; i < kTrees && failures < 5; ++i)
    failures += !SameBits(grower.Any(1 + static_cast<int>(random.Below(4))), random, kMemories);
  for (int i = 0; i < kRewriteCount; ++i) {
    const auto rewrite = static_cast<Rewrite>(i);
    if (rewrite == Rewrite::kMatrixZeroStep || rewrite == Rewrite::kMatrixNoClamp) continue;  // matrix_step_test.cc
    std::cout << on.hits(rewrite) << " " << RewriteText(rewrite) << "\n";
    EXPECT_GE(on.hits(rewrite), 10u) << RewriteText(rewrite);
  }
}

}  // namespace
}  // namespace samebits::canonical
