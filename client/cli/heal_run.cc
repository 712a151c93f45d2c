#include "client/cli/heal_run.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/job_connection.h"
#include "client/cli/job_report.h"

namespace samebits::cli {

absl::Status PrepareOutput(const CommandLine& line) {
  const std::string& folder = line.heal.output;
  if (folder.empty() || line.job.no_wait) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) error = std::error_code(errno, std::generic_category());
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output ", folder, ": ", error.message(), "; give a folder that can be written to"));
}

absl::Status WriteOutput(const CommandLine& line, const std::vector<std::pair<std::string, std::string>>& files) {
  if (line.heal.output.empty()) return absl::OkStatus();
  if (absl::Status status = PrepareOutput(line); !status.ok()) return status;
  const std::filesystem::path folder = line.heal.output;
  for (const auto& [name, text] : files)
    if (absl::Status status = WriteFile((folder / name).string(), text); !status.ok()) return status;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::NumericsResult>> RunOnServer(const CommandLine& line, const v1::NumericsRequest& request) {
  const absl::StatusOr<std::unique_ptr<client::JobClient>> client = ConnectJobClient(line);
  if (!client.ok()) return client.status();
  absl::StatusOr<v1::Operation> operation = (*client)->SubmitNumerics(request);
  if (!operation.ok()) return operation.status();
  if (line.job.no_wait) {
    PrintLine(FormatOf(line) == Format::kJson ? JsonMessage(*operation) : operation->name());
    return std::nullopt;
  }
  operation = WatchWithProgress(line, **client, operation->name(), "parts");
  if (!operation.ok()) return operation.status();
  if (operation->has_numerics()) return operation->numerics();
  return absl::Status(static_cast<absl::StatusCode>(operation->error().code()),
                      absl::StrCat(operation->name(), ": ", operation->error().message()));
}

}  // namespace samebits::cli
