#ifndef SAMEBITS_SERVER_AUTH_TOKENS_H_
#define SAMEBITS_SERVER_AUTH_TOKENS_H_

// Bearer tokens of a file. A server knows only their SHA-256, from lines
//   SHA256-IN-HEX ROLE PRINCIPAL [EXPIRES]
// EXPIRES being RFC 3339 in UTC; empty lines and lines that begin with # are skipped.

#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/auth/roles.h"
#include "storage/kernel_store.h"

namespace samebits::server {

// Who calls.
struct Identity {
  std::string principal;
  Role role = Role::kViewer;
  storage::Digest token{};  // of the token; zero where the server asks for none
};

struct NewToken {
  std::string secret;  // for the caller; "samebits_" and 64 hex digits
  std::string line;    // for the server's file, without line break
};

// 256 random bits. `principal`: 1 to 64 letters, digits, '-', '_', '.', '@'; `expires` InfiniteFuture: never.
absl::StatusOr<NewToken> MakeToken(Role role, std::string_view principal, absl::Time expires);

// The tokens of a file, which is read again when it changes. Thread-safe.
class TokenFile {
 public:
  // INVALID_ARGUMENT names file and line; FAILED_PRECONDITION where others than the owner may write the file.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(const std::string& path);

  // NOT_FOUND for a token that is not there, UNAUTHENTICATED for one that has expired. A file that has become
  // unreadable keeps its last content.
  absl::StatusOr<Identity> Find(const storage::Digest& token, absl::Time now);
  // Whether a line names this worker.
  bool HasWorker(std::string_view worker);

 private:
  struct Token {
    Identity identity;
    absl::Time expires;
  };
  using Tokens = absl::flat_hash_map<storage::Digest, Token>;
  struct Version {
    int64_t seconds = 0, nanos = 0, bytes = 0;
    bool operator==(const Version&) const = default;
  };
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  // Reads the file again where it has changed; looks at most once a second.
  void Refresh(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::StatusOr<Tokens> Parse(std::string_view text, const std::string& path);

  const std::string path_;
  absl::Mutex mutex_;
  Version version_ ABSL_GUARDED_BY(mutex_);
  absl::Time looked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Tokens tokens_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_AUTH_TOKENS_H_
