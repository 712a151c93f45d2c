#include "client/cpp/channel.h"

#include <algorithm>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

namespace samebits::client {

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the retry policy above this one knows more
  auto channel = grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + options.connect_timeout)))
    return absl::UnavailableError(absl::StrCat("no answer from ", options.target, " within ",
                                               absl::FormatDuration(options.connect_timeout),
                                               "; is the server running?"));
  return channel;
}

absl::Duration Backoff(const RetryPolicy& retry, int attempt) {
  absl::Duration pause = retry.initial_backoff;
  for (int i = 1; i < attempt && pause < retry.max_backoff; ++i) pause *= 2;
  absl::BitGen random;
  return std::min(pause, retry.max_backoff) * absl::Uniform(random, 0.5, 1.0);
}

}  // namespace samebits::client
