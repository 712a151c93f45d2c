// Random trees: the value of what the builder makes equals the value of the operations that were asked for, bit by bit,
// on inputs full of zeros of both signs, subnormals, infinities and NaNs with payloads.

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "core/canonical/builder.h"
#include "core/expr/evaluator.h"
#include "core/expr/operation.h"
#include "gtest/gtest.h"

namespace samebits::canonical {
namespace {

using expr::Attr;
using expr::Compare;
using expr::Fn;
using expr::Format;
using expr::Round;
using expr::Scalar;

class BytesMemory : public expr::Memory {
 public:
  bool Read(expr::BufferId buffer, int64_t offset, int bytes, uint8_t* out) const override {
    const auto it = buffers.find(buffer);
    if (it == buffers.end() || offset < 0 || offset + bytes > static_cast<int64_t>(it->second.size())) return false;
    std::memcpy(out, it->second.data() + offset, static_cast<size_t>(bytes));
    return true;
  }
  std::map<expr::BufferId, std::vector<uint8_t>> buffers;
};

// A value as asked for: its node, and its bits on the memory at hand.
struct Known {
  Scalar scalar;
  uint128 bits = 0;
  int width = 0;
  Format format = Format::kNone;  // what it was made as
};

uint64_t EdgeCase(std::mt19937_64& random, Format f) {
  const int bits = expr::FormatBits(f);
  const int exponent_bits = f == Format::kF64 ? 11 : f == Format::kF16 ? 5 : 8;
  const int fraction_bits = bits - 1 - exponent_bits;
  const uint64_t fraction_mask = (uint64_t{1} << fraction_bits) - 1;
  const uint64_t exponent_mask = (uint64_t{1} << exponent_bits) - 1;
  uint64_t exponent = 0, fraction = 0;
  switch (random() % 8) {
    case 0: break;                                                                      // zero
    case 1: fraction = random() & fraction_mask & (random() % 2 ? 3 : fraction_mask); break;  // subnormal
    case 2: exponent = exponent_mask; break;                                            // infinity
    case 3: exponent = exponent_mask; fraction = random() & fraction_mask; break;       // NaN
    case 4: exponent = exponent_mask / 2; break;                                        // one
    case 5: exponent = 1 + random() % 3; fraction = random() & fraction_mask; break;    // tiny
    case 6: exponent = exponent_mask / 2 + random() % 5 - 2; fraction = random() & fraction_mask & (random() | 7); break;
    default: exponent = random() & exponent_mask; fraction = random() & fraction_mask; break;
  }
  return (random() & 1) << (bits - 1) | exponent << fraction_bits | fraction;
}

class Trees {
 public:
  explicit Trees(uint64_t seed) : random_(seed), nodes_(1u << 20), builder_(&nodes_, {}) {
    for (int b = 0; b < 2; ++b) {
      buffers_[b] = nodes_.AddBuffer(b == 0 ? "x" : "y", {7, static_cast<uint64_t>(b)});
      memory_.buffers[buffers_[b]].resize(kBytes);
    }
    static constexpr Format kFormats[] = {Format::kF32, Format::kF16, Format::kBf16, Format::kF64};
    format_ = kFormats[random_() % 4];
    tiny_ = random_() % 4 == 0;
    if (tiny_) format_ = Format::kF32;
    for (auto& [buffer, bytes] : memory_.buffers) {
      for (size_t at = 0; at < bytes.size(); at += 8) {
        uint64_t word = 0;
        for (int i = 0; i < 64; i += expr::FormatBits(format_)) word |= Edge() << i;
        std::memcpy(&bytes[at], &word, 8);
      }
    }
  }

  // Builds `count` operations on leaves, constants and earlier values; each is checked.
  void Run(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) Step();
  }

  uint64_t checked() const { return checked_; }
  uint64_t hits(Rewrite r) const { return builder_.hits(r); }

 private:
  static constexpr size_t kBytes = 128;

  uint64_t Pick(uint64_t n) { return random_() % n; }

  uint64_t Edge() {
    return tiny_ && Pick(4) != 0 ? (Pick(2) << 31 | Pick(1u << 20) << Pick(5)) : EdgeCase(random_, format_);
  }

  Known Leaf(int width) {
    Known k;
    const int b = static_cast<int>(Pick(2));
    k.width = width;
    k.format = format_;
    k.scalar.node = nodes_.Leaf(buffers_[b]);
    k.scalar.slots = 1;
    const int64_t bytes = width / 8;
    k.scalar.anchor[0] = {static_cast<int64_t>(Pick(kBytes / static_cast<uint64_t>(bytes))) * bytes, 0, buffers_[b], 0};
    uint128 bits = 0;
    std::memcpy(&bits, &memory_.buffers[buffers_[b]][static_cast<size_t>(k.scalar.anchor[0].offset)], static_cast<size_t>(bytes));
    k.bits = bits;
    return k;
  }

  Known Const(int width) {
    Known k;
    k.width = width;
    const int exponent_bits = format_ == Format::kF64 ? 11 : format_ == Format::kF16 ? 5 : 8;
    const uint64_t one = ((uint64_t{1} << (exponent_bits - 1)) - 1) << (expr::FormatBits(format_) - 1 - exponent_bits);
    const uint64_t choices[] = {0, uint64_t{1} << (width - 1), one, ~uint64_t{0}, Edge(), random_()};
    const uint64_t value = width < 16 ? random_() : choices[Pick(6)];
    k.bits = static_cast<uint128>(value) & expr::LowBits(width);
    k.scalar.node = nodes_.Const(value, width);
    return k;
  }

  // A value of the width: mostly an earlier one.
  Known Value(int width) {
    std::vector<const Known*> fit;
    for (const Known& k : values_)
      if (k.width == width) fit.push_back(&k);
    const uint64_t choice = Pick(10);
    if (choice < 6 && !fit.empty()) return *fit[fit.size() - 1 - Pick(std::min<size_t>(fit.size(), 8))];
    if (choice < 8 || width % 8 != 0) return width % 8 == 0 && choice % 2 == 0 ? Leaf(width) : Const(width);
    return Leaf(width);
  }

  // A further operand: often the same as the one before, its negation, a zero or one.
  Known Related(const Known& before, int width) {
    const uint64_t choice = Pick(tiny_ ? 4 : 8);
    if (choice == 0 && before.width == width) return before;
    if (choice == 1 && before.width == width && width >= 16) {
      Known k = before;
      k.bits ^= uint128{1} << (width - 1);
      if (builder_.Build(Fn::kSignFlip, 0, width, &before.scalar, 1, &k.scalar)) return k;
    }
    if (choice == 2 && width >= 16) return Special(Pick(3), width);
    return Value(width);
  }

  // +0, -0 or 1.
  Known Special(uint64_t which, int width) {
    Known k;
    k.width = width;
    const int exponent_bits = format_ == Format::kF64 ? 11 : format_ == Format::kF16 ? 5 : 8;
    const uint64_t one = ((uint64_t{1} << (exponent_bits - 1)) - 1) << (expr::FormatBits(format_) - 1 - exponent_bits);
    k.bits = which == 0 ? 0 : which == 1 ? uint128{1} << (width - 1) : static_cast<uint128>(one) & expr::LowBits(width);
    k.scalar.node = nodes_.Const(static_cast<uint64_t>(k.bits), width);
    return k;
  }

  static bool IsNan(const Known& k, Format f) {
    const int bits = expr::FormatBits(f);
    const int fraction = f == Format::kF64 ? 52 : f == Format::kF32 ? 23 : f == Format::kF16 ? 10 : 7;
    const uint64_t magnitude = static_cast<uint64_t>(k.bits) & ~(uint64_t{1} << (bits - 1));
    const uint64_t infinity = ((uint64_t{1} << (bits - 1 - fraction)) - 1) << fraction;
    return magnitude > infinity;
  }

  void Step() {
    Attr attr;
    Fn fn;
    int width = expr::FormatBits(format_);
    std::vector<Known> operands;
    auto take = [&](std::initializer_list<int> widths) {
      for (const int w : widths) operands.push_back(operands.empty() ? Value(w) : Related(operands.back(), w));
    };
    const int w = width;
    switch (tiny_ && Pick(8) != 0 ? Pick(6) : Pick(20)) {  // tiny: mostly sums and products
      case 0: case 1: case 2: case 3: {  // sums and products, rounded, flushed, saturated
        fn = Pick(2) ? Fn::kFAdd : Fn::kFMul;
        Arithmetic(&attr);
        take({w, w});
        break;
      }
      case 4: case 5:
        fn = Fn::kFFma;
        Arithmetic(&attr);
        take({w, w, w});
        break;
      case 6: case 7:
        fn = Pick(2) ? Fn::kFMin : Fn::kFMax;
        attr.to = format_;
        if (Pick(3) == 0) attr.flags |= Attr::kNanFlag;
        if (format_ == Format::kF32 && Pick(3) == 0) attr.flags |= Attr::kFtz;
        take({w, w});
        break;
      case 8:
        fn = Fn::kFNeg;
        attr.to = format_;
        if (format_ == Format::kF32 && Pick(4) == 0) attr.flags |= Attr::kFtz;
        take({w});
        break;
      case 9:
        fn = Pick(2) ? Fn::kFAbs : Fn::kSignFlip;
        if (fn == Fn::kFAbs) attr.to = format_;
        take({w});
        break;
      case 10: {
        fn = Fn::kFCompare;
        attr.from = format_;
        attr.compare = static_cast<Compare>(Pick(14));
        width = 1;
        take({w, w});
        break;
      }
      case 11:
        fn = Fn::kICompare;
        attr.from = w == 16 ? Format::kB16 : w == 32 ? Format::kB32 : Format::kB64;
        attr.compare = static_cast<Compare>(Pick(6));
        if (Pick(2)) attr.flags |= Attr::kSigned;
        width = 1;
        take({w, w});
        break;
      case 12:
        fn = Fn::kNot;
        width = Pick(2) ? 1 : w;
        take({width});
        break;
      case 13:
        fn = Fn::kSelect;
        take({1, w, w});
        break;
      case 14: {
        static constexpr Fn kFns[] = {Fn::kIAdd, Fn::kIMin, Fn::kIMax, Fn::kAnd, Fn::kOr, Fn::kXor};
        fn = kFns[Pick(6)];
        if ((fn == Fn::kIMin || fn == Fn::kIMax) && Pick(2)) attr.flags |= Attr::kSigned;
        take({w, w});
        break;
      }
      case 15: {
        static constexpr Fn kFns[] = {Fn::kIMul, Fn::kIMulHi, Fn::kINeg, Fn::kIAbs, Fn::kShl, Fn::kShr, Fn::kSar};
        fn = kFns[Pick(7)];
        if (fn == Fn::kIMulHi && Pick(2)) attr.flags |= Attr::kSigned;
        if (fn == Fn::kINeg || fn == Fn::kIAbs) take({w});
        else if (fn == Fn::kIMul || fn == Fn::kIMulHi) take({w, w});
        else take({w, 32});
        if (operands.size() == 2 && fn != Fn::kIMul && fn != Fn::kIMulHi && Pick(2)) {
          const uint64_t amount = Pick(static_cast<uint64_t>(w) + 3);
          operands[1] = Known();
          operands[1].width = 32;
          operands[1].bits = amount;
          operands[1].scalar.node = nodes_.Const(amount, 32);
        }
        break;
      }
      case 16: {
        fn = Fn::kExtract;
        operands.push_back(Pick(2) && !values_.empty() ? values_[Pick(values_.size())] : Value(w));
        const int from = operands[0].width;
        width = static_cast<int>(1 + Pick(static_cast<uint64_t>(from)));
        const uint64_t offset = Pick(static_cast<uint64_t>(from - width) + 1);
        Check(fn, offset, width, operands, operands[0].bits >> offset & expr::LowBits(width));
        return;
      }
      case 17: {
        fn = Fn::kConcat;
        int low = Pick(3) == 0 ? static_cast<int>(1 + Pick(static_cast<uint64_t>(w) - 1)) : w / 2;
        take({low, w - low});
        if (!values_.empty() && Pick(2)) {  // neighbours: parts of earlier values, a slice beside the next one
          const size_t at = Pick(values_.size());
          const Known &a = values_[at], &b = values_[std::min(at + 1, values_.size() - 1)];
          if (a.width + b.width <= 64) {
            operands = {a, b};
            low = a.width;
            width = a.width + b.width;
          }
        }
        if (width == 32 && low == 16 && Pick(2)) {
          operands[0] = Known();
          operands[0].width = 16;
          operands[0].scalar.node = nodes_.Const(0, 16);
        }
        const uint64_t widths = static_cast<uint64_t>(low) | static_cast<uint64_t>(width - low) << 8;
        Check(fn, widths, width, operands, operands[0].bits | operands[1].bits << low);
        return;
      }
      case 18: {
        fn = Fn::kFConvert;
        static constexpr Format kTo[] = {Format::kF32, Format::kF16, Format::kBf16, Format::kF64};
        attr.from = format_;
        attr.to = kTo[Pick(4)];
        width = expr::FormatBits(attr.to);
        if (width < w) attr.round = Round::kRn;
        else if (attr.to == attr.from && Pick(2)) attr.round = Round::kRzi;
        else if (width == w && attr.to != attr.from) attr.round = Round::kRn;
        if (attr.round != Round::kRzi && attr.to == attr.from && Pick(2)) return;
        take({w});
        break;
      }
      default: {
        fn = Fn::kFConvert;  // back from f32, or up from 16 bits
        attr.from = Pick(2) ? Format::kF32 : Format::kBf16;
        attr.to = attr.from == Format::kF32 ? Format::kBf16 : Format::kF32;
        width = expr::FormatBits(attr.to);
        attr.round = attr.to == Format::kBf16 ? Round::kRn : Round::kNone;
        take({expr::FormatBits(attr.from)});
        break;
      }
    }
    // f64 keeps NaN payloads, and which of several it keeps is no promise: the checker names that as an assumption.
    int nans = 0;
    for (const Known& k : operands) nans += format_ == Format::kF64 && k.width == 64 && IsNan(k, Format::kF64);
    if (nans > 1) return;
    std::vector<uint128> patterns;
    for (const Known& k : operands) patterns.push_back(k.bits);
    uint128 expected;
    if (fn == Fn::kSelect) {
      expected = (patterns[0] & 1) != 0 ? patterns[1] : patterns[2];
    } else {
      const expr::Computed c = expr::Compute(fn, attr.Encode(), width, patterns);
      if (!c.known || c.inexact) return;
      expected = c.bits;
    }
    Check(fn, attr.Encode(), width, operands, expected);
  }

  void Arithmetic(Attr* attr) {
    attr->to = format_;
    attr->round = Round::kRn;
    if (Pick(4) == 0) attr->round = static_cast<Round>(static_cast<int>(Round::kRn) + static_cast<int>(Pick(4)));
    if (format_ == Format::kF32 && Pick(3) == 0) attr->flags |= Attr::kFtz;
    if (format_ == Format::kF32 && Pick(8) == 0) attr->flags |= Attr::kSat;
    if (format_ == Format::kF16 || format_ == Format::kBf16) attr->round = Round::kRn;
    if (Pick(3) == 0) attr->flags |= Attr::kContract;
  }

  void Check(Fn fn, uint64_t attr, int width, const std::vector<Known>& operands, uint128 expected) {
    std::vector<Scalar> children;
    for (const Known& k : operands) children.push_back(k.scalar);
    Known result;
    result.width = width;
    result.bits = expected;
    result.format = format_;
    if (!builder_.Build(fn, attr, width, children.data(), static_cast<int>(children.size()), &result.scalar)) return;
    expr::Evaluator evaluator(&nodes_, &memory_);
    const auto value = evaluator.Evaluate(result.scalar, width);
    ASSERT_TRUE(value.ok()) << value.status() << " " << expr::FnName(fn) << expr::AttrName(fn, attr);
    std::string text;
    for (const Known& k : operands) {
      char buffer[64];
      snprintf(buffer, sizeof buffer, " %llx(%s)", static_cast<unsigned long long>(k.bits),
               std::string(expr::FnName(nodes_[k.scalar.node].fn)).c_str());
      text += buffer;
    }
    ASSERT_TRUE(value->bits == expected) << expr::FnName(fn) << expr::AttrName(fn, attr) << " of" << text << std::hex << ": "
                                         << static_cast<uint64_t>(value->bits) << " and not " << static_cast<uint64_t>(expected)
                                         << " as " << expr::FnName(nodes_[result.scalar.node].fn);
    ++checked_;
    values_.push_back(std::move(result));
  }

  std::mt19937_64 random_;
  expr::NodeManager nodes_;
  Builder builder_;
  BytesMemory memory_;
  expr::BufferId buffers_[2];
  Format format_;
  bool tiny_;  // f32 near zero, where flushing matters
  std::vector<Known> values_;
  uint64_t checked_ = 0;
};

TEST(ExactnessTest, RandomTreesKeepTheirBits) {
  uint64_t checked = 0, hits[kRewriteCount] = {};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trees trees(seed);
    trees.Run(60);
    if (::testing::Test::HasFatalFailure()) return;
    checked += trees.checked();
    for (int r = 0; r < kRewriteCount; ++r) hits[r] += trees.hits(static_cast<Rewrite>(r));
  }
  EXPECT_GT(checked, 150'000u);
  for (int r = 0; r < kRewriteCount; ++r) {
    const auto rewrite = static_cast<Rewrite>(r);
    if (rewrite == Rewrite::kMatrixZeroStep || rewrite == Rewrite::kMatrixNoClamp) continue;  // matrix_step_test.cc
    // These need whole forms: random_tree_test.cc.
    if (rewrite == Rewrite::kMaxMinusInfinity || rewrite == Rewrite::kMaskedExp || rewrite == Rewrite::kSelectExtreme ||
        rewrite == Rewrite::kAbsBits)
      continue;
    EXPECT_GT(hits[r], 20u) << RewriteText(static_cast<Rewrite>(r));
  }
}

}  // namespace
}  // namespace samebits::canonical
