#ifndef SAMEBITS_SERVER_SERVER_H_
#define SAMEBITS_SERVER_SERVER_H_

// The samebits server as a library: gRPC endpoint, registry, storage and metrics endpoint of one process.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/dispatch/config.h"
#include "server/log/log.h"
#include "server/registry/limits.h"

namespace samebits::server {

class CheckerBackend;

struct ServerConfig {
  std::string listen = "127.0.0.1:7433";      // host:port, or unix:PATH; port 0: any free one
  bool allow_remote_plaintext = false;        // permits a `listen` other than loopback without TLS
  std::string tls_cert, tls_key;              // PEM files; both or none
  std::string tls_client_ca;                  // PEM file: clients must show a certificate that it signed; empty: none
  std::string token_file;                     // server/auth/tokens.h; empty: callers need no token
  std::string audit_file;                     // lines about changes are appended; empty: they are in the log
  std::string database;                       // path of the SQLite file; empty: in memory, lost at exit
  std::string metrics_listen = "127.0.0.1:9433";  // Prometheus endpoint /metrics; empty: none; port 0: any free one
  int check_threads = 0;                      // 0: one per core, at least 2
  uint64_t signature_cache_entries = 200'000;  // signatures kept in memory
  absl::Duration drain_timeout = absl::Seconds(20);  // calls still running after it are cancelled
  LogLevel log_level = LogLevel::kInfo;       // JSON lines on stderr
  ServerLimits limits;
  DispatchConfig dispatch;
  std::shared_ptr<CheckerBackend> checker;    // null: the static checker
};

// A running server. Thread-safe.
class Server {
 public:
  // Opens the database, applies migrations and listens. Errors say what to do: INVALID_ARGUMENT for an address that
  // is not loopback, UNAVAILABLE for a taken port, FAILED_PRECONDITION for a database of a newer version, DATA_LOSS
  // for a damaged or foreign one.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerConfig& config);
  virtual ~Server() = default;  // as Shutdown

  virtual std::string address() const = 0;          // "127.0.0.1:7433", with the port that was taken
  virtual std::string metrics_address() const = 0;  // empty without a metrics endpoint

  // Stops accepting, reports NOT_SERVING, lets running calls end within drain_timeout, cancels the rest, closes the
  // database. Idempotent; returns when all is done.
  virtual void Shutdown() = 0;
};

// Runs a server until SIGTERM or SIGINT, then shuts it down; a second signal ends the process at once. Call from the
// main thread before other threads start. Returns the error of Start or OK. `on_ready` (may be null) is called once
// the server answers.
absl::Status RunUntilSignal(const ServerConfig& config, void (*on_ready)(const Server& server, void* context),
                            void* context);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_SERVER_H_
