#include "client/ci/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launch/abseil_text.h"
#include "client/render/escape.h"

namespace samebits::ci {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The file in question: the candidate's where there is one.
std::string PathOf(const Report& report, const Finding& finding) {
  if (finding.candidate) return report.candidate[*finding.candidate].path;
  return finding.baseline ? report.baseline[*finding.baseline].path : "";
}

std::string PlaceText(const checker::Place& place) {
  return absl::StrCat("line ", place.line, place.source.empty() ? "" : ", " + place.source,
                      place.instruction.empty() ? "" : ": " + place.instruction);
}

// The place in the candidate's text that the finding is about; line 0 where there is none.
checker::Place PlaceOf(const Report& report, const Finding& finding) {
  if (finding.difference) return finding.difference->b.place;
  if (finding.candidate && report.candidate[*finding.candidate].signature.ok())
    return report.candidate[*finding.candidate].signature->place;
  return {};
}

Json SideJson(const std::vector<SignedKernel>& kernels, const std::optional<size_t>& index) {
  if (!index) return nullptr;
  const SignedKernel& kernel = kernels[*index];
  Json json = {{"path", kernel.path.empty() ? Json(nullptr) : Json(kernel.path)}, {"signature", nullptr}};
  if (kernel.signature.ok()) {
    if (!kernel.signature->digest.empty()) json["signature"] = kernel.signature->digest;
    json["status"] = std::string(checker::StatusName(kernel.signature->status));
    json["assumptions"] = kernel.signature->assumptions;
  } else {
    json["status"] = "UNKNOWN";
  }
  return json;
}

std::string Element(const std::string& text, const char* name, const std::string& attributes) {
  return absl::StrCat("    <", name, attributes, ">", render::Escape(text), "</", name, ">\n");
}

const char* LevelOf(const Report& report, const Finding& finding) {
  if (Fails(report, finding)) return "error";
  return finding.outcome == Outcome::kNew ? "note" : "warning";
}

const char* TitleOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kEqual:
      return "The kernel returns the same bits as the baseline's";
    case Outcome::kChanged:
      return "The kernel's bits differ from the baseline's";
    case Outcome::kNew:
      return "The baseline has no such kernel";
    case Outcome::kGone:
      return "The candidate lacks a kernel of the baseline";
    case Outcome::kUnknown:
      break;
  }
  return "Not decided whether the kernel returns the same bits";
}

std::string Message(const Report& report, const Finding& finding) {
  std::vector<std::string> lines = Lines(report, finding);
  lines.insert(lines.begin(), absl::StrCat(finding.id, ": ", TitleOf(finding.outcome)));
  return absl::StrJoin(lines, ". ");
}

Json ResultJson(const Report& report, const Finding& finding) {
  Json result = {{"ruleId", absl::StrCat("samebits/", launch::Abseil(OutcomeName(finding.outcome)))},
                 {"level", LevelOf(report, finding)},
                 {"message", {{"text", Message(report, finding)}}},
                 {"partialFingerprints", {{"kernel/v1", finding.id}}}};
  const std::string path = PathOf(report, finding);
  if (path.empty()) return result;
  Json location = {{"artifactLocation", {{"uri", path}}}};
  if (const checker::Place place = PlaceOf(report, finding); place.line != 0)
    location["region"] = {{"startLine", place.line}};
  result["locations"] = Json::array({{{"physicalLocation", location}}});
  return result;
}

}  // namespace

bool Fails(const Report& report, const Finding& finding) {
  if (finding.outcome == Outcome::kUnknown && finding.same_text) return false;
  return report.fails[static_cast<size_t>(finding.outcome)];
}

std::vector<std::string> Lines(const Report& report, const Finding& finding) {
  std::vector<std::string> lines;
  if (!finding.reason.empty()) lines.push_back(finding.reason);
  if (finding.outcome == Outcome::kUnknown && finding.same_text)
    lines.push_back("text and launch are those of the baseline, so nothing changed");
  if (!finding.difference) {
    if (finding.outcome == Outcome::kChanged && report.baseline[*finding.baseline].path.empty())
      lines.push_back("the baseline holds signatures only; with --baseline DIR the check shows where the two part");
    return lines;
  }
  const checker::Difference& d = *finding.difference;
  lines.push_back(d.summary);
  if (!d.buffer.empty()) lines.push_back(absl::StrCat("first at ", d.buffer, ", byte ", d.byte_offset));
  for (const auto& [name, side] : {std::pair{"baseline", &d.a}, std::pair{"candidate", &d.b}}) {
    if (side->place.line != 0) lines.push_back(absl::StrCat(name, ": ", PlaceText(side->place)));
  }
  return lines;
}

std::string JsonReport(const Report& report) {
  Json counts = Json::object(), findings = Json::array();
  const Counts numbers = CountOutcomes(report.findings);
  for (int i = 0; i < kOutcomes; ++i) counts[std::string(OutcomeName(static_cast<Outcome>(i)))] = numbers[i];
  size_t failures = 0;
  for (const Finding& finding : report.findings) {
    failures += Fails(report, finding);
    findings.push_back({{"id", finding.id},
                        {"outcome", std::string(OutcomeName(finding.outcome))},
                        {"fails", Fails(report, finding)},
                        {"same_text", finding.same_text},
                        {"explanation", Lines(report, finding)},
                        {"baseline", SideJson(report.baseline, finding.baseline)},
                        {"candidate", SideJson(report.candidate, finding.candidate)}});
  }
  return Dump({{"counts", counts},
               {"failures", failures},
               {"findings", findings},
               {"version", report.version},
               {"signature_version", checker::SignatureVersion()}}) +
         "\n";
}

std::string JunitReport(const Report& report) {
  size_t failures = 0, skipped = 0;
  std::string cases;
  for (const Finding& finding : report.findings) {
    const bool fails = Fails(report, finding), undecided = finding.outcome == Outcome::kUnknown && !fails;
    failures += fails;
    skipped += undecided;
    absl::StrAppend(&cases, "  <testcase classname=\"samebits\" name=\"", render::Escape(finding.id), "\">\n");
    const std::string attributes =
        absl::StrCat(" message=\"", render::Escape(TitleOf(finding.outcome)), "\" type=\"", launch::Abseil(OutcomeName(finding.outcome)), "\"");
    const std::string text = absl::StrJoin(Lines(report, finding), "\n");
    if (fails) {
      cases += Element(text, "failure", attributes);
    } else if (undecided) {
      cases += Element("", "skipped", absl::StrCat(" message=\"", render::Escape(text), "\""));
    } else if (finding.outcome != Outcome::kEqual) {
      cases += Element(absl::StrCat(launch::Abseil(OutcomeName(finding.outcome)), "\n", text), "system-out", "");
    }
    cases += "  </testcase>\n";
  }
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"samebits ci check\" tests=\"",
                      report.findings.size(), "\" failures=\"", failures, "\" errors=\"0\" skipped=\"", skipped, "\">\n",
                      cases, "</testsuite>\n</testsuites>\n");
}

std::string SarifReport(const Report& report) {
  Json rules = Json::array(), results = Json::array();
  for (int i = 1; i < kOutcomes; ++i) {
    const Outcome outcome = static_cast<Outcome>(i);
    rules.push_back({{"id", absl::StrCat("samebits/", launch::Abseil(OutcomeName(outcome)))}, {"shortDescription", {{"text", TitleOf(outcome)}}}});
  }
  for (const Finding& finding : report.findings) {
    if (finding.outcome != Outcome::kEqual) results.push_back(ResultJson(report, finding));
  }
  const Json driver = {{"name", "samebits"}, {"version", report.version}, {"rules", rules}};
  return Dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}}) +
         "\n";
}

}  // namespace samebits::ci
