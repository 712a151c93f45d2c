#include "server/auth/authenticator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/secret.h"
#include "server/registry/digest.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

absl::Status WorkerExists(const std::string& worker) {
  return WithDetail(
      absl::AlreadyExistsError(absl::StrCat(
          worker, " has a token already; revoke it, or make an enrolment for this worker, which replaces it")),
      "WORKER_EXISTS", {{"name", absl::StrCat("workers/", worker)}});
}

absl::Status NotAuthenticated(std::string_view why) {
  return WithDetail(absl::UnauthenticatedError(absl::string_view(why.data(), why.size())), "NOT_AUTHENTICATED", {});
}

absl::Status FromTokenStore(const absl::Status& status, const std::string& worker) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return status;
    case absl::StatusCode::kNotFound:
      return NotAuthenticated("the enrolment has expired");
    case absl::StatusCode::kAlreadyExists:
      return WorkerExists(worker);
    case absl::StatusCode::kPermissionDenied:
      return WithDetail(status, "NOT_PERMITTED", {{"role", "enrolment"}});
    case absl::StatusCode::kFailedPrecondition:
      return WithDetail(status, "ENROLMENT_USED", {});
    default:
      return WithDetail(status, "STORAGE", {});
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Open(const std::string& token_file,
                                                                   storage::TokenStore& store) {
  absl::StatusOr<std::unique_ptr<TokenFile>> file = TokenFile::Open(token_file);
  if (!file.ok()) return file.status();
  std::unique_ptr<Authenticator> opened(new Authenticator(*std::move(file), store));
  if (absl::Status status = opened->Load(); !status.ok()) return status;
  return opened;
}

absl::Status Authenticator::Load() {
  const auto tokens = store_.ListWorkerTokens();
  if (!tokens.ok()) return tokens.status();
  const auto enrolments = store_.ListEnrolments();
  if (!enrolments.ok()) return enrolments.status();
  absl::MutexLock lock(&mutex_);
  for (const storage::WorkerTokenRecord& token : *tokens)
    known_[token.digest] = {{token.worker, Role::kWorker, token.digest}, absl::InfiniteFuture()};
  for (const storage::EnrolmentRecord& enrolment : *enrolments)
    known_[enrolment.digest] = {{enrolment.creator, Role::kEnrolment, enrolment.digest}, enrolment.expire_time};
  return absl::OkStatus();
}

void Authenticator::ForgetTokenOf(std::string_view worker) {
  absl::erase_if(known_, [&](const auto& entry) {
    const Identity& identity = entry.second.identity;
    return identity.role == Role::kWorker && identity.principal == worker;
  });
}

absl::StatusOr<Identity> Authenticator::Find(std::string_view secret, absl::Time now) {
  if (secret.empty()) return NotAuthenticated("the call has no token");
  const storage::Digest token = ContentDigest(secret);
  const absl::StatusOr<Identity> found = file_->Find(token, now);
  if (found.ok()) return found;
  if (!absl::IsNotFound(found.status())) return NotAuthenticated("the token has expired");
  absl::MutexLock lock(&mutex_);
  const auto at = known_.find(token);
  if (at == known_.end()) return NotAuthenticated("the token is not known");
  if (at->second.expires <= now) return NotAuthenticated("the enrolment has expired");
  return at->second.identity;
}

absl::StatusOr<Authenticator::Enrolment> Authenticator::CreateEnrolment(const std::string& creator,
                                                                        const std::string& worker, uint32_t uses,
                                                                        absl::Time now, absl::Time expires) {
  absl::StatusOr<std::string> secret = MakeSecret();
  if (!secret.ok()) return secret.status();
  const storage::Digest digest = ContentDigest(*secret);
  absl::MutexLock changing(&changing_);
  const absl::Status status = store_.AddEnrolment({digest, worker, creator, now, expires, uses});
  if (!status.ok()) return WithDetail(status, "STORAGE", {});
  absl::MutexLock lock(&mutex_);
  absl::erase_if(known_, [&](const auto& entry) { return entry.second.expires <= now; });
  known_[digest] = {{creator, Role::kEnrolment, digest}, expires};
  return Enrolment{*std::move(secret), expires};
}

absl::Status Authenticator::Enrol(const Identity& enrolment, const std::string& worker, const storage::Digest& token,
                                  absl::Time now) {
  if (file_->HasWorker(worker)) return WorkerExists(worker);
  absl::MutexLock changing(&changing_);
  const absl::Status status = store_.Enrol(enrolment.token, {worker, token, now});
  if (!status.ok()) return FromTokenStore(status, worker);
  absl::MutexLock lock(&mutex_);
  ForgetTokenOf(worker);
  known_[token] = {{worker, Role::kWorker, token}, absl::InfiniteFuture()};
  return absl::OkStatus();
}

absl::Status Authenticator::Revoke(const std::string& worker) {
  absl::MutexLock changing(&changing_);
  const absl::Status status = store_.DeleteWorkerToken(worker);
  if (absl::IsNotFound(status)) {
    const std::string name = absl::StrCat("workers/", worker);
    return WithDetail(absl::NotFoundError(absl::StrCat(name, " has not enrolled; a token of the server's file is "
                                                             "revoked by deleting its line")),
                      "RESOURCE_NOT_FOUND", {{"name", name}});
  }
  if (!status.ok()) return WithDetail(status, "STORAGE", {});
  absl::MutexLock lock(&mutex_);
  ForgetTokenOf(worker);
  return absl::OkStatus();
}

}  // namespace samebits::server
