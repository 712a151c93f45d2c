#include "client/cli/gemm_report.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/terminal.h"
#include "samebits/v1/gemm_jobs.pb.h"

namespace samebits::cli {
namespace {

using v1::RecoveredGemm;

std::string HumanGemm(const RecoveredGemm& g) {
  const v1::GemmShape& s = g.shape();
  std::string out = absl::StrFormat("%d x %d x %d, %s, layout %s\n", s.m(), s.n(), s.k(), OneLine(s.types()), OneLine(s.layout()));
  if (g.state() == RecoveredGemm::UNSUPPORTED) return absl::StrCat(out, "  not supported by the library: ", OneLine(g.reason()), "\n");
  absl::StrAppend(&out, "  algorithm   ", g.algorithm().empty() ? "not told by the library" : OneLine(g.algorithm()), "\n");
  for (const std::string& line : g.evidence()) absl::StrAppend(&out, "    ", OneLine(line), "\n");
  absl::StrAppend(&out, "  ", OneLine(g.text()), "\n  ",
                  g.state() == RecoveredGemm::UNEXPLAINED ? absl::StrCat("UNEXPLAINED, this is the closest: ", OneLine(g.reason()))
                                                          : OneLine(g.description()),
                  "\n");
  if (g.has_mismatch())
    absl::StrAppendFormat(&out, "  first mismatch at row %d, column %d: %x, library %x\n", g.mismatch().row(), g.mismatch().column(),
                          g.mismatch().expected(), g.mismatch().library());
  if (g.state() == RecoveredGemm::DEFECT)
    absl::StrAppendFormat(&out, "  DEFECT: elements %d to %d are not summed\n", g.summed_k(), s.k() - 1);
  absl::StrAppendFormat(&out, "  %d launches, %d outputs compared\n", g.launches(), g.outputs());
  return out;
}

}  // namespace

std::string HumanRecovery(const v1::RecoverGemmsResponse& r) {
  std::string out = absl::StrFormat("%s %d on %s, sm_%d, %d multiprocessors, driver %s, workspace %d bytes\n", OneLine(r.library()),
                                    r.library_version(), OneLine(r.device()), r.architecture(), r.multiprocessors(),
                                    r.driver().empty() ? "unknown" : OneLine(r.driver()), r.workspace_bytes());
  for (const RecoveredGemm& gemm : r.gemms()) out += HumanGemm(gemm);
  return out;
}

std::string HumanEmulation(const v1::EmulateGemmOnWorkerResponse& r) {
  return absl::StrCat(r.outputs(), " outputs in ", r.blocks_size(), " blocks\nsha256 ", absl::BytesToHexString(r.sha256()), "\n");
}

ExitCode ExitCodeOf(const v1::RecoverGemmsResponse& response) {
  bool unexplained = false, defect = false, unsupported = false;
  for (const RecoveredGemm& g : response.gemms()) {
    unexplained = unexplained || g.state() == RecoveredGemm::UNEXPLAINED;
    defect = defect || g.state() == RecoveredGemm::DEFECT;
    unsupported = unsupported || g.state() == RecoveredGemm::UNSUPPORTED;
  }
  if (unexplained) return ExitCode::kUnknown;
  if (defect) return ExitCode::kNotEquivalent;
  return unsupported ? ExitCode::kBadInput : ExitCode::kEquivalent;
}

}  // namespace samebits::cli
