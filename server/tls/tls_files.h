#ifndef SAMEBITS_SERVER_TLS_TLS_FILES_H_
#define SAMEBITS_SERVER_TLS_TLS_FILES_H_

// The server's TLS credentials, from PEM files that may be replaced while it runs.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/security/server_credentials.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/log/log.h"

namespace samebits::server {

struct TlsPaths {
  std::string cert, key;   // of the server
  std::string client_ca;   // clients must show a certificate that one of these signed; empty: none
};

// Thread-safe. New content counts for connections made some two seconds after a change; where the files do not fit
// together, the former content stays in force and the log says so.
class TlsFiles {
 public:
  // INVALID_ARGUMENT names the file that is unreadable or unfit. `log` outlives the object.
  static absl::StatusOr<std::unique_ptr<TlsFiles>> Open(const TlsPaths& paths, const Log& log);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  std::shared_ptr<grpc::ServerCredentials> credentials() const { return credentials_; }
  absl::Time expires() const;  // the certificate in force

 private:
  struct Content {
    std::string cert, key, client_ca;
    absl::Time expires;
    bool operator==(const Content&) const = default;
  };
  // A file without a name, so that the checked content is never on a disk.
  class MemoryFile {
   public:
    ~MemoryFile();
    absl::Status Write(const char* name, const std::string& text);
    std::string path() const;

   private:
    int fd_ = -1;
  };

  TlsFiles(TlsPaths paths, const Log& log) : paths_(std::move(paths)), log_(log) {}
  absl::StatusOr<Content> Read() const;
  absl::Status Use(Content content);
  void MakeCredentials();
  void Watch();

  const TlsPaths paths_;
  const Log& log_;
  MemoryFile cert_, key_, client_ca_;  // what gRPC reads
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  mutable absl::Mutex mutex_;
  Content content_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_TLS_TLS_FILES_H_
