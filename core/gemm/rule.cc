#include "core/gemm/rule.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace samebits::gemm {
namespace {

constexpr int64_t kGranules[] = {64, 128, 8, 16, 32, 256, 1, 4, 2};
constexpr size_t kMostRules = 400;

int64_t Ceil(int64_t x, int64_t y) { return (x + y - 1) / y; }

int64_t ShareOf(int64_t k, int64_t parts, int64_t granule) { return Ceil(Ceil(k, parts), granule) * granule; }

// The longest part that a cut makes of `length` elements.
int64_t Longest(const KCut& cut, int64_t length) {
  if (cut.layout == CutLayout::kContiguous) return std::min(length, cut.span);
  const int64_t tiles = Ceil(length, cut.span);
  return std::min(length, Ceil(tiles, std::min(cut.count, tiles)) * cut.span);
}

// A cut that leaves one part does nothing.
bool Divides(const KCut& cut, int64_t length) { return cut.span < length && (cut.layout == CutLayout::kContiguous || cut.count > 1); }

KCut CutOf(const CutRule& rule, int64_t k, int64_t length, int64_t splits) {
  KCut cut{rule.layout, rule.span, rule.count, rule.order};
  if (rule.span == 0) {
    const int64_t parts = std::max<int64_t>(1, rule.parts == 0 ? splits : rule.parts);
    const bool loose = rule.loose_granule != 0 && k % rule.granule != 0;
    cut.span = ShareOf(k, parts, loose ? rule.loose_granule : rule.granule);
  }
  if (cut.layout == CutLayout::kContiguous) {
    cut.count = Ceil(length, cut.span);
  } else {
    if (rule.count == 0) cut.count = std::max<int64_t>(1, splits);
    cut.count = std::min(cut.count, Ceil(length, cut.span));  // others would be empty
  }
  return cut;
}

// Family and rounding that a descriptor with these cuts may have.
void Settle(GemmDesc* desc) {
  const bool strided = std::any_of(desc->k_cuts.begin(), desc->k_cuts.end(),
                                   [](const KCut& cut) { return cut.layout == CutLayout::kStrided; });
  if (desc->k_cuts.empty()) desc->family = Family::kPlain;
  if (!desc->k_cuts.empty() && desc->family == Family::kPlain) desc->family = Family::kChained;
  if (desc->family == Family::kGemv && !strided) desc->family = Family::kChained;
  if (desc->family != Family::kSplitK) desc->partial_type = desc->merge_type = desc->accumulate_type;
}

}  // namespace

absl::StatusOr<GemmDesc> Instantiate(const GemmRule& rule, int64_t k, int64_t splits) {
  GemmDesc desc = rule.base;
  int64_t length = k;
  for (const CutRule& cut_rule : rule.cuts) {
    const KCut cut = CutOf(cut_rule, k, length, splits);
    if (!Divides(cut, length)) continue;
    desc.k_cuts.push_back(cut);
    length = Longest(cut, length);
  }
  Settle(&desc);
  if (absl::Status status = Validate(desc, k); !status.ok()) return status;
  return desc;
}

namespace {

// How a part of `length` elements is grouped: "r/g", r elements apart first; what cannot be seen left out.
std::string ChainForm(const GemmDesc& desc, int64_t length) {
  const int64_t g = desc.instruction_k;
  if (!desc.use_fast_accum) {
    const int64_t interval = desc.promotion_interval == 0 ? g : desc.promotion_interval;
    if (length > interval) return absl::StrCat("promote", interval, "/", g);
    return length <= g ? "one" : absl::StrCat("0/", g);
  }
  int64_t first = desc.short_turn == ShortTurn::kFirst ? length % desc.k_loop_step : 0;
  if (first % g == 0 || first == length) first = 0;
  if (length <= g && first == 0) return "one";
  if (first != 0 && first <= g && length - first <= g) return absl::StrCat(first);
  return absl::StrCat(first, "/", g);
}

// A trailing run of spans under one matrix accumulator is a promotion.
void NamePromotion(GemmDesc* d) {
  if (!d->use_fast_accum || IsScalar(d->instruction) || d->k_cuts.empty() || d->short_turn == ShortTurn::kFirst) return;
  const KCut& cut = d->k_cuts.back();
  if (cut.layout != CutLayout::kContiguous || cut.order != MergeOrder::kAscending) return;
  if (cut.span % d->instruction_k != 0) return;
  if (d->k_cuts.size() == 1 && (d->partial_type != d->accumulate_type || d->merge_type != d->accumulate_type)) return;
  d->use_fast_accum = false;
  d->promotion_interval = cut.span;
  d->k_cuts.pop_back();
}

}  // namespace

std::string NormalForm(const GemmDesc& desc, int64_t k) {
  GemmDesc d = desc;
  d.k_cuts.clear();
  int64_t longest = k;
  for (KCut cut : desc.k_cuts) {
    if (!Divides(cut, longest)) continue;
    const int64_t tiles = Ceil(longest, cut.span);
    cut.count = cut.layout == CutLayout::kContiguous ? tiles : std::min(cut.count, tiles);
    if (cut.order == MergeOrder::kLanes8 && cut.count <= 256) cut.order = MergeOrder::kLanes4;
    if (cut.order == MergeOrder::kLanes4 && cut.count <= 128) cut.order = MergeOrder::kLanes;
    if (cut.count == 2 || (cut.order == MergeOrder::kLanes && cut.count <= 4)) cut.order = MergeOrder::kAscending;
    d.k_cuts.push_back(cut);
    longest = Longest(cut, longest);
  }
  NamePromotion(&d);
  std::string form;
  for (const KCut& cut : d.k_cuts) {
    absl::StrAppend(&form, static_cast<int>(cut.layout), ":", cut.span, "x", cut.count, ":", static_cast<int>(cut.order), " ");
  }
  const bool spans = d.k_cuts.size() == 1 && d.k_cuts[0].layout == CutLayout::kContiguous;
  if (IsScalar(d.instruction)) {
    absl::StrAppend(&form, "scalar", static_cast<int>(d.instruction));
  } else if (d.k_cuts.empty()) {
    absl::StrAppend(&form, ChainForm(d, k));
  } else if (spans) {
    const int64_t span = d.k_cuts[0].span;
    absl::StrAppend(&form, ChainForm(d, span), " ", ChainForm(d, k - (Ceil(k, span) - 1) * span));
  } else {
    const bool turn = d.short_turn == ShortTurn::kFirst;
    absl::StrAppend(&form, d.instruction_k, "/", d.use_fast_accum, "/", d.promotion_interval, "/", turn ? d.k_loop_step : 0);
  }
  if (!d.k_cuts.empty()) {
    absl::StrAppend(&form, " ", static_cast<int>(d.partial_type), ",", static_cast<int>(d.merge_type));
  }
  return form;
}

namespace {

// The ways to read the cut at `index` of a descriptor.
std::vector<CutRule> ReadCut(const GemmDesc& desc, size_t index, int64_t k, int64_t splits) {
  const KCut& cut = desc.k_cuts[index];
  std::vector<CutRule> rules;
  const bool contiguous = cut.layout == CutLayout::kContiguous;
  if (contiguous && index == 0 && splits > 1) {
    for (int64_t granule : kGranules) {
      if (ShareOf(k, splits, granule) == cut.span) rules.push_back({cut.layout, cut.order, 0, 0, granule});
    }
  }
  int64_t lanes = 1;  // of a run of equal two-part cuts
  for (const KCut& other : desc.k_cuts) lanes *= other == cut && cut.count == 2 ? 2 : 1;
  if (!contiguous && lanes > 2 && ShareOf(k, lanes, 1) == cut.span) {
    rules.push_back({cut.layout, cut.order, 0, lanes, 1, 0, cut.count});
  }
  const bool most = cut.count == splits || (cut.count < splits && cut.count == Ceil(k, cut.span));  // others empty
  if (!contiguous && splits > 1 && index == 0 && most) rules.push_back({cut.layout, cut.order, cut.span, 0, 1, 0, 0});
  rules.push_back({cut.layout, cut.order, cut.span, 0, 1, 0, contiguous ? 0 : cut.count});
  return rules;
}

// Descriptors of the same form at k: other group lengths, loop steps and promotion intervals.
std::vector<GemmDesc> Alike(const GemmDesc& desc, int64_t k) {
  if (IsScalar(desc.instruction)) return {desc};
  std::vector<GemmDesc> all{desc};
  const std::string form = NormalForm(desc, k);
  const auto add = [&](const GemmDesc& d) {
    if (Validate(d, k).ok() && NormalForm(d, k) == form && std::find(all.begin(), all.end(), d) == all.end()) all.push_back(d);
  };
  for (int64_t group : {desc.instruction_k, desc.instruction_k / 2, 2 * desc.instruction_k}) {
    if (group < 4 || group > 32) continue;
    GemmDesc d = desc;
    d.instruction_k = group;
    d.use_fast_accum = true;
    d.promotion_interval = 0;
    d.short_turn = ShortTurn::kLast;
    d.k_loop_step = 0;
    add(d);
    for (int64_t step = 2 * group; step <= 512; step *= 2) {
      d.k_loop_step = step;
      d.short_turn = ShortTurn::kFirst;
      add(d);
    }
    if (FormatOf(desc.a_type).bits != 8) continue;
    d.short_turn = ShortTurn::kLast;
    d.k_loop_step = 0;
    d.use_fast_accum = false;
    for (int64_t interval : {128, 64, 256}) {
      d.promotion_interval = interval;
      add(d);
    }
  }
  return all;
}

}  // namespace

std::vector<GemmRule> Generalise(const GemmDesc& desc, int64_t k, int64_t splits) {
  std::vector<std::vector<CutRule>> cuts{{}};  // every combination
  const bool run = desc.k_cuts.size() > 2;
  for (size_t i = 0; i < desc.k_cuts.size(); ++i) {
    std::vector<CutRule> ways = ReadCut(desc, i, k, splits);
    if (run && i > 0 && desc.k_cuts[i] == desc.k_cuts[i - 1]) ways.clear();  // as the cut before
    std::vector<std::vector<CutRule>> next;
    for (const std::vector<CutRule>& before : cuts) {
      const auto add = [&](const CutRule& way) {
        next.push_back(before);
        next.back().push_back(way);
      };
      if (ways.empty()) add(before.back());
      for (const CutRule& way : ways) add(way);
    }
    cuts = std::move(next);
  }
  std::vector<GemmRule> rules;
  for (const GemmDesc& alike : Alike(desc, k)) {
    for (const std::vector<CutRule>& way : cuts) {
      GemmRule rule{alike, way};
      rule.base.k_cuts.clear();
      if (rules.size() < kMostRules) rules.push_back(std::move(rule));
    }
  }
  return rules;
}

namespace {

constexpr absl::string_view kLayoutWords[] = {"contiguous", "strided", "balanced"};
constexpr absl::string_view kOrderWords[] = {"ascending", "descending", "lanes", "lanes4", "lanes8"};

std::string CutText(const CutRule& cut) {
  const auto number = [](int64_t value, const char* zero) { return value == 0 ? std::string(zero) : absl::StrCat(value); };
  const std::string span = cut.span != 0 ? absl::StrCat(cut.span)
                                         : absl::StrCat("share/", number(cut.parts, "splits"), "/", cut.granule, "/",
                                                        cut.loose_granule);
  const std::string count = cut.layout == CutLayout::kContiguous ? "cover" : number(cut.count, "splits");
  return absl::StrCat(kLayoutWords[static_cast<int>(cut.layout)], ":", span, ":", count, ":",
                      kOrderWords[static_cast<int>(cut.order)]);
}

absl::Status BadCut(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("cuts: '", text, "' is not understood"));
}

bool ParseNumber(absl::string_view text, const char* zero, int64_t* value) {
  if (text == zero) return *value = 0, true;
  return absl::SimpleAtoi(text, value) && *value >= 1 && *value <= kMaxK;
}

absl::StatusOr<CutRule> ParseCut(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ':');
  if (words.size() != 4) return BadCut(text);
  CutRule cut;
  const auto layout = std::find(std::begin(kLayoutWords), std::end(kLayoutWords), words[0]);
  const auto order = std::find(std::begin(kOrderWords), std::end(kOrderWords), words[3]);
  if (layout == std::end(kLayoutWords) || order == std::end(kOrderWords)) return BadCut(text);
  cut.layout = static_cast<CutLayout>(layout - std::begin(kLayoutWords));
  cut.order = static_cast<MergeOrder>(order - std::begin(kOrderWords));
  const std::vector<absl::string_view> share = absl::StrSplit(words[1], '/');
  if (share.size() == 4 && share[0] == "share") {
    if (!ParseNumber(share[1], "splits", &cut.parts) || !ParseNumber(share[2], "1", &cut.granule) ||
        !ParseNumber(share[3], "0", &cut.loose_granule)) {
      return BadCut(text);
    }
    cut.granule = std::max<int64_t>(cut.granule, 1);
  } else if (!ParseNumber(words[1], "", &cut.span) || cut.span == 0) {
    return BadCut(text);
  }
  const bool cover = cut.layout == CutLayout::kContiguous;
  if (cover ? words[2] != "cover" : !ParseNumber(words[2], "splits", &cut.count)) return BadCut(text);
  return cut;
}

}  // namespace

std::string ToText(const GemmRule& rule) {
  const std::string cuts = absl::StrJoin(rule.cuts, ",", [](std::string* out, const CutRule& cut) {
    absl::StrAppend(out, CutText(cut));
  });
  std::vector<std::string> words = absl::StrSplit(ToText(rule.base), ' ');
  for (std::string& word : words) {
    if (word == "cuts=none" && !cuts.empty()) word = "cuts=" + cuts;
  }
  return absl::StrJoin(words, " ");
}

absl::StatusOr<GemmRule> ParseGemmRule(std::string_view text) {
  GemmRule rule;
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {
    if (!absl::StartsWith(word, "cuts=") || word == "cuts=none") {
      words.emplace_back(word);
      continue;
    }
    for (absl::string_view cut_text : absl::StrSplit(word.substr(5), ',')) {
      absl::StatusOr<CutRule> cut = ParseCut(cut_text);
      if (!cut.ok()) return cut.status();
      if (rule.cuts.size() == kMaxCuts) return absl::InvalidArgumentError("cuts: more than 16");
      rule.cuts.push_back(*cut);
    }
    words.emplace_back("cuts=strided:1x2");  // fits every family that has cuts
  }
  absl::StatusOr<GemmDesc> base = ParseGemmDesc(absl::StrJoin(words, " "));
  if (!base.ok()) return base.status();
  rule.base = *std::move(base);
  rule.base.k_cuts.clear();
  return rule;
}

}  // namespace samebits::gemm
