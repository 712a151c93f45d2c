// The text form of arch profiles.

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/gemm/profile.h"

namespace samebits::gemm {
namespace {

constexpr absl::string_view kHead = "samebits-profile/1";

constexpr std::pair<const char*, int64_t ProfileTally::*> kTally[] = {
    {"shapes", &ProfileTally::shapes},           {"explained", &ProfileTally::explained},
    {"unexplained", &ProfileTally::unexplained}, {"unsupported", &ProfileTally::unsupported},
    {"defects", &ProfileTally::defects},         {"predicted", &ProfileTally::predicted},
    {"draws", &ProfileTally::draws},             {"outputs", &ProfileTally::outputs}};

std::string KindText(const ProblemKind& kind) {
  return absl::StrCat("types=", TypesText(kind.At(1, 1, 1)), " layout=", ToText(kind.layout));
}

void AppendShape(const ProfileShape& s, std::string* text) {
  absl::StrAppend(text, s.by_rule ? "shape " : "special ", s.m, " ", s.n, " ", s.k, " ", s.algorithm);
  if (!s.by_rule) absl::StrAppend(text, " ", s.summed_k, " ", s.explained ? "explained " : "unexplained ", ToText(s.desc));
  absl::StrAppend(text, "\n");
}

void AppendScan(const ProfileScan& scan, std::string* text) {
  absl::StrAppend(text, "scan ", scan.n, " ", scan.k, " ", scan.most_m);
  for (const auto& [m, index] : scan.runs) absl::StrAppend(text, " ", m, ":", index);
  absl::StrAppend(text, "\n");
}

}  // namespace

std::string ToText(const ArchProfile& p) {
  std::string text = absl::StrCat(kHead, "\ndevice ", p.device, "\narch ", p.sm, " ", p.multiprocessors, "\nlibrary ", p.library,
                                  "\nversion ", p.library_version, "\ndriver ", p.driver, "\nworkspace ", p.workspace_bytes, "\n");
  for (const Algorithm& algorithm : p.algorithms) absl::StrAppend(&text, "algorithm ", ToText(algorithm), "\n");
  for (const auto& [kind, entry] : p.entries) {
    absl::StrAppend(&text, "entry ", entry.shapes, " ", kind, "\n");
    for (const GemmRule& rule : entry.rules) absl::StrAppend(&text, "rule ", ToText(rule), "\n");
  }
  for (const auto& [kind, section] : p.sections) {
    absl::StrAppend(&text, "section ", KindText(kind), "\ntally");
    for (const auto& [name, field] : kTally) absl::StrAppend(&text, " ", name, "=", section.tally.*field);
    absl::StrAppend(&text, "\n");
    for (const ProfileShape& shape : section.shapes) AppendShape(shape, &text);
    for (const ProfileScan& scan : section.scans) AppendScan(scan, &text);
  }
  return text;
}

namespace {

// Reads line by line; the first error ends it.
class Reader {
 public:
  absl::StatusOr<ArchProfile> Read(absl::string_view text) {
    int64_t number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      if (line.empty()) continue;
      const bool good = number == 1 ? line == kHead : ReadLine(line);
      if (!good) {
        return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", error_.empty() ? "not understood" : error_,
                                                       ": '", line.substr(0, 120), "'"));
      }
    }
    if (number == 0 || profile_.sm == 0) return absl::InvalidArgumentError("no arch profile: 'arch' is missing");
    return std::move(profile_);
  }

 private:
  using Words = std::vector<absl::string_view>;

  static bool Number(absl::string_view word, int64_t* value) { return absl::SimpleAtoi(word, value) && *value >= 0; }
  static bool Side(absl::string_view word, int64_t* value) {
    return Number(word, value) && *value >= 1 && *value <= int64_t{1} << 40;
  }
  bool Index(absl::string_view word, int32_t* index) {
    return absl::SimpleAtoi(word, index) && *index >= 0 && static_cast<size_t>(*index) < profile_.algorithms.size();
  }
  bool Fail(const absl::Status& status) {
    error_ = std::string(status.message());
    return false;
  }
  static std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

  bool ReadLine(absl::string_view line) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const absl::string_view rest = parts.second;
    if (parts.first == "device") return profile_.device = std::string(rest), true;
    if (parts.first == "library") return profile_.library = std::string(rest), true;
    if (parts.first == "driver") return profile_.driver = std::string(rest), true;
    if (parts.first == "version") return Number(rest, &profile_.library_version);
    if (parts.first == "workspace") return Number(rest, &profile_.workspace_bytes);
    if (parts.first == "algorithm") return ReadAlgorithm(rest);
    if (parts.first == "entry") return ReadEntry(rest);
    if (parts.first == "rule") return ReadRule(rest);
    if (parts.first == "section") return ReadSection(rest);
    const Words words = absl::StrSplit(rest, ' ');
    if (parts.first == "arch") return words.size() == 2 && Side(words[0], &profile_.sm) && Number(words[1], &profile_.multiprocessors);
    if (section_ == nullptr) return false;
    if (parts.first == "tally") return ReadTally(words);
    if (parts.first == "shape" || parts.first == "special") return ReadShape(words, parts.first == "special", rest);
    return parts.first == "scan" && ReadScan(words);
  }

  bool ReadAlgorithm(absl::string_view text) {
    const absl::StatusOr<Algorithm> algorithm = ParseAlgorithm(View(text));
    if (!algorithm.ok()) return Fail(algorithm.status());
    profile_.algorithms.push_back(*algorithm);
    return true;
  }

  bool ReadEntry(absl::string_view text) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
    RuleEntry entry;
    if (!Number(parts.first, &entry.shapes) || parts.second.empty()) return false;
    const auto [place, fresh] = profile_.entries.emplace(parts.second, entry);
    entry_ = &place->second;
    return fresh;
  }

  bool ReadRule(absl::string_view text) {
    if (entry_ == nullptr) return false;
    absl::StatusOr<GemmRule> rule = ParseGemmRule(View(text));
    if (!rule.ok()) return Fail(rule.status());
    entry_->rules.push_back(*std::move(rule));
    return true;
  }

  bool ReadSection(absl::string_view text) {
    const Words words = absl::StrSplit(text, ' ');
    GemmProblem problem;
    if (words.size() != 2 || !absl::StartsWith(words[0], "types=") || !absl::StartsWith(words[1], "layout=")) return false;
    if (absl::Status status = ParseTypes(View(words[0].substr(6)), &problem); !status.ok()) return Fail(status);
    const absl::StatusOr<Layout> layout = ParseLayout(View(words[1].substr(7)));
    if (!layout.ok()) return Fail(layout.status());
    problem.layout = *layout;
    const auto [place, fresh] = profile_.sections.emplace(KindOfProblem(problem), ProfileSection());
    section_ = &place->second;
    return fresh;
  }

  bool ReadTally(const Words& words) {
    for (absl::string_view word : words) {
      bool known = false;
      for (const auto& [name, field] : kTally) {
        const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
        if (parts.first == name) known = Number(parts.second, &(section_->tally.*field));
      }
      if (!known) return false;
    }
    return true;
  }

  bool ReadShape(const Words& words, bool special, absl::string_view rest) {
    ProfileShape shape;
    shape.by_rule = !special;
    if (words.size() < 4 || (!special && words.size() != 4)) return false;
    if (!Side(words[0], &shape.m) || !Side(words[1], &shape.n) || !Side(words[2], &shape.k)) return false;
    if (shape.k > kMaxK || !Index(words[3], &shape.algorithm)) return false;
    shape.summed_k = shape.k;
    if (special) {
      const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits(' ', 6));
      if (parts.size() != 7 || !Number(parts[4], &shape.summed_k) || shape.summed_k > shape.k) return false;
      shape.explained = parts[5] == "explained";
      if (!shape.explained && parts[5] != "unexplained") return false;
      absl::StatusOr<GemmDesc> desc = ParseGemmDesc(View(parts[6]));
      if (!desc.ok()) return Fail(desc.status());
      shape.desc = *std::move(desc);
    }
    const auto order = [](const ProfileShape& s) { return std::tuple(s.m, s.n, s.k); };
    if (!section_->shapes.empty() && order(section_->shapes.back()) >= order(shape)) {
      error_ = "shapes must ascend";
      return false;
    }
    section_->shapes.push_back(std::move(shape));
    return true;
  }

  bool ReadScan(const Words& words) {
    ProfileScan scan;
    if (words.size() < 4 || !Side(words[0], &scan.n) || !Side(words[1], &scan.k) || !Side(words[2], &scan.most_m)) return false;
    for (size_t i = 3; i < words.size(); ++i) {
      const std::pair<absl::string_view, absl::string_view> run = absl::StrSplit(words[i], absl::MaxSplits(':', 1));
      auto& [m, index] = scan.runs.emplace_back();
      if (!Side(run.first, &m) || m > scan.most_m || !Index(run.second, &index)) return false;
      if (i == 3 ? m != 1 : m <= scan.runs[scan.runs.size() - 2].first) return false;
    }
    section_->scans.push_back(std::move(scan));
    return true;
  }

  ArchProfile profile_;
  RuleEntry* entry_ = nullptr;
  ProfileSection* section_ = nullptr;
  std::string error_;
};

}  // namespace

absl::StatusOr<ArchProfile> ParseArchProfile(std::string_view text) {
  return Reader().Read(absl::string_view(text.data(), text.size()));
}

}  // namespace samebits::gemm
