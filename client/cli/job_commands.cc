#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/gemm_report.h"
#include "client/cli/heal_report.h"
#include "client/cli/job_connection.h"
#include "client/cli/job_report.h"
#include "client/cli/kernel_message.h"
#include "client/cli/kernel_source.h"
#include "client/cli/progress.h"
#include "client/cli/terminal.h"
#include "client/cpp/job_client.h"

namespace samebits::cli {
namespace {

using client::JobClient;
using v1::Operation;

absl::StatusOr<std::unique_ptr<JobClient>> Connect(const CommandLine& line) {
  if (line.local) return absl::InvalidArgumentError("jobs and workers need a server; drop --local");
  const client::ClientOptions options = Connection(line);
  auto client = JobClient::Connect(options);
  if (absl::IsUnavailable(client.status()))
    return absl::UnavailableError(absl::StrCat("no server at ", options.target, "; start one with 'samebits serve' or ",
                                               "name one with --server (", client.status().message(), ")"));
  if (!client.ok()) return NameFlags(client.status());
  return client;
}

std::string FullName(const std::string& collection, const std::string& name) {
  return absl::StartsWith(name, collection + "/") ? name : absl::StrCat(collection, "/", name);
}

void PrintMessage(const CommandLine& line, const google::protobuf::Message& message, const std::string& text) {
  if (FormatOf(line) == Format::kJson) return PrintLine(JsonMessage(message));
  PrintText(text);
}

void PrintOperation(const CommandLine& line, const Operation& operation) {
  const Layout layout = OutputLayout(line);
  std::string text = HumanOperation(operation, layout);
  if (operation.has_verify_kernels()) text += HumanVerification(operation.verify_kernels(), layout);
  if (operation.has_arch_profile()) {
    const v1::ArchProfile& profile = operation.arch_profile();
    absl::StrAppend(&text, profile.name(), "  ", OneLine(profile.device()), ", ", OneLine(profile.library()), " ",
                    profile.library_version(), ", ", profile.explained_shapes(), " of ", profile.shapes(), " shapes explained\n");
  }
  if (operation.has_recover_gemms()) text += HumanRecovery(operation.recover_gemms());
  if (operation.has_emulate_gemm()) text += HumanEmulation(operation.emulate_gemm());
  if (operation.has_numerics()) text += HumanNumerics(operation.numerics(), layout);
  PrintMessage(line, operation, text);
}

// The request's buffers are those of all kernels together.
absl::Status AddBuffers(const std::vector<KernelSource>& sources, v1::VerifyKernelsRequest* request) {
  std::map<std::string, launch::BufferDescription> known;
  for (const KernelSource& source : sources) {
    for (const launch::BufferDescription& buffer : source.spec.buffers) {
      const auto [at, is_new] = known.emplace(buffer.name, buffer);
      if (!is_new && !(at->second == buffer))
        return absl::InvalidArgumentError(absl::StrCat(source.id, ": buffer '", buffer.name,
                                                       "' is described otherwise by another kernel"));
      if (is_new) BufferToMessage(buffer, request->add_buffers());
    }
  }
  return absl::OkStatus();
}

// Every --buffer must be of a buffer that some launch names.
absl::Status CheckBufferNames(const CommandLine& line, const std::set<std::string>& named) {
  for (const launch::BufferDescription& buffer : line.launch.buffers) {
    if (named.contains(buffer.name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--buffer ", buffer.name, ": no kernel has a buffer of that name; ",
        named.empty() ? "none has any (--arg ptr:NAME names one)" : absl::StrCat("they have: ", absl::StrJoin(named, ", "))));
  }
  return absl::OkStatus();
}

// Names of the launch's buffers; one without a name has its position's.
void CollectBuffers(const checker::Launch& launch, std::set<std::string>* names) {
  if (!launch.args) return;
  for (size_t i = 0; i < launch.args->size(); ++i) {
    const checker::Argument& argument = (*launch.args)[i];
    if (argument.kind != checker::Argument::Kind::kPointer) continue;
    names->insert(argument.buffer.empty() ? absl::StrCat(i) : argument.buffer);
  }
}

absl::StatusOr<v1::VerifyKernelsRequest> MakeRequest(const CommandLine& line) {
  absl::StatusOr<std::vector<KernelSource>> sources = ListSources(line);
  if (!sources.ok()) return sources.status();
  v1::VerifyKernelsRequest request;
  std::set<std::string> buffers;
  for (const KernelSource& source : *sources) {
    // A registered kernel's declarations are on the server, which a launch to be run hardly needs.
    const absl::StatusOr<Kernel> kernel = LoadKernel(source, [](const std::string& name) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": give --block, and the types of numbers (--arg n=i32:7)"));
    });
    if (!kernel.ok()) return kernel.status();
    v1::VerifyLaunch* launch = request.add_launches();
    launch->set_id(kernel->id);
    KernelToMessage(*kernel, launch->mutable_kernel());
    CollectBuffers(kernel->launch.launch, &buffers);
  }
  if (absl::Status status = CheckBufferNames(line, buffers); !status.ok()) return status;
  if (absl::Status status = AddBuffers(*sources, &request); !status.ok()) return status;
  const JobOptions& job = line.job;
  request.set_seed(job.seed);
  request.mutable_distributions()->Add(job.distributions.begin(), job.distributions.end());
  request.mutable_devices()->Add(job.devices.begin(), job.devices.end());
  request.set_runs(job.runs);
  request.set_priority(job.priority);
  request.mutable_options()->set_strict_contraction(line.strict_contraction);
  request.mutable_options()->set_ignore_signed_zero(line.ignore_signed_zero);
  if (job.deadline_seconds > 0) {
    const int64_t nanos = absl::ToInt64Nanoseconds(absl::Seconds(job.deadline_seconds));
    request.mutable_timeout()->set_seconds(nanos / 1'000'000'000);
    request.mutable_timeout()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  }
  request.set_request_id(job.request_id.empty() ? NewRequestId() : job.request_id);
  return request;
}

absl::StatusOr<Operation> HandleJob(const CommandLine& line, JobClient& client, const std::string& name) {
  if (line.job.cancel) return client.CancelOperation(name);
  if (line.job.watch) return WatchWithProgress(line, client, name, "steps");
  return client.GetOperation(name);
}

ExitCode ListJobs(const CommandLine& line, JobClient& client) {
  std::string token;
  bool any = false;
  do {
    const absl::StatusOr<v1::ListOperationsResponse> page = client.ListOperations(line.job.open_only, token);
    if (!page.ok()) return ReportError(line, page.status());
    for (const Operation& operation : page->operations())
      PrintMessage(line, operation, HumanOperationLine(operation, OutputLayout(line)));
    any |= page->operations_size() > 0;
    token = page->next_page_token();
  } while (!token.empty());
  if (!any && FormatOf(line) != Format::kJson) PrintLine(line.job.open_only ? "no open jobs" : "no jobs; samebits verify makes one");
  return ExitCode::kEquivalent;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobClient>> ConnectJobClient(const CommandLine& line) { return Connect(line); }

absl::StatusOr<Operation> WatchWithProgress(const CommandLine& line, JobClient& client, const std::string& name,
                                            const char* unit) {
  Progress progress(1, line.quiet, line.verbose, unit);
  return client.Watch(name, [&](const Operation& operation) {
    uint64_t done = 0, total = 0;
    for (const Operation::Task& task : operation.tasks()) {
      done += task.done();
      total += task.total();
    }
    if (total != 0) progress.Set(done, total);
  });
}

std::string NewRequestId() {
  std::random_device device;
  return absl::StrFormat("cli-%08x%08x%08x", device(), device(), device());
}

ExitCode RunVerify(const CommandLine& line) {
  const absl::StatusOr<v1::VerifyKernelsRequest> request = MakeRequest(line);
  if (!request.ok()) return ReportError(line, request.status());
  const absl::StatusOr<std::unique_ptr<JobClient>> client = Connect(line);
  if (!client.ok()) return ReportError(line, client.status());
  absl::StatusOr<Operation> operation = (*client)->VerifyKernels(*request);
  if (!operation.ok()) return ReportError(line, operation.status());
  if (line.job.no_wait) {
    PrintMessage(line, *operation, operation->name() + "\n");
    return ExitCode::kEquivalent;
  }
  operation = WatchWithProgress(line, **client, operation->name(), "steps");
  if (!operation.ok()) return ReportError(line, operation.status());
  if (!operation->has_verify_kernels()) {
    PrintOperation(line, *operation);
    return ExitCode::kFailure;
  }
  PrintMessage(line, *operation, HumanVerification(operation->verify_kernels(), OutputLayout(line)));
  return ExitCodeOf(operation->verify_kernels());
}

ExitCode RunJobs(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<JobClient>> client = Connect(line);
  if (!client.ok()) return ReportError(line, client.status());
  if (line.job.names.empty()) return ListJobs(line, **client);
  ExitCode code = ExitCode::kEquivalent;
  for (const std::string& given : line.job.names) {
    const std::string name = FullName("operations", given);
    if (line.job.remove) {
      const absl::Status status = (*client)->DeleteOperation(name);
      if (!status.ok()) code = ReportError(line, status);
      continue;
    }
    const absl::StatusOr<Operation> operation = HandleJob(line, **client, name);
    if (!operation.ok()) {
      code = ReportError(line, operation.status());
      continue;
    }
    PrintOperation(line, *operation);
    const bool bad = operation->state() == Operation::FAILED || operation->state() == Operation::CANCELLED;
    if (bad && !line.job.cancel && code == ExitCode::kEquivalent) code = ExitCode::kNotEquivalent;
  }
  return code;
}

namespace {

constexpr absl::Duration kFleetPoll = absl::Seconds(1);
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

constexpr int kMostJobsAsked = 50;

// Lines about the tasks that run, by worker, of the latest jobs that run.
absl::StatusOr<std::map<std::string, std::string>> RunningTasks(JobClient& client) {
  const absl::StatusOr<v1::ListOperationsResponse> open = client.ListOperations(/*open_only=*/true, "");
  if (!open.ok()) return open.status();
  std::map<std::string, std::string> running;
  int asked = 0;
  for (const Operation& listed : open->operations()) {
    if (listed.state() != Operation::RUNNING || ++asked > kMostJobsAsked) continue;
    const absl::StatusOr<Operation> operation = client.GetOperation(listed.name());  // lists tell no tasks
    if (absl::IsNotFound(operation.status())) continue;
    if (!operation.ok()) return operation.status();
    for (const Operation::Task& task : operation->tasks()) {
      if (task.state() != Operation::RUNNING || task.worker().empty()) continue;
      std::string& lines = running[FullName("workers", task.worker())];
      absl::StrAppend(&lines, "    runs ", operation->name(), "  ", OneLine(operation->method()));
      if (task.total() != 0) absl::StrAppend(&lines, ", ", task.done(), " of ", task.total(), " steps");
      lines += "\n";
    }
  }
  return running;
}

// All workers, each with what it runs; in JSON the workers alone, a line each.
absl::StatusOr<std::string> FleetText(const CommandLine& line, JobClient& client) {
  const absl::StatusOr<v1::ListWorkersResponse> workers = client.ListWorkers();
  if (!workers.ok()) return workers.status();
  std::string text;
  if (FormatOf(line) == Format::kJson) {
    for (const v1::Worker& worker : workers->workers()) absl::StrAppend(&text, JsonMessage(worker), "\n");
    return text;
  }
  if (workers->workers().empty())
    return "no workers; on a node: samebits-worker --server HOST:PORT --allow-submitted-kernels\n";
  const auto running = RunningTasks(client);
  if (!running.ok()) return running.status();
  for (const v1::Worker& worker : workers->workers()) {
    text += HumanWorker(worker, OutputLayout(line));
    if (const auto at = running->find(worker.name()); at != running->end()) text += at->second;
  }
  return text;
}

// Once; with --watch again after each change, until the process is ended or the server does not answer.
ExitCode ShowFleet(const CommandLine& line, JobClient& client) {
  std::string shown;
  for (bool first = true;; first = false) {
    const absl::StatusOr<std::string> text = FleetText(line, client);
    if (!text.ok()) return ReportError(line, text.status());
    if (first || *text != shown) {
      const bool redraws = line.job.watch && FormatOf(line) != Format::kJson && IsTerminal(1);
      PrintText(redraws ? kClearScreen + *text : *text);
      std::fflush(stdout);
    }
    if (!line.job.watch) return ExitCode::kEquivalent;
    shown = *text;
    absl::SleepFor(kFleetPoll);
  }
}

}  // namespace

ExitCode RunFleet(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<JobClient>> client = Connect(line);
  if (!client.ok()) return ReportError(line, client.status());
  if (line.job.names.empty()) return ShowFleet(line, **client);
  ExitCode code = ExitCode::kEquivalent;
  for (const std::string& given : line.job.names) {
    const std::string name = FullName("workers", given);
    if (line.job.revoke) {
      const absl::Status status = (*client)->RevokeWorker(name);
      if (!status.ok()) code = ReportError(line, status);
      if (status.ok() && FormatOf(line) != Format::kJson) PrintLine(absl::StrCat(name, ": its token is forgotten"));
      continue;
    }
    const absl::StatusOr<v1::Worker> worker = line.job.drain || line.job.undo
                                                  ? (*client)->DrainWorker(name, line.job.undo)
                                                  : (*client)->GetWorker(name);
    if (worker.ok()) {
      PrintMessage(line, *worker, HumanWorker(*worker, OutputLayout(line)));
    } else {
      code = ReportError(line, worker.status());
    }
  }
  return code;
}

ExitCode RunFleetEnrol(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<JobClient>> client = Connect(line);
  if (!client.ok()) return ReportError(line, client.status());
  v1::CreateEnrolmentRequest request;
  if (!line.job.names.empty()) request.set_worker(FullName("workers", line.job.names[0]));
  request.set_uses(line.job.uses);
  if (line.job.hours > 0) request.mutable_time_to_live()->set_seconds(std::max<int64_t>(1, line.job.hours * 3600));
  const absl::StatusOr<v1::Enrolment> enrolment = (*client)->CreateEnrolment(request);
  if (!enrolment.ok()) return ReportError(line, enrolment.status());
  PrintMessage(line, *enrolment, enrolment->secret() + "\n");
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
