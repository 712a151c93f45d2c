// Random hidden descriptors for the simulated library.

#include <algorithm>
#include <cmath>

#include "core/gemm/simulated_library.h"

namespace samebits::gemm {
namespace {

class Drawer {
 public:
  Drawer(std::mt19937_64& random, bool defects) : random_(random), defects_(defects) {}

  HiddenGemm Draw() {
    for (;;) {
      hidden_ = {};
      Types();
      Shape();
      Structure();
      hidden_.problem.a_type = d().a_type, hidden_.problem.b_type = d().b_type;
      hidden_.problem.accumulate_type = d().accumulate_type, hidden_.problem.output_type = d().output_type;
      if (Compile(d(), hidden_.summed_k, hidden_.sm).ok()) return hidden_;
    }
  }

 private:
  GemmDesc& d() { return hidden_.desc; }
  int64_t Uniform(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return *(values.begin() + Uniform(0, static_cast<int64_t>(values.size()) - 1));
  }
  int64_t LogUniform(double low, double high) {
    return std::llround(std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random_)));
  }

  void Types() {
    hidden_.sm = Pick({70, 80, 89, 90, 90, 90, 100});
    if (Chance(0.35)) return ScalarTypes();
    MatrixTypes();
  }

  void ScalarTypes() {
    d().instruction = Instruction::kFma;
    d().instruction_k = 1;
    const FormatId in = Pick({FormatId::kF16, FormatId::kBf16, FormatId::kF32, FormatId::kF64});
    d().a_type = d().b_type = in;
    const FormatId wide = in == FormatId::kF64 ? FormatId::kF64 : FormatId::kF32;
    d().accumulate_type = wide;
    d().output_type = in == FormatId::kF16 || in == FormatId::kBf16 ? Pick({in, in, wide}) : wide;
    if (in == FormatId::kF32 && Chance(0.3)) d().instruction = Instruction::kMulAdd;
  }

  void MatrixTypes() {
    FormatId in = FormatId::kF16;
    if (hidden_.sm >= 80) in = Pick({FormatId::kF16, FormatId::kF16, FormatId::kBf16, FormatId::kBf16, FormatId::kTf32});
    const bool fp8 = (hidden_.sm == 89 || hidden_.sm == 90) && Chance(0.3);
    if (fp8) in = Pick({FormatId::kE4m3, FormatId::kE4m3, FormatId::kE5m2});
    d().a_type = d().b_type = in;
    if (in == FormatId::kE4m3 && Chance(0.2)) d().b_type = FormatId::kE5m2;
    d().accumulate_type = FormatId::kF32;
    d().output_type = in == FormatId::kTf32 ? FormatId::kF32 : fp8 ? Pick({FormatId::kBf16, FormatId::kF16, FormatId::kF32}) : Pick({in, in, FormatId::kF32});
    d().instruction = hidden_.sm == 90 && (fp8 || Chance(0.6)) ? Instruction::kWgmma
                      : hidden_.sm == 100 && Chance(0.5)        ? Instruction::kTcgen05
                                                                : Instruction::kMma;
    d().instruction_k = fp8 ? 32 : in == FormatId::kTf32 ? 8 : hidden_.sm == 70 ? 4 : 16;
    if (d().instruction == Instruction::kMma && hidden_.sm >= 80 && !fp8 && Chance(0.2)) d().instruction_k /= 2;
    if (in == FormatId::kF16 && Chance(0.1)) d().accumulate_type = d().output_type = FormatId::kF16;
  }

  void Shape() {
    GemmProblem& p = hidden_.problem;
    p.k = Chance(0.08) ? LogUniform(8192, 20000) : Chance(0.1) ? Uniform(1, 40) : LogUniform(16, 8192);
    if (Chance(0.5)) p.k = (p.k + 7) / 8 * 8;
    p.m = LogUniform(1, 512), p.n = LogUniform(1, 512);
    if (Chance(0.08)) p.m = 1;
    if (Chance(0.08)) p.n = 1;
    hidden_.summed_k = p.k;
    if (defects_ && p.k > 512 && Chance(0.125)) hidden_.summed_k = p.k - 1 - Uniform(0, 126);
  }

  // A cut of `length` elements into at least two parts; false where it is too short.
  bool AddCut(int64_t length, CutLayout layout, int64_t most, int64_t granule) {
    if (length < 2) return false;
    KCut cut{layout};
    cut.count = Uniform(2, std::max<int64_t>(2, std::min(most, length)));
    if (layout == CutLayout::kContiguous) {
      cut.span = (length + cut.count - 1) / cut.count;
      cut.span = (cut.span + granule - 1) / granule * granule;
      cut.count = (length + cut.span - 1) / cut.span;
    } else {
      cut.span = granule;
    }
    if (cut.span >= length || cut.count < 2) return false;
    if (cut.count > 2 && layout != CutLayout::kBalanced && Chance(0.15)) cut.order = MergeOrder::kDescending;
    d().k_cuts.push_back(cut);
    return true;
  }

  static int64_t Longest(const KCut& cut, int64_t length) {
    if (cut.layout == CutLayout::kContiguous) return std::min(cut.span, length);
    const int64_t tiles = (length + cut.span - 1) / cut.span;
    return std::min(length, (tiles + cut.count - 1) / cut.count * cut.span);
  }
  int64_t Longest() const {
    int64_t length = hidden_.summed_k;
    for (const KCut& cut : hidden_.desc.k_cuts) length = Longest(cut, length);
    return length;
  }

  void Structure() {
    d().partial_type = d().merge_type = d().accumulate_type;
    if (IsScalar(d().instruction)) {
      ScalarStructure();
    } else {
      MatrixStructure();
    }
    if (d().k_cuts.empty()) d().family = Family::kPlain;
    if (d().family == Family::kSplitK) {
      d().partial_type = Pick({d().accumulate_type, d().output_type});
      d().merge_type = Pick({d().accumulate_type, d().output_type});
    }
  }

  void MatrixStructure() {
    const int64_t k = d().instruction_k;
    if (Chance(0.5)) {
      d().family = Family::kSplitK;
      AddCut(Longest(), Chance(0.2) ? CutLayout::kBalanced : CutLayout::kContiguous, 16, k * Pick({1, 2, 4, 8}));
      if (Chance(0.25)) AddCut(Longest(), CutLayout::kContiguous, 8, k * Pick({1, 2, 4}));
    }
    if (FormatOf(d().a_type).bits == 8 && Chance(0.6)) {
      d().use_fast_accum = false;
      d().promotion_interval = Pick({128, 128, 64, 256, 0});
    } else if (d().instruction == Instruction::kMma && Chance(0.5)) {
      d().short_turn = ShortTurn::kFirst;
    }
    d().k_loop_step = k * Pick({1, 2, 4, 8});
  }

  void ScalarStructure() {
    const double kind = std::uniform_real_distribution<double>(0, 1)(random_);
    if (kind < 0.15) return;
    if (kind < 0.35) {
      d().family = Family::kSplitK;
      AddCut(Longest(), CutLayout::kContiguous, 16, Pick({1, 4, 8, 32}));
      return;
    }
    if (kind < 0.6) {
      d().family = Family::kChained;
      AddCut(Longest(), CutLayout::kContiguous, 16, Pick({1, 4, 16, 64}));
      if (Chance(0.7)) AddCut(Longest(), CutLayout::kContiguous, 8, Pick({1, 2, 4, 8}));
      return;
    }
    d().family = Family::kGemv;
    if (Chance(0.3)) AddCut(Longest(), CutLayout::kContiguous, 8, Pick({32, 64, 128}));
    if (Chance(0.25)) AddCut(Longest(), CutLayout::kStrided, 16, Pick({1, 2, 4, 8, 16}));
    if (!d().k_cuts.empty() && d().k_cuts.back().layout == CutLayout::kStrided && hidden_.problem.k % 3 == 0) {
      d().k_cuts.back().order = MergeOrder::kLanes;
    }
    if (d().k_cuts.empty() && hidden_.problem.k % 16 == 5) ManyLanes();
    const int64_t tile = Pick({1, 2, 4, 8, 16});
    int rounds = static_cast<int>(Uniform(1, 5));
    while (rounds > 0 && (tile << (rounds - 1)) >= Longest()) --rounds;
    const bool down = Chance(0.7);
    for (int r = 0; r < rounds; ++r) d().k_cuts.push_back({CutLayout::kStrided, down ? tile : tile << (rounds - 1 - r), 2});
    if (Chance(0.2)) AddCut(Longest(), CutLayout::kContiguous, 4, Pick({1, 2, 4, 8}));
    const auto strided = [](const KCut& cut) { return cut.layout == CutLayout::kStrided; };
    if (std::none_of(d().k_cuts.begin(), d().k_cuts.end(), strided)) d().family = Family::kChained;
  }

  // More parts than lanes hold in two sums.
  void ManyLanes() {
    const int64_t tile = Pick({1, 2, 4, 8}), most = std::min<int64_t>(600, Longest() / tile - 1);
    if (most < 129) return;
    d().k_cuts.push_back({CutLayout::kStrided, tile, Uniform(129, most),
                          Pick({MergeOrder::kLanes, MergeOrder::kLanes4, MergeOrder::kLanes8})});
  }

  std::mt19937_64& random_;
  const bool defects_;
  HiddenGemm hidden_;
};

}  // namespace

HiddenGemm DrawHidden(std::mt19937_64& random, bool defects) { return Drawer(random, defects).Draw(); }

}  // namespace samebits::gemm
