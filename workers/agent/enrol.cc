#include "workers/agent/enrol.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/secret.h"
#include "core/base/sha256.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"

namespace samebits::workers {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(30);

// The secret of an interrupted call, or a new one.
absl::StatusOr<std::string> SecretIn(const std::string& path) {
  std::string known;
  if (std::ifstream(path) >> known) return known;
  unlink(path.c_str());  // cut off while it was written
  absl::StatusOr<std::string> secret = MakeSecret();
  if (!secret.ok()) return secret.status();
  if (absl::Status status = WriteSecretFile(path, *secret); !status.ok()) return status;
  return secret;
}

}  // namespace

absl::Status Enrol(const std::shared_ptr<grpc::Channel>& channel, const std::string& worker,
                   const std::string& enrolment, const std::string& token_path) {
  if (access(token_path.c_str(), F_OK) == 0) return absl::OkStatus();
  const std::string waiting = token_path + ".new";
  const absl::StatusOr<std::string> secret = SecretIn(waiting);
  if (!secret.ok()) return secret.status();
  worker::v1::EnrolWorkerRequest request;
  request.set_worker(worker);
  const auto digest = Sha256(*secret);
  request.set_token_sha256(digest.data(), digest.size());
  grpc::ClientContext context;
  context.AddMetadata("authorization", absl::StrCat("Bearer ", enrolment));
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
  context.set_wait_for_ready(true);
  worker::v1::EnrolWorkerResponse response;
  const grpc::Status status = worker::v1::WorkerSessions::NewStub(channel)->EnrolWorker(&context, request, &response);
  if (!status.ok()) return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (rename(waiting.c_str(), token_path.c_str()) != 0)
    return absl::InvalidArgumentError(absl::StrCat(token_path, ": cannot be written: ", std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace samebits::workers
