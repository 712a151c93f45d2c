#include "core/gemm/profile.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/sha256.h"

namespace samebits::gemm {
namespace {

template <typename T>
auto ShapeOrder(const T& x) {
  return std::tuple(x.m, x.n, x.k);
}

const ProfileSection* FindSection(const ArchProfile& profile, const GemmProblem& problem) {
  const auto found = profile.sections.find(KindOfProblem(problem));
  return found == profile.sections.end() ? nullptr : &found->second;
}

const ProfileShape* FindShape(const ProfileSection& section, const GemmProblem& p) {
  const auto found = std::lower_bound(section.shapes.begin(), section.shapes.end(), ShapeOrder(p),
                                      [](const ProfileShape& x, const auto& key) { return ShapeOrder(x) < key; });
  return found != section.shapes.end() && ShapeOrder(*found) == ShapeOrder(p) ? &*found : nullptr;
}

// The index of the answer that a scan has for the problem; -1 where none.
int32_t FindAnswer(const ProfileSection& section, const GemmProblem& p) {
  for (const ProfileScan& scan : section.scans) {
    if (scan.n != p.n || scan.k != p.k || p.m > scan.most_m) continue;
    int32_t answer = -1;
    for (const auto& [m, index] : scan.runs) {
      if (m <= p.m) answer = index;
    }
    return answer;
  }
  return -1;
}

const RuleEntry* FindEntry(const ArchProfile& profile, const GemmProblem& problem, const Algorithm& algorithm) {
  for (bool fine : {false, true}) {
    const auto found = profile.entries.find(KindOf(problem, algorithm, fine));
    if (found != profile.entries.end()) return &found->second;
  }
  return nullptr;
}

std::string ShapeText(const GemmProblem& p) {
  return absl::StrCat(p.m, " x ", p.n, " x ", p.k, " of ", TypesText(p), ", layout ", ToText(p.layout));
}

}  // namespace

GemmProblem ProblemKind::At(int64_t m, int64_t n, int64_t k) const {
  return {m, n, k, a_type, b_type, accumulate_type, output_type, layout};
}

ProblemKind KindOfProblem(const GemmProblem& p) {
  return {p.a_type, p.b_type, p.accumulate_type, p.output_type, p.layout};
}

int32_t ProfileBuilder::IndexOf(Algorithm algorithm) {
  algorithm.workspace_bytes = 0;  // follows from the shape
  const auto [place, fresh] = index_.emplace(ToText(algorithm), static_cast<int32_t>(profile_.algorithms.size()));
  if (fresh) profile_.algorithms.push_back(algorithm);
  return place->second;
}

void ProfileBuilder::AddShape(const SurveyedShape& s, int draws) {
  ProfileSection& section = profile_.sections[KindOfProblem(s.problem)];
  if (!s.supported) {
    ++section.tally.unsupported;
    return;
  }
  ProfileTally& tally = section.tally;
  ++tally.shapes;
  ++(s.explained ? tally.explained : tally.unexplained);
  tally.defects += s.defect();
  tally.predicted += s.predicted;
  if (s.explained) tally.draws += draws, tally.outputs += s.outputs;
  section.shapes.push_back({s.problem.m, s.problem.n, s.problem.k, IndexOf(s.algorithm), false, s.explained, s.summed_k, s.desc});
}

void ProfileBuilder::AddScan(const GemmProblem& problem, const std::vector<Algorithm>& answers) {
  if (answers.empty()) return;
  ProfileScan scan{problem.n, problem.k, static_cast<int64_t>(answers.size())};
  for (size_t i = 0; i < answers.size(); ++i) {
    const int32_t index = IndexOf(answers[i]);
    if (scan.runs.empty() || scan.runs.back().second != index) scan.runs.emplace_back(i + 1, index);
  }
  profile_.sections[KindOfProblem(problem)].scans.push_back(std::move(scan));
}

ArchProfile ProfileBuilder::Build(const RuleBook& book) && {
  profile_.entries = book.Entries();
  for (auto& [kind, section] : profile_.sections) {
    std::stable_sort(section.shapes.begin(), section.shapes.end(),
                     [](const auto& x, const auto& y) { return ShapeOrder(x) < ShapeOrder(y); });
    const auto end = std::unique(section.shapes.begin(), section.shapes.end(),
                                 [](const auto& x, const auto& y) { return ShapeOrder(x) == ShapeOrder(y); });
    section.shapes.erase(end, section.shapes.end());
    std::stable_sort(section.scans.begin(), section.scans.end(),
                     [](const auto& x, const auto& y) { return std::pair(x.n, x.k) < std::pair(y.n, y.k); });
    for (ProfileShape& shape : section.shapes) {
      if (!shape.explained || shape.summed_k != shape.k) continue;
      const GemmProblem problem = kind.At(shape.m, shape.n, shape.k);
      const Algorithm& algorithm = profile_.algorithms[shape.algorithm];
      const RuleEntry* entry = FindEntry(profile_, problem, algorithm);
      if (entry == nullptr) continue;
      const absl::StatusOr<GemmDesc> desc = Decide(*entry, problem, algorithm);
      shape.by_rule = desc.ok() && NormalForm(*desc, shape.k) == NormalForm(shape.desc, shape.k);
      if (shape.by_rule) shape.desc = {};
    }
  }
  return std::move(profile_);
}

absl::StatusOr<ShapeDescription> Describe(const ArchProfile& profile, const GemmProblem& problem,
                                          const Algorithm& algorithm) {
  ShapeDescription description{.algorithm = algorithm, .summed_k = problem.k};
  const RuleEntry* entry = FindEntry(profile, problem, algorithm);
  if (entry == nullptr) {
    return absl::NotFoundError(absl::StrCat("the profile has no rule for ", KindOf(problem, algorithm)));
  }
  absl::StatusOr<GemmDesc> desc = Decide(*entry, problem, algorithm);
  if (!desc.ok()) return desc.status();
  description.desc = *std::move(desc);
  description.rule_shapes = entry->shapes;
  return description;
}

absl::StatusOr<ShapeDescription> Describe(const ArchProfile& profile, const GemmProblem& problem) {
  const ProfileSection* section = FindSection(profile, problem);
  if (section == nullptr) return absl::NotFoundError(absl::StrCat("the profile has nothing on ", ShapeText(problem)));
  if (const ProfileShape* shape = FindShape(*section, problem); shape != nullptr) {
    const Algorithm& algorithm = profile.algorithms[shape->algorithm];
    if (!shape->explained) {
      return absl::FailedPreconditionError(absl::StrCat(ShapeText(problem), " was studied and is unexplained"));
    }
    absl::StatusOr<ShapeDescription> description =
        shape->by_rule ? Describe(profile, problem, algorithm) : ShapeDescription{shape->desc, algorithm};
    if (!description.ok()) return description;
    description->studied = true;
    description->summed_k = shape->summed_k;
    return description;
  }
  const int32_t answer = FindAnswer(*section, problem);
  if (answer < 0) {
    return absl::NotFoundError(absl::StrCat("the profile has no answer of the cost model for ", ShapeText(problem)));
  }
  return Describe(profile, problem, profile.algorithms[answer]);
}

std::string Digest(const ArchProfile& profile) { return Sha256Hex(ToText(profile)); }

std::vector<std::string> Differences(const GemmDesc& x, const GemmDesc& y, int64_t k) {
  if (NormalForm(x, k) == NormalForm(y, k)) return {};
  const std::vector<std::string> a = absl::StrSplit(ToText(x), ' '), b = absl::StrSplit(ToText(y), ' ');
  std::vector<std::string> differences;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i] || absl::string_view(a[i]).substr(0, 7) == "family=") continue;
    const std::vector<std::string> field = absl::StrSplit(a[i], absl::MaxSplits('=', 1));
    const std::vector<std::string> other = absl::StrSplit(b[i], absl::MaxSplits('=', 1));
    differences.push_back(absl::StrCat(field[0], " ", field[1], " -> ", other[1]));
  }
  return differences;
}

}  // namespace samebits::gemm
