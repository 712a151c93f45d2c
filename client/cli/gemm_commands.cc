// The commands `gemm ...`; they run in this process.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "core/gemm/hardware_vectors.h"

namespace samebits::cli {
namespace {

std::string VectorLine(const gemm::VectorCheck& check) {
  return absl::StrFormat("%-5s %-5s %-6s %6d %11s  %-8s %s", check.gpu, check.type, check.result, check.rows,
                         check.claimed ? absl::StrCat(check.mismatches) : std::string("-"),
                         check.claimed ? "claimed" : "not", check.unit);
}

nlohmann::json ToJson(const gemm::VectorCheck& check) {
  nlohmann::json row = {{"gpu", check.gpu}, {"type", check.type}, {"result", check.result}, {"rows", check.rows},
                        {"claimed", check.claimed}};
  if (check.claimed) row["mismatches"] = check.mismatches, row["unit"] = check.unit;
  return row;
}

}  // namespace

ExitCode RunGemmCheckVectors(const CommandLine& line) {
  const absl::StatusOr<std::vector<gemm::VectorCheck>> checks = gemm::CheckVectors(line.gemm.folder);
  if (!checks.ok()) {
    ReportError(line, checks.status());
    return ExitCode::kBadInput;
  }
  if (FormatOf(line) == Format::kJson) {
    nlohmann::json rows = nlohmann::json::array();
    for (const gemm::VectorCheck& check : *checks) rows.push_back(ToJson(check));
    PrintLine(rows.dump());
  } else {
    PrintLine("GPU   type  result   rows  mismatches  claimed  unit");
    for (const gemm::VectorCheck& check : *checks) PrintLine(VectorLine(check));
  }
  const bool fails =
      std::any_of(checks->begin(), checks->end(), [](const auto& c) { return c.claimed && c.mismatches > 0; });
  return fails ? ExitCode::kNotEquivalent : ExitCode::kEquivalent;
}

}  // namespace samebits::cli
