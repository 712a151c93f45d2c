// The commands `gemm ...`; they run in this process.

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/gemm_library.h"
#include "core/gemm/emulator.h"
#include "core/gemm/hardware_vectors.h"
#include "core/gemm/plan.h"
#include "core/gemm/simulation.h"

namespace samebits::cli {
namespace {

// Arithmetic that is not established is an answer about the input, not a failure.
ExitCode BadInput(const CommandLine& line, const absl::Status& status) {
  ReportError(line, status);
  return ExitCode::kBadInput;
}

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
  if (!checks.ok()) return BadInput(line, checks.status());
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

namespace {

std::string Hex(const Digest128& digest) { return absl::StrFormat("%016x%016x", digest.hi, digest.lo); }

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

absl::StatusOr<std::vector<uint8_t>> EmulateFiles(const GemmOptions& o, const gemm::GemmDesc& desc) {
  std::string files[4];
  const std::string* paths[] = {&o.a, &o.b, &o.c, &o.bias};
  for (int i = 0; i < 4; ++i) {
    if (paths[i]->empty()) continue;
    absl::StatusOr<std::string> bytes = ReadOperand(o, *paths[i]);
    if (!bytes.ok()) return bytes.status();
    files[i] = *std::move(bytes);
  }
  gemm::GemmOperands operands{o.m, o.n, o.k, Bytes(files[0]), Bytes(files[1]), Bytes(files[2]), Bytes(files[3])};
  operands.alpha = EpilogueScalar(desc, o.alpha);
  operands.beta = EpilogueScalar(desc, o.beta);
  return gemm::Emulate(desc, o.sm, operands, o.threads);
}

}  // namespace

ExitCode RunGemmDescribe(const CommandLine& line) {
  const GemmOptions& o = line.gemm;
  const absl::StatusOr<gemm::GemmDesc> desc = ReadDescriptor(o.desc);
  if (!desc.ok()) return BadInput(line, desc.status());
  std::string observable;
  if (o.k >= 0 && o.sm > 0) {
    const absl::StatusOr<gemm::Plan> plan = gemm::Compile(*desc, o.k, o.sm);
    if (!plan.ok()) return BadInput(line, plan.status());
    observable = Hex(gemm::DigestOf(*plan));
  } else if (o.k >= 0 || o.sm > 0) {
    return BadInput(line, absl::InvalidArgumentError("--k and --sm go together"));
  }
  if (FormatOf(line) == Format::kJson) {
    nlohmann::json row = {{"text", gemm::ToText(*desc)}, {"description", gemm::Describe(*desc)},
                          {"digest", gemm::Digest(*desc)}};
    if (!observable.empty()) row["observable"] = observable;
    PrintLine(row.dump());
    return ExitCode::kEquivalent;
  }
  PrintLine(gemm::ToText(*desc));
  PrintLine(gemm::Describe(*desc));
  PrintLine(absl::StrCat("digest      ", gemm::Digest(*desc)));
  if (!observable.empty()) PrintLine(absl::StrCat("observable  ", observable, "  at K = ", o.k, " on sm_", o.sm));
  return ExitCode::kEquivalent;
}

ExitCode RunGemmEmulate(const CommandLine& line) {
  if (line.gemm.out.empty()) return BadInput(line, absl::InvalidArgumentError("--out FILE is needed for operands of files"));
  const absl::StatusOr<gemm::GemmDesc> desc = ReadDescriptor(line.gemm.desc);
  if (!desc.ok()) return BadInput(line, desc.status());
  const absl::StatusOr<std::vector<uint8_t>> bytes = EmulateFiles(line.gemm, *desc);
  if (!bytes.ok()) return BadInput(line, bytes.status());
  std::ofstream out(line.gemm.out, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
  if (!out.flush()) return BadInput(line, absl::InvalidArgumentError(absl::StrCat(line.gemm.out, ": cannot be written")));
  return ExitCode::kEquivalent;
}

ExitCode RunGemmSimulate(const CommandLine& line) {
  gemm::SimulationOptions options;
  options.count = line.gemm.count;
  options.seed = line.gemm.seed;
  options.defects = !line.gemm.no_defects;
  options.threads = line.gemm.threads;
  gemm::SimulationTable table;
  const absl::Status status = gemm::Simulate(options, [&](const gemm::SimulatedCase& c) {
    table.Add(c);
    if (c.recovered()) return;
    PrintLine(absl::StrFormat("seed %d, %d x %d x %d on sm_%d is not recovered: %s%s\n  hidden    %s\n  recovered %s", c.seed,
                              c.hidden.problem.m, c.hidden.problem.n, c.hidden.problem.k, c.hidden.sm,
                              c.recovery.reason,
                              c.recovery.explained ? (c.equal_bytes ? "other form, equal bytes" : "other bytes") : "",
                              gemm::ToText(c.hidden.desc), gemm::ToText(c.recovery.desc)));
  });
  if (!status.ok()) {
    ReportError(line, status);
    return ExitCode::kFailure;
  }
  PrintText(table.ToString());
  return table.recovered() == table.cases() ? ExitCode::kEquivalent : ExitCode::kNotEquivalent;
}

}  // namespace samebits::cli
