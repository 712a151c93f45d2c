#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/version.h"
#include "server/server.h"

namespace samebits::cli {
namespace {

constexpr char kDatabaseFile[] = "samebits.db";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> DataFolder(const ServeOptions& options) {
  if (!options.data.empty()) return options.data;
  if (std::string data = Environment("SAMEBITS_DATA"); !data.empty()) return data;
  if (const std::string xdg = Environment("XDG_DATA_HOME"); !xdg.empty()) return xdg + "/samebits";
  if (const std::string home = Environment("HOME"); !home.empty()) return home + "/.local/share/samebits";
  return absl::InvalidArgumentError("no folder for data: HOME is not set; name one with --data, or use --in-memory");
}

absl::StatusOr<std::string> DatabasePath(const ServeOptions& options) {
  absl::StatusOr<std::string> folder = DataFolder(options);
  if (!folder.ok()) return folder.status();
  std::error_code error;
  std::filesystem::create_directories(*folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(*folder, ": the data folder cannot be made: ", error.message(), "; name another with --data"));
  }
  return (std::filesystem::path(*folder) / kDatabaseFile).string();
}

server::LogLevel LogLevelOf(const std::string& name) {
  if (name == "debug") return server::LogLevel::kDebug;
  if (name == "warning") return server::LogLevel::kWarning;
  if (name == "error") return server::LogLevel::kError;
  return server::LogLevel::kInfo;
}

absl::StatusOr<server::ServerConfig> ConfigOf(const ServeOptions& options) {
  server::ServerConfig config;
  if (!options.listen.empty()) config.listen = options.listen;
  if (!options.metrics.empty()) config.metrics_listen = options.metrics == "none" ? "" : options.metrics;
  config.allow_remote_plaintext = options.allow_remote_plaintext;
  config.tls_cert = options.tls_cert;
  config.tls_key = options.tls_key;
  config.tls_client_ca = options.tls_client_ca;
  config.token_file = options.token_file;
  config.audit_file = options.audit_file;
  config.check_threads = options.threads.value_or(config.check_threads);
  config.signature_cache_entries = options.cache_entries.value_or(config.signature_cache_entries);
  config.log_level = LogLevelOf(options.log_level);
  if (options.drain_seconds) config.drain_timeout = absl::Seconds(*options.drain_seconds);
  if (options.check_seconds) config.limits.check.max_time = absl::Seconds(*options.check_seconds);
  if (options.lease_seconds) {
    config.dispatch.lease_duration = absl::Seconds(*options.lease_seconds);
    config.dispatch.offline_after = config.dispatch.lease_duration;
  }
  config.dispatch.limits.open_jobs = options.max_jobs.value_or(config.dispatch.limits.open_jobs);
  config.dispatch.limits.open_jobs_of_principal =
      options.max_jobs_of_principal.value_or(config.dispatch.limits.open_jobs_of_principal);
  if (options.keep_jobs_hours) config.dispatch.keep_finished = absl::Hours(*options.keep_jobs_hours);
  if (options.max_kept_jobs) config.dispatch.max_finished = *options.max_kept_jobs;
  if (options.in_memory) return config;
  absl::StatusOr<std::string> database = DatabasePath(options);
  if (!database.ok()) return database.status();
  config.database = *std::move(database);
  return config;
}

void PrintReady(const server::Server& server, void* context) {
  const auto& config = *static_cast<const server::ServerConfig*>(context);
  PrintLine(absl::StrCat("samebits ", kVersion, " serves ", server.address()));
  PrintLine(absl::StrCat("metrics: ", server.metrics_address().empty()
                                          ? "none"
                                          : absl::StrCat("http://", server.metrics_address(), "/metrics")));
  PrintLine(absl::StrCat("data: ", config.database.empty() ? "in memory, lost at exit" : config.database));
  std::fflush(stdout);
}

}  // namespace

absl::StatusOr<std::string> ExistingDatabase(const ServeOptions& options) {
  absl::StatusOr<std::string> folder = DataFolder(options);
  if (!folder.ok()) return folder.status();
  return (std::filesystem::path(*folder) / kDatabaseFile).string();
}

ExitCode RunServe(const CommandLine& line) {
  absl::StatusOr<server::ServerConfig> config = ConfigOf(line.serve);
  if (!config.ok()) return ReportError(line, config.status());
  const absl::Status status = server::RunUntilSignal(*config, PrintReady, &*config);
  if (status.ok()) return ExitCode::kEquivalent;
  // The library names its fields; the user knows flags.
  return ReportError(
      line, absl::Status(status.code(), absl::StrReplaceAll(status.message(),
                                                            {{"allow_remote_plaintext", "--allow-remote-plaintext"},
                                                             {"with metrics_listen", "with --metrics"},
                                                             {"with listen", "with --listen"},
                                                             {"tls_cert", "--tls-cert"},
                                                             {"tls_key", "--tls-key"}})));
}

}  // namespace samebits::cli
