#include "core/gemm/rule_book.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {
namespace {

constexpr size_t kMostLeft = 24;     // rules of an entry
constexpr size_t kMostScored = 1200;  // rules of a kind

bool Gives(const GemmRule& rule, const GemmProblem& problem, const Algorithm& algorithm, const std::string& form) {
  const absl::StatusOr<GemmDesc> desc = Instantiate(rule, problem.k, algorithm.splits);
  return desc.ok() && NormalForm(*desc, problem.k) == form;
}

// Rules that differ in the granule of the first cut only, joined: the coarser where K is a multiple of it.
std::vector<GemmRule> Joined(const std::vector<GemmRule>& rules) {
  std::vector<GemmRule> joined;
  for (const GemmRule& coarse : rules) {
    if (coarse.cuts.empty() || coarse.cuts[0].span != 0) continue;
    for (const GemmRule& fine : rules) {
      if (fine.cuts.empty() || fine.cuts[0].span != 0 || fine.cuts[0].granule >= coarse.cuts[0].granule) continue;
      GemmRule both = fine;
      both.cuts[0].granule = coarse.cuts[0].granule;
      if (!(both == coarse)) continue;
      both.cuts[0].loose_granule = fine.cuts[0].granule;
      joined.push_back(std::move(both));
    }
  }
  return joined;
}

// A kind without types and layout.
std::string CoreOf(const std::string& kind) { return kind.substr(kind.find(" id=")); }

// The rule for other types of the same width.
GemmRule Retyped(GemmRule rule, const GemmProblem& p) {
  GemmDesc& d = rule.base;
  for (FormatId* type : {&d.partial_type, &d.merge_type}) *type = *type == d.accumulate_type ? p.accumulate_type : p.output_type;
  d.a_type = p.a_type, d.b_type = p.b_type, d.accumulate_type = p.accumulate_type, d.output_type = p.output_type;
  return rule;
}

}  // namespace

std::string KindOf(const GemmProblem& p, const Algorithm& a, bool fine) {
  std::string kind = absl::StrCat("types=", TypesText(p), " layout=", ToText(p.layout), " id=", a.id, " stages=", a.stages,
                                  " reduction=", a.reduction, " custom=", a.custom, " split=", a.splits > 1 ? 1 : 0);
  if (fine) absl::StrAppend(&kind, " tile=", a.tile, " cluster=", a.cluster);
  return kind;
}

std::vector<GemmDesc> RuleBook::Candidates(const GemmProblem& problem, const Algorithm& algorithm, size_t most) const {
  std::vector<Scored> rules;
  {
    const std::string kind = KindOf(problem, algorithm);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = kinds_.find(kind);
    rules = found != kinds_.end() ? found->second.rules : Borrowed(problem, CoreOf(kind));
  }
  std::stable_sort(rules.begin(), rules.end(), [](const Scored& x, const Scored& y) {
    return x.hits - 2 * x.misses > y.hits - 2 * y.misses;
  });
  std::vector<GemmDesc> descs;
  std::set<std::string> forms;
  for (const Scored& scored : rules) {
    absl::StatusOr<GemmDesc> desc = Instantiate(scored.rule, problem.k, algorithm.splits);
    if (!desc.ok() || !forms.insert(NormalForm(*desc, problem.k)).second) continue;
    descs.push_back(*std::move(desc));
    if (descs.size() == most) break;
  }
  return descs;
}

std::vector<RuleBook::Scored> RuleBook::Borrowed(const GemmProblem& problem, const std::string& core) const {
  std::vector<Scored> rules;
  for (const auto& [name, kind] : kinds_) {
    if (CoreOf(name) != core) continue;
    for (const Scored& scored : kind.rules) {
      const GemmDesc& base = scored.rule.base;
      if (FormatOf(base.a_type).bits != FormatOf(problem.a_type).bits || base.accumulate_type != problem.accumulate_type) break;
      if (scored.misses == 0) rules.push_back({Retyped(scored.rule, problem), scored.hits, 0});
    }
  }
  return rules;
}

void RuleBook::Learn(const GemmProblem& problem, const Algorithm& algorithm, const GemmDesc& desc) {
  const std::string form = NormalForm(desc, problem.k);
  const std::lock_guard<std::mutex> lock(mutex_);
  Kind& kind = kinds_[KindOf(problem, algorithm)];
  bool given = false;
  for (Scored& scored : kind.rules) {
    const bool gives = Gives(scored.rule, problem, algorithm, form);
    ++(gives ? scored.hits : scored.misses);
    given = given || (gives && scored.misses == 0);
  }
  kind.seen.push_back({problem, algorithm, form});
  if (given || kind.rules.size() >= kMostScored) return;
  for (GemmRule& rule : Generalise(desc, problem.k, algorithm.splits)) {
    const bool known = std::any_of(kind.rules.begin(), kind.rules.end(), [&](const Scored& s) { return s.rule == rule; });
    if (!known) kind.rules.push_back({std::move(rule), 1, 0});
  }
}

void RuleBook::Suggest(const std::string& name, const std::vector<GemmRule>& rules) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Kind& kind = kinds_[name.substr(0, name.find(" tile="))];
  for (const GemmRule& rule : rules) kind.rules.push_back({rule});
}

std::vector<GemmRule> RuleBook::Agreeing(const std::vector<GemmRule>& rules, const std::vector<const Seen*>& seen) {
  std::vector<GemmRule> agreeing;
  for (const GemmRule& rule : rules) {
    const bool all = std::all_of(seen.begin(), seen.end(), [&](const Seen* s) {
      return Gives(rule, s->problem, s->algorithm, s->form);
    });
    if (all && std::find(agreeing.begin(), agreeing.end(), rule) == agreeing.end()) agreeing.push_back(rule);
  }
  return agreeing;
}

std::map<std::string, RuleEntry> RuleBook::Entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string, RuleEntry> entries;
  for (const auto& [name, kind] : kinds_) {
    std::vector<GemmRule> rules;
    for (const Scored& scored : kind.rules) rules.push_back(scored.rule);
    const std::vector<GemmRule> joined = Joined(rules);
    std::map<std::string, std::vector<const Seen*>> fine;
    std::vector<const Seen*> all;
    for (const Seen& seen : kind.seen) {
      all.push_back(&seen);
      fine[KindOf(seen.problem, seen.algorithm, true)].push_back(&seen);
    }
    const auto add = [&](const std::string& entry, const std::vector<const Seen*>& seen) {
      std::vector<GemmRule> left = Agreeing(rules, seen);
      if (left.empty()) left = Agreeing(joined, seen);
      if (!seen.empty() && !left.empty() && left.size() <= kMostLeft) {
        entries[entry] = {std::move(left), static_cast<int64_t>(seen.size())};
      }
      return entries.contains(entry);
    };
    if (add(name, all)) continue;
    for (const auto& [entry, seen] : fine) add(entry, seen);
  }
  return entries;
}

absl::StatusOr<GemmDesc> Decide(const RuleEntry& entry, const GemmProblem& problem, const Algorithm& algorithm) {
  absl::StatusOr<GemmDesc> first = absl::FailedPreconditionError("no rule");
  std::string form;
  for (const GemmRule& rule : entry.rules) {
    absl::StatusOr<GemmDesc> desc = Instantiate(rule, problem.k, algorithm.splits);
    if (!desc.ok()) return desc.status();
    const std::string own = NormalForm(*desc, problem.k);
    if (!first.ok()) {
      first = *std::move(desc);
      form = own;
    } else if (own != form) {
      return absl::FailedPreconditionError("the rules that agree with all that was seen differ at this K");
    }
  }
  return first;
}

}  // namespace samebits::gemm
