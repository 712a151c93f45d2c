// Text forms of GemmDesc: one line that parses back, and a sentence for people.

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {
namespace {

template <typename Enum>
struct Word {
  Enum value;
  const char* text;
};

constexpr Word<FormatId> kTypeWords[] = {{FormatId::kE4m3, "e4m3"}, {FormatId::kE5m2, "e5m2"}, {FormatId::kF16, "f16"},
                                         {FormatId::kBf16, "bf16"}, {FormatId::kTf32, "tf32"}, {FormatId::kF32, "f32"},
                                         {FormatId::kF64, "f64"}};
constexpr Word<Family> kFamilyWords[] = {
    {Family::kPlain, "plain"}, {Family::kSplitK, "split_k"}, {Family::kChained, "chained"}, {Family::kGemv, "gemv"}};
constexpr Word<Instruction> kInstructionWords[] = {
    {Instruction::kFma, "fma"},     {Instruction::kMulAdd, "mul_add"}, {Instruction::kMma, "mma"},
    {Instruction::kWgmma, "wgmma"}, {Instruction::kTcgen05, "tcgen05"}, {Instruction::kMfma, "mfma"}};
constexpr Word<ShortTurn> kShortWords[] = {{ShortTurn::kLast, "last"}, {ShortTurn::kFirst, "first"}};
constexpr Word<CutLayout> kLayoutWords[] = {
    {CutLayout::kContiguous, "contiguous"}, {CutLayout::kStrided, "strided"}, {CutLayout::kBalanced, "balanced"}};
constexpr Word<MergeOrder> kOrderWords[] = {{MergeOrder::kAscending, "ascending"},
                                            {MergeOrder::kDescending, "descending"},
                                            {MergeOrder::kLanes, "lanes"},
                                            {MergeOrder::kLanes4, "lanes4"},
                                            {MergeOrder::kLanes8, "lanes8"}};
constexpr Word<AlphaStep> kAlphaWords[] = {{AlphaStep::kNone, "none"}, {AlphaStep::kMultiply, "multiply"}};
constexpr Word<BetaStep> kBetaWords[] = {
    {BetaStep::kNone, "none"}, {BetaStep::kFused, "fused"}, {BetaStep::kMultiplyAdd, "multiply_add"}};
constexpr Word<BiasStep> kBiasWords[] = {{BiasStep::kNone, "none"}, {BiasStep::kAdd, "add"}};
constexpr Word<Activation> kActivationWords[] = {{Activation::kNone, "none"}, {Activation::kRelu, "relu"}};
constexpr Word<bool> kYesNo[] = {{true, "yes"}, {false, "no"}};

template <typename Enum, size_t n>
const char* TextOf(const Word<Enum> (&words)[n], Enum value) {
  for (const auto& word : words)
    if (word.value == value) return word.text;
  return "?";
}

absl::Status BadWord(absl::string_view field, absl::string_view word) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": '", word, "' is not understood"));
}

template <typename Enum, size_t n>
absl::Status ParseWord(absl::string_view field, absl::string_view text, const Word<Enum> (&words)[n], Enum* value) {
  for (const auto& word : words) {
    if (text != word.text) continue;
    *value = word.value;
    return absl::OkStatus();
  }
  return BadWord(field, text);
}

absl::Status ParseNumber(absl::string_view field, absl::string_view text, int64_t* value) {
  if (absl::SimpleAtoi(text, value) && *value >= 0 && *value <= kMaxK) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": '", text, "' is no number from 0 to 2^24"));
}

std::string CutText(const KCut& cut) {
  return absl::StrCat(TextOf(kLayoutWords, cut.layout), ":", cut.span, "x", cut.count, ":",
                      TextOf(kOrderWords, cut.order));
}

std::string CutsText(const std::vector<KCut>& cuts) {
  if (cuts.empty()) return "none";
  return absl::StrJoin(cuts, ",", [](std::string* out, const KCut& cut) { absl::StrAppend(out, CutText(cut)); });
}

absl::Status ParseTypes(absl::string_view text, GemmDesc* d) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ',');
  if (words.size() != 4) return BadWord("types", text);
  FormatId* targets[] = {&d->a_type, &d->b_type, &d->accumulate_type, &d->output_type};
  for (size_t i = 0; i < 4; ++i) {
    if (absl::Status s = ParseWord("types", words[i], kTypeWords, targets[i]); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ParseInstruction(absl::string_view text, GemmDesc* d) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (absl::Status s = ParseWord("instruction", parts.first, kInstructionWords, &d->instruction); !s.ok()) return s;
  d->instruction_k = 1;
  if (parts.second.empty() && IsScalar(d->instruction)) return absl::OkStatus();
  return ParseNumber("instruction", parts.second, &d->instruction_k);
}

absl::Status ParseFastAccum(absl::string_view text, GemmDesc* d) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (absl::Status s = ParseWord("fast_accum", parts.first, kYesNo, &d->use_fast_accum); !s.ok()) return s;
  d->promotion_interval = 0;
  if (parts.second.empty()) return absl::OkStatus();
  return ParseNumber("fast_accum", parts.second, &d->promotion_interval);
}

absl::Status ParseCut(absl::string_view text, KCut* cut) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ':');
  if (words.size() < 2 || words.size() > 3) return BadWord("cuts", text);
  if (absl::Status s = ParseWord("cuts", words[0], kLayoutWords, &cut->layout); !s.ok()) return s;
  const std::vector<absl::string_view> sizes = absl::StrSplit(words[1], 'x');
  if (sizes.size() != 2) return BadWord("cuts", text);
  if (absl::Status s = ParseNumber("cuts", sizes[0], &cut->span); !s.ok()) return s;
  if (absl::Status s = ParseNumber("cuts", sizes[1], &cut->count); !s.ok()) return s;
  return words.size() == 3 ? ParseWord("cuts", words[2], kOrderWords, &cut->order) : absl::OkStatus();
}

absl::Status ParseCuts(absl::string_view text, GemmDesc* d) {
  if (text == "none") return absl::OkStatus();
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    if (d->k_cuts.size() == kMaxCuts) return absl::InvalidArgumentError("cuts: more than 16");
    if (absl::Status s = ParseCut(word, &d->k_cuts.emplace_back()); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ParseEpilogue(absl::string_view text, Epilogue* e) {
  if (text == "none") return absl::OkStatus();
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> step = absl::StrSplit(word, absl::MaxSplits(':', 1));
    absl::Status status = BadWord("epilogue", word);
    if (step.first == "alpha") status = ParseWord("epilogue", step.second, kAlphaWords, &e->alpha);
    if (step.first == "beta") status = ParseWord("epilogue", step.second, kBetaWords, &e->beta);
    if (step.first == "bias") status = ParseWord("epilogue", step.second, kBiasWords, &e->bias);
    if (step.first == "activation") status = ParseWord("epilogue", step.second, kActivationWords, &e->activation);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string EpilogueText(const Epilogue& e) {
  if (e.identity()) return "none";
  return absl::StrCat("alpha:", TextOf(kAlphaWords, e.alpha), ",beta:", TextOf(kBetaWords, e.beta),
                      ",bias:", TextOf(kBiasWords, e.bias), ",activation:", TextOf(kActivationWords, e.activation));
}

absl::Status ParseField(absl::string_view key, absl::string_view value, GemmDesc* d) {
  if (key == "types") return ParseTypes(value, d);
  if (key == "family") return ParseWord(key, value, kFamilyWords, &d->family);
  if (key == "instruction") return ParseInstruction(value, d);
  if (key == "fast_accum") return ParseFastAccum(value, d);
  if (key == "step") return ParseNumber(key, value, &d->k_loop_step);
  if (key == "short") return ParseWord(key, value, kShortWords, &d->short_turn);
  if (key == "cuts") return ParseCuts(value, d);
  if (key == "partial") return ParseWord(key, value, kTypeWords, &d->partial_type);
  if (key == "merge") return ParseWord(key, value, kTypeWords, &d->merge_type);
  if (key == "epilogue") return ParseEpilogue(value, &d->epilogue);
  return absl::InvalidArgumentError(absl::StrCat("'", key, "' is no field of a GEMM descriptor"));
}

std::string DescribeCut(const KCut& cut) {
  const char* order = cut.order == MergeOrder::kDescending ? ", added from the last"
                      : LaneSums(cut.order) > 0            ? ", added by lanes"
                                                           : "";
  switch (cut.layout) {
    case CutLayout::kContiguous:
      return absl::StrCat(cut.count, " spans of ", cut.span, order);
    case CutLayout::kStrided:
      return absl::StrCat(cut.count, " parts that take tiles of ", cut.span, " in turn", order);
    case CutLayout::kBalanced:
      return absl::StrCat(cut.count, " even runs of tiles of ", cut.span, order);
  }
  return "";
}

// "split-K in 3 spans of 192, f32 partials, merged at f32".
std::string DescribeFamily(const GemmDesc& d) {
  const auto cuts = absl::StrJoin(d.k_cuts, ", each in ",
                                  [](std::string* out, const KCut& cut) { absl::StrAppend(out, DescribeCut(cut)); });
  switch (d.family) {
    case Family::kPlain:
      return "plain: one accumulator over the whole axis";
    case Family::kSplitK:
      return absl::StrCat("split-K in ", cuts, ", ", TextOf(kTypeWords, d.partial_type), " partials, merged at ",
                          TextOf(kTypeWords, d.merge_type));
    case Family::kChained:
      return absl::StrCat("chained chunks: ", cuts);
    case Family::kGemv:
      return absl::StrCat("GEMV: ", cuts);
  }
  return "";
}

std::string DescribeInstruction(const GemmDesc& d) {
  if (d.instruction == Instruction::kFma) return "one fused multiply-add a product";
  if (d.instruction == Instruction::kMulAdd) return "a multiplication and an addition a product";
  std::string text = absl::StrCat(TextOf(kInstructionWords, d.instruction), " of ", d.instruction_k, " products");
  if (d.use_fast_accum) return text;
  const int64_t interval = d.promotion_interval == 0 ? d.instruction_k : d.promotion_interval;
  return absl::StrCat(text, ", added to a second accumulator every ", interval, " elements");
}

std::string DescribeEpilogue(const Epilogue& e) {
  std::vector<std::string> steps;
  if (e.alpha == AlphaStep::kMultiply) steps.push_back("times alpha");
  if (e.beta == BetaStep::kFused) steps.push_back("beta * C added in one rounding");
  if (e.beta == BetaStep::kMultiplyAdd) steps.push_back("beta * C rounded, then added");
  if (e.bias == BiasStep::kAdd) steps.push_back("bias added");
  if (e.activation == Activation::kRelu) steps.push_back("relu");
  return steps.empty() ? "" : absl::StrCat("; ", absl::StrJoin(steps, ", "));
}

}  // namespace

std::string ToText(const GemmDesc& d) {
  const auto type = [](FormatId id) { return TextOf(kTypeWords, id); };
  std::string fast = TextOf(kYesNo, d.use_fast_accum);
  if (!d.use_fast_accum && d.promotion_interval != 0) absl::StrAppend(&fast, ":", d.promotion_interval);
  return absl::StrCat("gemm/1 types=", type(d.a_type), ",", type(d.b_type), ",", type(d.accumulate_type), ",",
                      type(d.output_type), " family=", TextOf(kFamilyWords, d.family),
                      " instruction=", TextOf(kInstructionWords, d.instruction), ":", d.instruction_k,
                      " fast_accum=", fast, " step=", d.k_loop_step, " short=", TextOf(kShortWords, d.short_turn),
                      " cuts=", CutsText(d.k_cuts), " partial=", type(d.partial_type), " merge=", type(d.merge_type),
                      " epilogue=", EpilogueText(d.epilogue));
}

absl::StatusOr<GemmDesc> ParseGemmDesc(std::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
  if (words.empty() || words[0] != "gemm/1") {
    return absl::InvalidArgumentError("a GEMM descriptor begins with 'gemm/1'");
  }
  GemmDesc desc;
  std::set<absl::string_view> seen;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == absl::string_view::npos) return BadWord("gemm/1", words[i]);
    const absl::string_view key = words[i].substr(0, equals);
    if (!seen.insert(key).second) return absl::InvalidArgumentError(absl::StrCat("'", key, "' stands twice"));
    if (absl::Status s = ParseField(key, words[i].substr(equals + 1), &desc); !s.ok()) return s;
  }
  if (!seen.count("types")) return absl::InvalidArgumentError("types: missing");
  if (!seen.count("instruction")) return absl::InvalidArgumentError("instruction: missing");
  if (!seen.count("partial")) desc.partial_type = desc.accumulate_type;
  if (!seen.count("merge")) desc.merge_type = desc.accumulate_type;
  if (absl::Status s = Validate(desc); !s.ok()) return s;
  return desc;
}

std::string Describe(const GemmDesc& d) {
  std::string text = absl::StrCat(DescribeFamily(d), "; ", DescribeInstruction(d));
  if (d.short_turn == ShortTurn::kFirst) {
    absl::StrAppend(&text, "; the short turn of the loop (step ", d.k_loop_step, ") comes first");
  }
  absl::StrAppend(&text, "; ", TextOf(kTypeWords, d.a_type), " x ", TextOf(kTypeWords, d.b_type), ", accumulated at ",
                  TextOf(kTypeWords, d.accumulate_type), DescribeEpilogue(d.epilogue), "; output ",
                  TextOf(kTypeWords, d.output_type));
  return text;
}

}  // namespace samebits::gemm
