#ifndef SAMEBITS_SERVER_AUTH_AUTHENTICATOR_H_
#define SAMEBITS_SERVER_AUTH_AUTHENTICATOR_H_

// Who may call: the tokens of a file, and the ones that the server hands out to workers. An administrator makes an
// enrolment, a secret that expires; a worker makes a secret of its own and shows its digest together with the
// enrolment. From then on the worker's secret is its token, and the server has seen neither of the two in a reply.

#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/auth/tokens.h"
#include "storage/token_store.h"

namespace samebits::server {

// Thread-safe. Errors carry an ErrorDetail (server/registry/errors.h).
class Authenticator {
 public:
  // `store` outlives the object and is changed through it alone. Errors as TokenFile::Open's and the store's.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Open(const std::string& token_file, storage::TokenStore& store);

  // UNAUTHENTICATED for a secret that is unknown or has expired. Does not wait for the store.
  absl::StatusOr<Identity> Find(std::string_view secret, absl::Time now);

  struct Enrolment {
    std::string secret;
    absl::Time expires;
  };
  // `worker` empty: any worker that has no token; else this one, whose token it replaces. May block.
  absl::StatusOr<Enrolment> CreateEnrolment(const std::string& creator, const std::string& worker, uint32_t uses,
                                            absl::Time now, absl::Time expires);
  // Makes `token` the worker's token. `enrolment`: who Find said that calls. Repeating it changes nothing. May block.
  absl::Status Enrol(const Identity& enrolment, const std::string& worker, const storage::Digest& token, absl::Time now);
  // Forgets the token of a worker that enrolled; NOT_FOUND where there is none. May block.
  absl::Status Revoke(const std::string& worker);

 private:
  Authenticator(std::unique_ptr<TokenFile> file, storage::TokenStore& store)
      : file_(std::move(file)), store_(store) {}
  absl::Status Load();
  void ForgetTokenOf(std::string_view worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Known {
    Identity identity;
    absl::Time expires;
  };
  const std::unique_ptr<TokenFile> file_;
  storage::TokenStore& store_;
  absl::Mutex changing_ ABSL_ACQUIRED_BEFORE(mutex_);  // held while the store changes
  absl::Mutex mutex_;
  absl::flat_hash_map<storage::Digest, Known> known_ ABSL_GUARDED_BY(mutex_);  // what the store holds
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_AUTH_AUTHENTICATOR_H_
