#ifndef SAMEBITS_CLIENT_CPP_CHANNEL_H_
#define SAMEBITS_CLIENT_CPP_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/cpp/status.h"

namespace samebits::client {

// Encrypted where the options have a CA. INVALID_ARGUMENT names a file that cannot be read, or what is missing; also
// for a token that would leave the machine without encryption.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const ClientOptions& options);

// The token in the options' file without the white space round it; "" where the options name none.
absl::StatusOr<std::string> ReadToken(const ClientOptions& options);

// Sends the token with a call; none where it is empty.
void AddToken(const std::string& token, grpc::ClientContext* context);

// A connected channel; errors as Client::Connect and MakeCredentials.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const ClientOptions& options);

// A client of that class, which is made of options, token and channel.
template <typename Implementation>
absl::StatusOr<std::unique_ptr<Implementation>> ConnectAs(const ClientOptions& options) {
  auto channel = OpenChannel(options);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<std::string> token = ReadToken(options);
  if (!token.ok()) return token.status();
  return std::make_unique<Implementation>(options, *std::move(token), *std::move(channel));
}

// A request that names a resource and says nothing else.
template <typename Request>
Request Named(const std::string& name) {
  Request request;
  request.set_name(name);
  return request;
}

// Before attempt + 1: doubles per attempt up to the maximum; a random half of it, so that clients do not return
// together.
absl::Duration Backoff(const RetryPolicy& retry, int attempt);

// One unary method, repeated as the retry policy says.
template <typename Response, typename Request, typename Stub>
absl::StatusOr<Response> CallWithRetry(const ClientOptions& options, const std::string& token, Stub& stub,
                                       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                       const Request& request) {
  const absl::Time deadline = absl::Now() + options.call_timeout;
  for (int attempt = 1;; ++attempt) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    AddToken(token, &context);
    Response response;
    absl::Status status = FromGrpcStatus((stub.*method)(&context, request, &response));
    if (status.ok()) return response;
    const absl::Duration pause = Backoff(options.retry, attempt);
    if (attempt >= options.retry.max_attempts || !IsRetryable(status) || absl::Now() + pause >= deadline)
      return status;
    absl::SleepFor(pause);
  }
}

}  // namespace samebits::client

#endif  // SAMEBITS_CLIENT_CPP_CHANNEL_H_
