#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/job_connection.h"
#include "client/cli/job_report.h"
#include "client/cli/reproducer_files.h"

namespace samebits::cli {
namespace {

using client::JobClient;
using v1::Reproducer;

std::string FullName(const std::string& name) {
  return absl::StartsWith(name, "reproducers/") ? name : absl::StrCat("reproducers/", name);
}

void Print(const CommandLine& line, const Reproducer& reproducer, const std::string& text) {
  FormatOf(line) == Format::kJson ? PrintLine(JsonMessage(reproducer)) : PrintText(text);
}

ExitCode List(const CommandLine& line, JobClient& client) {
  std::string token;
  bool any = false;
  do {
    const absl::StatusOr<v1::ListReproducersResponse> page = client.ListReproducers(token);
    if (!page.ok()) return ReportError(line, page.status());
    for (const Reproducer& reproducer : page->reproducers())
      Print(line, reproducer, HumanReproducerLine(reproducer));
    any |= page->reproducers_size() != 0;
    token = page->next_page_token();
  } while (!token.empty());
  if (!any && FormatOf(line) != Format::kJson) PrintLine("no reproducers: no hardware has contradicted a verdict");
  return ExitCode::kEquivalent;
}

ExitCode Show(const CommandLine& line, JobClient& client, const std::string& name) {
  const absl::StatusOr<Reproducer> reproducer = client.GetReproducer(name);
  if (!reproducer.ok()) return ReportError(line, reproducer.status());
  std::string text = HumanReproducer(*reproducer, OutputLayout(line));
  if (!line.job.out.empty()) {
    if (absl::Status status = WriteReproducer(*reproducer, line.job.out); !status.ok()) return ReportError(line, status);
    absl::StrAppend(&text, "Written to ", line.job.out, ". To see it again:\n",
                    ReproducerCommands(*reproducer, line.job.out));
  }
  Print(line, *reproducer, text);
  return ExitCode::kEquivalent;
}

}  // namespace

ExitCode RunReproducers(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<JobClient>> client = ConnectJobClient(line);
  if (!client.ok()) return ReportError(line, client.status());
  if (line.job.names.empty()) return List(line, **client);
  if (!line.job.out.empty() && line.job.names.size() != 1)
    return ReportError(line, absl::InvalidArgumentError("--out is for one reproducer"));
  ExitCode code = ExitCode::kEquivalent;
  for (const std::string& given : line.job.names) {
    const std::string name = FullName(given);
    if (!line.job.remove) {
      code = std::max(code, Show(line, **client, name));
    } else if (const absl::Status status = (*client)->DeleteReproducer(name); !status.ok()) {
      code = std::max(code, ReportError(line, status));
    }
  }
  return code;
}

}  // namespace samebits::cli
