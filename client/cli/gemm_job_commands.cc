// `gemm probe` and `gemm emulate` as jobs of workers, and the latter's blocks in this process.

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/gemm_library.h"
#include "client/cli/gemm_report.h"
#include "client/cli/job_connection.h"
#include "client/cli/job_report.h"
#include "client/cli/progress.h"
#include "client/cli/terminal.h"
#include "core/gemm/operand.h"
#include "proto/convert/gemm.h"
#include "workers/gemm_jobs/gemm_work.h"

namespace samebits::cli {
namespace {

constexpr char kGenerate[] = "generate:";

ExitCode BadInput(const CommandLine& line, const absl::Status& status) {
  ReportError(line, status);
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ? ExitCode::kBadInput : ExitCode::kFailure;
}

// Submits, and where the command waits, the operation at its end, which has a result.
absl::StatusOr<v1::Operation> RunJob(const CommandLine& line, const absl::StatusOr<v1::Operation>& submitted, const char* unit) {
  if (!submitted.ok() || line.job.no_wait) return submitted;
  const auto jobs = ConnectJobClient(line);
  if (!jobs.ok()) return jobs.status();
  absl::StatusOr<v1::Operation> operation = WatchWithProgress(line, **jobs, submitted->name(), unit);
  if (!operation.ok() || !operation->has_error()) return operation;
  return absl::Status(static_cast<absl::StatusCode>(operation->error().code()),
                      absl::StrCat(operation->name(), ": ", operation->error().message()));
}

ExitCode PrintStarted(const CommandLine& line, const v1::Operation& operation) {
  PrintLine(FormatOf(line) == Format::kJson ? JsonMessage(operation) : operation.name());
  return ExitCode::kEquivalent;
}

absl::StatusOr<std::vector<gemm::GemmProblem>> ProblemsOf(const GemmOptions& options) {
  std::vector<gemm::GemmProblem> problems;
  if (options.problems.empty()) {
    if (options.m < 1 && options.n < 1 && options.k < 1)
      return absl::InvalidArgumentError("no shape; name some with --shape MxNxK, or one with --m, --n and --k");
    const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(options);
    if (!problem.ok()) return problem.status();
    problems.push_back(*problem);
  }
  for (const std::string& text : options.problems) {
    GemmOptions o = options;
    const std::vector<std::string> sides = absl::StrSplit(text, 'x');
    if (sides.size() != 3 || !absl::SimpleAtoi(sides[0], &o.m) || !absl::SimpleAtoi(sides[1], &o.n) || !absl::SimpleAtoi(sides[2], &o.k))
      return absl::InvalidArgumentError(absl::StrCat("--shape '", text, "': MxNxK is needed, as 16x4096x4096"));
    const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(o);
    if (!problem.ok()) return absl::Status(problem.status().code(), absl::StrCat("--shape '", text, "': ", problem.status().message()));
    problems.push_back(*problem);
  }
  return problems;
}

absl::StatusOr<v1::EmulateGemmOnWorkerRequest> EmulationOf(const GemmOptions& o, bool on_worker) {
  const absl::StatusOr<gemm::GemmDesc> desc = ReadDescriptor(o.desc);
  if (!desc.ok()) return desc.status();
  v1::EmulateGemmOnWorkerRequest request;
  if (on_worker) request.set_request_id(NewRequestId());
  proto::GemmDescToProto(*desc, request.mutable_desc());
  request.set_architecture(o.sm);
  request.set_m(o.m);
  request.set_n(o.n);
  request.set_k(o.k);
  request.set_summed_k(o.summed_k);
  request.set_alpha(EpilogueScalar(*desc, o.alpha));
  request.set_beta(EpilogueScalar(*desc, o.beta));
  request.set_device(o.on);
  request.set_digests_only(o.out.empty());
  for (const auto& [text, operand] : {std::pair{&o.a, request.mutable_a()}, {&o.b, request.mutable_b()}, {&o.c, request.mutable_c()},
                                      {&o.bias, request.mutable_bias()}}) {
    if (text->starts_with(kGenerate)) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(text->substr(sizeof(kGenerate) - 1), absl::MaxSplits(':', 1));
      operand->mutable_generated()->set_seed(parts.first);
      operand->mutable_generated()->set_distribution(parts.second);
    } else if (!text->empty()) {
      absl::StatusOr<std::string> bytes = ReadOperand(o, *text);
      if (!bytes.ok()) return bytes.status();
      operand->set_packed(*std::move(bytes));
    }
  }
  for (const std::string& text : o.outputs) {
    const std::vector<std::string> parts = absl::StrSplit(text, ',');
    int64_t row = 0, column = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &row) || !absl::SimpleAtoi(parts[1], &column))
      return absl::InvalidArgumentError(absl::StrCat("--output '", text, "': ROW,COLUMN is needed"));
    request.add_outputs()->set_row(row);
    request.mutable_outputs(request.outputs_size() - 1)->set_column(column);
  }
  return request;
}

absl::Status CheckHere(const v1::EmulateGemmOnWorkerRequest& r) {
  for (const auto& [name, side] : {std::pair{"--m", r.m()}, {"--n", r.n()}, {"--k", r.k()}})
    if (side < 1 || side > gemm::kMaxK) return absl::InvalidArgumentError(absl::StrCat(name, ": must be from 1 to 2^24"));
  if (r.summed_k() < 0 || r.summed_k() > r.k()) return absl::InvalidArgumentError("--summed-k: must be from 0 to k");
  for (const auto& o : r.outputs())
    if (o.row() < 0 || o.row() >= r.m() || o.column() < 0 || o.column() >= r.n())
      return absl::InvalidArgumentError("--output: must lie within m x n; rows and columns count from 0");
  return absl::OkStatus();
}

absl::StatusOr<v1::EmulateGemmOnWorkerResponse> EmulateHere(const CommandLine& line, const v1::EmulateGemmOnWorkerRequest& request) {
  if (absl::Status status = CheckHere(request); !status.ok()) return status;
  Progress progress(1, line.quiet, line.verbose, "outputs");
  workers::WorkParts parts;
  parts.keep = [](int64_t, const std::string&) {};
  parts.progress = [&](int64_t done, int64_t total) { progress.Set(static_cast<size_t>(done), static_cast<size_t>(total)); };
  return workers::EmulateGemm(request, line.gemm.threads, parts);
}

}  // namespace

ExitCode RunGemmProbeOnWorker(const CommandLine& line) {
  const GemmOptions& o = line.gemm;
  const absl::StatusOr<std::vector<gemm::GemmProblem>> problems = ProblemsOf(o);
  if (!problems.ok()) return BadInput(line, problems.status());
  const auto client = ConnectProfiles(line);
  if (!client.ok()) return ReportError(line, client.status());
  v1::RecoverGemmsRequest request;
  request.set_request_id(NewRequestId());
  request.set_library(o.library);
  request.set_device(o.on);
  request.set_workspace_bytes(o.workspace);
  request.set_seed(o.seed);
  for (const gemm::GemmProblem& problem : *problems) proto::GemmShapeToProto(problem, request.add_shapes());
  const absl::StatusOr<v1::Operation> operation = RunJob(line, (*client)->RecoverGemms(request), "shapes");
  if (!operation.ok()) return ReportError(line, operation.status());
  if (line.job.no_wait) return PrintStarted(line, *operation);
  const v1::RecoverGemmsResponse& response = operation->recover_gemms();
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonMessage(response));
  } else {
    PrintText(HumanRecovery(response));
  }
  return ExitCodeOf(response);
}

ExitCode RunGemmEmulateBlocks(const CommandLine& line) {
  const absl::StatusOr<v1::EmulateGemmOnWorkerRequest> request = EmulationOf(line.gemm, !line.local);
  if (!request.ok()) return BadInput(line, request.status());
  absl::StatusOr<v1::EmulateGemmOnWorkerResponse> response;
  if (line.local) {
    response = EmulateHere(line, *request);
    if (!response.ok()) return BadInput(line, response.status());
  } else {
    const auto client = ConnectProfiles(line);
    if (!client.ok()) return ReportError(line, client.status());
    const absl::StatusOr<v1::Operation> operation = RunJob(line, (*client)->EmulateGemmOnWorker(*request), "outputs");
    if (!operation.ok()) return ReportError(line, operation.status());
    if (line.job.no_wait) return PrintStarted(line, *operation);
    response = operation->emulate_gemm();
  }
  if (!line.gemm.out.empty())
    if (absl::Status status = WriteFile(line.gemm.out, response->d()); !status.ok()) return BadInput(line, status);
  response->clear_d();
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonMessage(*response));
  } else {
    PrintText(HumanEmulation(*response));
  }
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
