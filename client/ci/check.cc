#include "client/ci/check.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::ci {
namespace {

using checker::SignatureStatus;

struct Group {
  std::vector<size_t> baseline, candidate;
};

bool HasDigest(const SignedKernel& kernel) {
  return kernel.signature.ok() && kernel.signature->status == SignatureStatus::kOk;
}

bool IsNondeterministic(const SignedKernel& kernel) {
  return kernel.signature.ok() && kernel.signature->status == SignatureStatus::kNondeterministic;
}

std::string Why(const char* side, const SignedKernel& kernel) {
  if (HasDigest(kernel)) return "";
  if (!kernel.signature.ok()) return absl::StrCat(side, ": ", kernel.signature.status().message());
  return absl::StrCat(side, ": ", kernel.signature->reason, kernel.signature->place.line == 0 ? "" : absl::StrCat(" (line ", kernel.signature->place.line, ")"));
}

std::string Joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "; " + b; }

void Judge(const SignedKernel& a, const SignedKernel& b, Finding* finding) {
  finding->same_text = !a.digest.empty() && a.digest == b.digest;
  if (HasDigest(a) && HasDigest(b)) {
    finding->outcome = a.signature->digest == b.signature->digest ? Outcome::kEqual : Outcome::kChanged;
    if (finding->outcome == Outcome::kChanged)
      finding->reason = absl::StrCat("signature ", a.signature->digest, " became ", b.signature->digest);
    return;
  }
  const bool one_is_racy = (IsNondeterministic(a) && HasDigest(b)) || (HasDigest(a) && IsNondeterministic(b));
  finding->outcome = one_is_racy ? Outcome::kChanged : Outcome::kUnknown;
  finding->reason = Joined(Why("baseline", a), Why("candidate", b));
}

class Matcher {
 public:
  Matcher(const std::vector<SignedKernel>& baseline, const std::vector<SignedKernel>& candidate,
          std::vector<Finding>* findings)
      : baseline_(baseline), candidate_(candidate), findings_(*findings) {}

  void Match(const std::string& key, Group group) {
    key_ = key;
    number_ = 0;
    is_single_ = group.baseline.size() <= 1 && group.candidate.size() <= 1;
    PairBy(&group, [](const SignedKernel& kernel) { return kernel.digest; });
    PairBy(&group, [](const SignedKernel& kernel) { return HasDigest(kernel) ? kernel.signature->digest : ""; });
    size_t pairs = std::min(group.baseline.size(), group.candidate.size());
    for (size_t i = 0; i < pairs; ++i) AddPair(group.baseline[i], group.candidate[i]);
    for (size_t i = pairs; i < group.baseline.size(); ++i) AddSingle(Outcome::kGone, group.baseline[i]);
    for (size_t i = pairs; i < group.candidate.size(); ++i) AddSingle(Outcome::kNew, group.candidate[i]);
  }

 private:
  // Takes the pairs that agree in a property, where it is not empty, out of the group.
  template <typename Property>
  void PairBy(Group* group, const Property& property) {
    std::multimap<std::string, size_t> waiting;
    for (const size_t i : group->candidate) waiting.emplace(property(candidate_[i]), i);
    std::vector<size_t> left;
    for (const size_t i : group->baseline) {
      const std::string value = property(baseline_[i]);
      const auto at = value.empty() ? waiting.end() : waiting.lower_bound(value);
      if (at == waiting.end() || at->first != value) {
        left.push_back(i);
        continue;
      }
      AddPair(i, at->second);
      std::erase(group->candidate, at->second);
      waiting.erase(at);
    }
    group->baseline = std::move(left);
  }
  Finding* Add() {
    Finding finding;
    finding.id = is_single_ ? key_ : absl::StrCat(key_, " (", ++number_, ")");
    findings_.push_back(std::move(finding));
    return &findings_.back();
  }
  void AddPair(size_t a, size_t b) {
    Finding* finding = Add();
    finding->baseline = a;
    finding->candidate = b;
    Judge(baseline_[a], candidate_[b], finding);
  }
  void AddSingle(Outcome outcome, size_t index) {
    Finding* finding = Add();
    finding->outcome = outcome;
    (outcome == Outcome::kGone ? finding->baseline : finding->candidate) = index;
  }

  const std::vector<SignedKernel>& baseline_;
  const std::vector<SignedKernel>& candidate_;
  std::vector<Finding>& findings_;
  std::string key_;
  size_t number_ = 0;
  bool is_single_ = true;
};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kEqual:
      return "equal";
    case Outcome::kChanged:
      return "changed";
    case Outcome::kNew:
      return "new";
    case Outcome::kGone:
      return "gone";
    case Outcome::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<Finding> FindChanges(const std::vector<SignedKernel>& baseline, const std::vector<SignedKernel>& candidate) {
  std::map<std::string, Group> groups;
  for (size_t i = 0; i < baseline.size(); ++i) groups[baseline[i].key].baseline.push_back(i);
  for (size_t i = 0; i < candidate.size(); ++i) groups[candidate[i].key].candidate.push_back(i);
  std::vector<Finding> findings;
  Matcher matcher(baseline, candidate, &findings);
  for (auto& [key, group] : groups) matcher.Match(key, std::move(group));
  return findings;
}

Counts CountOutcomes(const std::vector<Finding>& findings) {
  Counts counts{};
  for (const Finding& finding : findings) ++counts[static_cast<size_t>(finding.outcome)];
  return counts;
}

}  // namespace samebits::ci
