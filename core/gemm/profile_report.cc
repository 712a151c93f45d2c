#include "core/gemm/profile_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace samebits::gemm {
namespace {

constexpr int64_t kMostM = int64_t{1} << 20;

// What a profile says of one shape, comparable.
struct Saying {
  bool known = false;
  GemmDesc desc;
  int64_t summed_k = 0;
  std::string form;  // where known: equal forms owe equal bits
  std::string why;
};

// Describes shapes of one n and k; what depends on the cost model's answer alone is computed once.
class Describer {
 public:
  Describer(const ArchProfile& profile, const GemmProblem& problem) : profile_(profile), problem_(problem) {
    const auto section = profile.sections.find(KindOfProblem(problem));
    if (section == profile.sections.end()) return;
    for (const ProfileScan& scan : section->second.scans) {
      if (scan.n == problem.n && scan.k == problem.k) scan_ = &scan;
    }
    for (const ProfileShape& shape : section->second.shapes) {
      if (shape.n == problem.n && shape.k == problem.k) shapes_.emplace(shape.m, &shape);
    }
  }

  const Saying& At(int64_t m) {
    const auto shape = shapes_.find(m);
    if (shape != shapes_.end()) {
      if (shape->second->by_rule) return ByAnswer(shape->second->algorithm);
      return special_[m] = Said(m);
    }
    if (scan_ == nullptr || m > scan_->most_m) return nothing_;
    const auto after = std::upper_bound(scan_->runs.begin(), scan_->runs.end(), m,
                                        [](int64_t key, const auto& run) { return key < run.first; });
    return ByAnswer(std::prev(after)->second);
  }

  // The M values that the profile lists.
  int64_t scanned() const { return scan_ == nullptr ? 0 : scan_->most_m; }
  bool Lists(int64_t m) const { return m <= scanned() || shapes_.contains(m); }
  const std::map<int64_t, const ProfileShape*>& shapes() const { return shapes_; }

 private:
  Saying Said(int64_t m) const {
    GemmProblem problem = problem_;
    problem.m = m;
    return Say(gemm::Describe(profile_, problem));
  }
  const Saying& ByAnswer(int32_t answer) {
    const auto [place, fresh] = by_answer_.try_emplace(answer);
    if (fresh) place->second = Say(gemm::Describe(profile_, problem_, profile_.algorithms[answer]));
    return place->second;
  }
  Saying Say(const absl::StatusOr<ShapeDescription>& description) const {
    Saying saying;
    saying.known = description.ok();
    if (!description.ok()) {
      saying.why = std::string(description.status().message());
      return saying;
    }
    saying.desc = description->desc;
    saying.summed_k = description->summed_k;
    saying.form = absl::StrCat(NormalForm(saying.desc, saying.summed_k), " of ", saying.summed_k);
    return saying;
  }

  const ArchProfile& profile_;
  const GemmProblem problem_;
  const ProfileScan* scan_ = nullptr;
  std::map<int64_t, const ProfileShape*> shapes_;  // by m
  std::map<int32_t, Saying> by_answer_;
  std::map<int64_t, Saying> special_;
  const Saying nothing_{.why = "the profile has no answer of the cost model for these"};
};

std::vector<std::string> Changes(const Saying& from, const Saying& to, int64_t k) {
  std::vector<std::string> changes = Differences(from.desc, to.desc, k);
  if (from.summed_k != to.summed_k) changes.push_back(absl::StrCat("summed elements ", from.summed_k, " -> ", to.summed_k));
  return changes;
}

std::string ProblemText(const GemmProblem& p) {
  return absl::StrCat("n = ", p.n, ", k = ", p.k, ", ", TypesText(p), ", layout ", ToText(p.layout));
}

std::string RangeText(int64_t first, int64_t last) {
  return first == last ? absl::StrCat("M = ", first) : absl::StrCat("M = ", first, " to ", last);
}

}  // namespace

absl::StatusOr<InvarianceReport> BatchInvariance(const ArchProfile& profile, const GemmProblem& problem, int64_t first_m,
                                                 int64_t last_m) {
  if (first_m < 1 || last_m < first_m || last_m - first_m >= kMostM) {
    return absl::InvalidArgumentError("the range of M must hold 1 to 2^20 values, from 1 on");
  }
  InvarianceReport report{problem};
  report.problem.m = first_m;
  Describer describer(profile, problem);
  std::map<std::string, int> numbers;
  Saying last_known;
  const Saying* before = nullptr;
  for (int64_t m = first_m; m <= last_m; ++m) {
    const Saying& saying = describer.At(m);
    if (!saying.known) ++report.unknown_m;
    if (before != nullptr && before->known == saying.known && before->form == saying.form && before->why == saying.why) {
      report.runs.back().last_m = m;
      before = &saying;
      continue;
    }
    InvarianceRun run{m, m, saying.known, saying.desc, saying.summed_k};
    run.why = saying.why;
    if (saying.known) {
      run.bits = numbers.emplace(saying.form, static_cast<int>(numbers.size())).first->second;
      if (last_known.known) run.changes = Changes(last_known, saying, problem.k);
      last_known = saying;
    }
    report.runs.push_back(std::move(run));
    before = &saying;
  }
  report.kinds_of_bits = static_cast<int>(numbers.size());
  return report;
}

std::string ToText(const InvarianceReport& report) {
  std::string text = absl::StrCat(ProblemText(report.problem), "\n");
  for (const InvarianceRun& run : report.runs) {
    absl::StrAppend(&text, RangeText(run.first_m, run.last_m), ": ");
    if (!run.known) {
      absl::StrAppend(&text, "not known: ", run.why, "\n");
      continue;
    }
    absl::StrAppend(&text, "bits ", run.bits, ": ", Describe(run.desc));
    if (run.summed_k != report.problem.k) absl::StrAppend(&text, "; DEFECT: only ", run.summed_k, " elements are summed");
    absl::StrAppend(&text, "\n");
    if (!run.changes.empty()) absl::StrAppend(&text, "    changed: ", absl::StrJoin(run.changes, "; "), "\n");
  }
  if (report.invariant()) {
    absl::StrAppend(&text, "A row gives the same bits at every M.\n");
  } else {
    absl::StrAppend(&text, "A row gives ", report.kinds_of_bits, report.kinds_of_bits == 1 ? " kind" : " kinds", " of bits");
    absl::StrAppend(&text, report.unknown_m > 0 ? absl::StrCat("; ", report.unknown_m, " values of M are not known.\n") : ".\n");
  }
  return text;
}

namespace {

void CompareProducts(const ArchProfile& before, const ArchProfile& after, const GemmProblem& product,
                     ProfileComparison* comparison) {
  Describer x(before, product), y(after, product);
  std::string last;  // change of the M before, where it continues
  const auto compare = [&](int64_t m) {
    const Saying &a = x.At(m), &b = y.At(m);
    const bool both = a.known && b.known;
    ++(both ? a.form == b.form ? comparison->same : comparison->changed : comparison->unknown);
    if (!both || a.form == b.form) return last.clear();
    const std::string change = absl::StrCat(a.form, " | ", b.form);
    if (change == last && comparison->differences.back().last_m == m - 1) {
      comparison->differences.back().last_m = m;
      return;
    }
    last = change;
    GemmProblem problem = product;
    problem.m = m;
    comparison->differences.push_back({problem, m, Changes(a, b, product.k)});
  };
  const int64_t scanned = std::min(x.scanned(), y.scanned());
  for (int64_t m = 1; m <= scanned; ++m) compare(m);
  for (const auto& [m, shape] : x.shapes()) {
    if (m > scanned && y.Lists(m)) compare(m);
  }
  for (const auto& [m, shape] : y.shapes()) {
    if (m > scanned && !x.shapes().contains(m) && x.Lists(m)) compare(m);
  }
}

template <typename Value>
void CompareField(const char* name, const Value& x, const Value& y, ProfileComparison* comparison) {
  if (x != y) comparison->identity.push_back(absl::StrCat(name, " ", x, " -> ", y));
}

}  // namespace

ProfileComparison Compare(const ArchProfile& before, const ArchProfile& after) {
  ProfileComparison comparison;
  CompareField("device", before.device, after.device, &comparison);
  CompareField("architecture", before.sm, after.sm, &comparison);
  CompareField("multiprocessors", before.multiprocessors, after.multiprocessors, &comparison);
  CompareField("library", before.library, after.library, &comparison);
  CompareField("library version", before.library_version, after.library_version, &comparison);
  CompareField("driver", before.driver, after.driver, &comparison);
  CompareField("workspace", before.workspace_bytes, after.workspace_bytes, &comparison);
  for (const auto& [kind, section] : before.sections) {
    const auto other = after.sections.find(kind);
    if (other == after.sections.end()) continue;
    std::set<std::pair<int64_t, int64_t>> products;
    for (const ProfileSection* own : {&section, &other->second}) {
      for (const ProfileScan& scan : own->scans) products.emplace(scan.n, scan.k);
      for (const ProfileShape& shape : own->shapes) products.emplace(shape.n, shape.k);
    }
    for (const auto& [n, k] : products) CompareProducts(before, after, kind.At(1, n, k), &comparison);
  }
  return comparison;
}

std::string ToText(const ProfileComparison& c) {
  std::string text;
  for (const std::string& line : c.identity) absl::StrAppend(&text, line, "\n");
  for (const ProfileDifference& d : c.differences) {
    absl::StrAppend(&text, RangeText(d.problem.m, d.last_m), ", ", ProblemText(d.problem), ": ", absl::StrJoin(d.changes, "; "), "\n");
  }
  absl::StrAppend(&text, c.same + c.changed + c.unknown, " shapes are in both: the bits of ", c.changed, " change, ", c.same,
                  " stay, ", c.unknown, " are not known.\n");
  return text;
}

namespace {

// The defect, and the command that shows it on a machine with that library.
void AppendDefect(const ArchProfile& profile, const GemmProblem& p, int64_t summed_k, std::string* text) {
  absl::StrAppend(text, "DEFECT: ", p.m, " x ", p.n, " x ", p.k, ", ", TypesText(p), ", layout ", ToText(p.layout), ": elements ",
                  summed_k, " to ", p.k - 1, " are not summed\n  samebits gemm probe --types ", TypesText(p), " --layout ",
                  ToText(p.layout), " --m ", p.m, " --n ", p.n, " --k ", p.k, " --workspace ", profile.workspace_bytes, "\n");
}

}  // namespace

std::string Summarise(const ArchProfile& p) {
  std::string text = absl::StrFormat("%s (sm_%d, %d multiprocessors), %s %d, driver %s, workspace %d bytes\n", p.device, p.sm,
                                     p.multiprocessors, p.library, p.library_version, p.driver, p.workspace_bytes);
  int64_t rules = 0;
  for (const auto& [kind, entry] : p.entries) rules += static_cast<int64_t>(entry.rules.size());
  absl::StrAppendFormat(&text, "%d answers of the cost model; %d kinds of answers with rules (%d)\n", p.algorithms.size(),
                        p.entries.size(), rules);
  absl::StrAppendFormat(&text, "%-26s %8s %10s %12s %8s %8s %12s %10s\n", "types, layout", "shapes", "explained", "unexplained",
                        "defects", "by rule", "outputs", "scanned");
  for (const auto& [kind, section] : p.sections) {
    const GemmProblem problem = kind.At(1, 1, 1);
    const int64_t by_rule = std::count_if(section.shapes.begin(), section.shapes.end(), [](const auto& s) { return s.by_rule; });
    int64_t scanned = 0;
    for (const ProfileScan& scan : section.scans) scanned += scan.most_m;
    const ProfileTally& t = section.tally;
    absl::StrAppendFormat(&text, "%-26s %8d %10d %12d %8d %8d %12d %10d\n",
                          absl::StrCat(TypesText(problem), " ", ToText(problem.layout)), t.shapes, t.explained, t.unexplained,
                          t.defects, by_rule, t.outputs, scanned);
  }
  for (const auto& [kind, section] : p.sections) {
    for (const ProfileShape& s : section.shapes) {
      if (s.explained && s.summed_k < s.k) AppendDefect(p, kind.At(s.m, s.n, s.k), s.summed_k, &text);
    }
  }
  return text;
}

}  // namespace samebits::gemm
