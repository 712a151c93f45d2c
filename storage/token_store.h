#ifndef SAMEBITS_STORAGE_TOKEN_STORE_H_
#define SAMEBITS_STORAGE_TOKEN_STORE_H_

// Tokens that a server hands out itself: enrolments, and the tokens that workers made with them. Only digests are kept.
// Implementations: memory/, sqlite/. All of them pass tests/conformance/storage.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/kernel_store.h"

namespace samebits::storage {

struct EnrolmentRecord {
  Digest digest{};             // SHA-256 of the secret; unique
  std::string worker;          // the only one that may use it; empty: any that has no token
  std::string creator;         // principal
  absl::Time create_time, expire_time;  // kept to the microsecond
  uint32_t uses_left = 1;
};

struct WorkerTokenRecord {
  std::string worker;          // has one token at most
  Digest digest{};             // unique
  absl::Time create_time;
};

// Thread-safe; calls may block on I/O. What a call changes is durable when it returns. Errors common to all calls as
// KernelStore's.
class TokenStore {
 public:
  virtual ~TokenStore() = default;

  // Also deletes enrolments that expired before this one was made.
  virtual absl::Status AddEnrolment(const EnrolmentRecord& enrolment) = 0;
  virtual absl::StatusOr<std::vector<EnrolmentRecord>> ListEnrolments() = 0;
  // Gives the worker this token and takes one use of the enrolment; all or nothing. Nothing changes where the worker
  // has this very token. An enrolment for this worker replaces the token it had. NOT_FOUND: no such enrolment that is
  // valid at token.create_time; PERMISSION_DENIED: it is for another worker; ALREADY_EXISTS: the worker has another
  // token, or another worker has this one; FAILED_PRECONDITION: no use is left.
  virtual absl::Status Enrol(const Digest& enrolment, const WorkerTokenRecord& token) = 0;
  virtual absl::StatusOr<std::vector<WorkerTokenRecord>> ListWorkerTokens() = 0;  // by worker
  virtual absl::Status DeleteWorkerToken(std::string_view worker) = 0;  // NOT_FOUND without one
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_TOKEN_STORE_H_
