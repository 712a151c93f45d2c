#include "client/cli/human_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace samebits::cli {
namespace {

using checker::SignatureStatus;
using checker::Verdict;

constexpr size_t kLabelColumns = 12;

std::string Name(Verdict verdict) { return std::string(checker::VerdictName(verdict)); }

std::string Colored(Verdict verdict, const std::string& text, const Style& style) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return style.Green(text);
    case Verdict::kUnknown:
      return style.Yellow(text);
    case Verdict::kDifferent:
    case Verdict::kDistinct:
    case Verdict::kNondeterministic:
      break;
  }
  return style.Red(text);
}

std::string Assumptions(const checker::Comparison& comparison, const Layout& layout) {
  std::vector<std::string> all = comparison.a.assumptions;
  all.insert(all.end(), comparison.b.assumptions.begin(), comparison.b.assumptions.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) out += LabelledText(i == 0 ? "assuming" : "", all[i], layout);
  return out;
}

// Why a launch has no signature.
std::string Trouble(const char* label, const checker::Signature& signature, const Layout& layout) {
  if (signature.status == SignatureStatus::kOk) return "";
  std::string text = absl::StrCat(std::string(checker::StatusName(signature.status)), ": ", signature.reason);
  const std::string place = DescribePlace(signature.place);
  if (!place.empty()) absl::StrAppend(&text, "\n", place);
  return LabelledText(label, text, layout);
}

std::string Counted(size_t count, const char* what) {
  if (count == 1) return absl::StrCat("1 ", what);
  return absl::StrCat(count, " ", what, what[std::string_view(what).size() - 1] == 's' ? "es" : "s");
}

std::string ReasonOf(const BatchItem& item) {
  if (!item.signature.ok()) return std::string(item.signature.status().message());
  const std::string place = DescribePlace(item.signature->place);
  return place.empty() ? item.signature->reason : absl::StrCat(item.signature->reason, " (", place, ")");
}

std::string Outsiders(const char* title, const std::vector<size_t>& members, const std::vector<BatchItem>& items,
                      const Partition& partition, const Layout& layout) {
  if (members.empty()) return "";
  std::string out = absl::StrCat("\n", layout.style.Yellow(title), "  ", Counted(members.size(), "kernel"), "\n");
  for (const size_t i : members) {
    absl::StrAppend(&out, "    ", OneLine(items[i].id), partition.reference == i ? "  (reference)" : "", "\n");
    for (const std::string& line : WrapLines(ReasonOf(items[i]), std::max(layout.width - 8, 20))) {
      absl::StrAppend(&out, "        ", layout.style.Dim(line), "\n");
    }
  }
  return out;
}

std::string ClassText(size_t number, const PartitionClass& c, const std::vector<BatchItem>& items,
                      const Partition& partition, const Layout& layout) {
  std::string out = absl::StrCat("\n", layout.style.Bold(absl::StrCat("class ", number)), "  ",
                                 Counted(c.members.size(), "kernel"), "  ", layout.style.Dim(c.digest), "\n");
  for (const size_t i : c.members) {
    absl::StrAppend(&out, "  ", i == c.representative ? "* " : "  ", OneLine(items[i].id),
                    partition.reference == i ? "  (reference)" : "", "\n");
  }
  return out;
}

}  // namespace

const char* Meaning(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return "proved: both write the same bytes to the same addresses, whatever memory holds";
    case Verdict::kDifferent:
      return "an input is known on which they return different bits";
    case Verdict::kDistinct:
      return "they compute different expressions; no input is known that tells them apart";
    case Verdict::kNondeterministic:
      return "the bits depend on the order in which threads arrive";
    case Verdict::kUnknown:
      break;
  }
  return "not decided";
}

std::string VerboseLine(const std::string& id, const absl::StatusOr<checker::Signature>& signature) {
  if (!signature.ok()) return OneLine(absl::StrCat(id, ": ", signature.status().message()));
  const double milliseconds = signature->times.total() / 1000;
  return OneLine(absl::StrCat(id, ": ", std::string(checker::StatusName(signature->status)), " in ", milliseconds, " ms, ",
                              signature->steps, " steps, ", signature->nodes, " nodes"));
}

std::string LabelledText(const std::string& label, std::string_view text, const Layout& layout) {
  const size_t indent = 2 + kLabelColumns;
  std::string out;
  bool first = true;
  for (const std::string& line : WrapLines(text, std::max<size_t>(layout.width - indent, 20))) {
    absl::StrAppend(&out, "  ", layout.style.Dim(Fit(first ? label : "", kLabelColumns)), line, "\n");
    first = false;
  }
  return out;
}

std::string DescribePlace(const checker::Place& place) {
  std::string out;
  if (place.line != 0) absl::StrAppend(&out, "line ", place.line);
  if (!place.source.empty()) absl::StrAppend(&out, out.empty() ? "" : ", ", place.source);
  if (!place.instruction.empty()) absl::StrAppend(&out, out.empty() ? "" : ": ", place.instruction);
  return OneLine(out);
}

std::string HumanComparison(const checker::Comparison& comparison, const std::string& a, const std::string& b,
                            const Layout& layout) {
  const Style& style = layout.style;
  std::string out = absl::StrCat(Colored(comparison.verdict, Name(comparison.verdict), style), "  ",
                                 style.Bold(OneLine(a)), "  ", style.Bold(OneLine(b)), "\n");
  out += LabelledText("meaning", Meaning(comparison.verdict), layout);
  const std::string trouble = Trouble("first", comparison.a, layout) + Trouble("second", comparison.b, layout);
  if (trouble.empty() && !comparison.reason.empty()) out += LabelledText("reason", comparison.reason, layout);
  out += trouble;
  if (comparison.verdict == Verdict::kEquivalent) {
    out += LabelledText("signature", comparison.a.digest, layout);
  } else if (!comparison.a.digest.empty() && !comparison.b.digest.empty()) {
    out += LabelledText("signatures", absl::StrCat(comparison.a.digest, "\n", comparison.b.digest), layout);
  }
  return out + Assumptions(comparison, layout);
}

std::string HumanPartition(const Partition& partition, const std::vector<BatchItem>& items, const Layout& layout) {
  std::string out = absl::StrCat(Counted(items.size(), "kernel"), ", ", Counted(partition.classes.size(), "class"));
  for (const auto& [members, what] :
       {std::pair{&partition.nondeterministic, " nondeterministic"}, std::pair{&partition.unknown, " unknown"},
        std::pair{&partition.errors, " in error"}}) {
    if (!members->empty()) absl::StrAppend(&out, ", ", members->size(), what);
  }
  absl::StrAppend(&out, "  ", layout.style.Dim("(* represents its class)"), "\n");
  for (size_t i = 0; i < partition.classes.size(); ++i) {
    out += ClassText(i + 1, partition.classes[i], items, partition, layout);
  }
  out += Outsiders("nondeterministic", partition.nondeterministic, items, partition, layout);
  out += Outsiders("unknown", partition.unknown, items, partition, layout);
  return out + Outsiders("in error", partition.errors, items, partition, layout);
}

std::string HumanSignatureLine(const BatchItem& item, size_t id_width, const Layout& layout) {
  const bool is_ok = item.signature.ok() && item.signature->status == SignatureStatus::kOk;
  const std::string status = item.signature.ok() ? std::string(checker::StatusName(item.signature->status)) : "UNKNOWN";
  const std::string text = is_ok ? item.signature->digest : OneLine(ReasonOf(item));
  const std::string shown = Fit(status, 16);
  return absl::StrCat(Fit(OneLine(item.id), id_width), "  ",
                      is_ok ? layout.style.Green(shown) : layout.style.Yellow(shown), "  ", text, "\n");
}

std::string HumanRegistered(const Registered& kernel, const std::string& path, const Layout& layout) {
  std::string out = absl::StrCat(layout.style.Bold(OneLine(path)), "\n");
  out += LabelledText("name", kernel.name, layout);
  out +=
      LabelledText("text", absl::StrCat(kernel.info.isa, kernel.info.version.empty() ? "" : " ", kernel.info.version, ", ", kernel.info.target), layout);
  for (const checker::EntryInfo& entry : kernel.info.entries) {
    std::string text = absl::StrCat(entry.name, "(");
    for (size_t i = 0; i < entry.parameters.size(); ++i) {
      absl::StrAppend(&text, i ? ", " : "", entry.parameters[i].type, entry.parameters[i].is_pointer ? " pointer" : "");
    }
    out += LabelledText("entry", text + ")", layout);
  }
  return out;
}

}  // namespace samebits::cli
