#include "client/cpp/channel.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/loopback.h"

namespace samebits::client {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  return text.str();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const ClientOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty() || (options.tls_ca.empty() && !options.tls_cert.empty()))
    return absl::InvalidArgumentError("a client certificate needs its key, and the server's CA");
  if (options.tls_ca.empty() && !options.token_file.empty() && !options.token_over_plaintext &&
      !IsLoopback(options.target))
    return absl::InvalidArgumentError(absl::StrCat(
        "the token would go to ", options.target, " without encryption: give tls_ca, the certificates that sign the "
        "server's, or set token_over_plaintext if everyone on that network may read it"));
  if (options.tls_ca.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  for (const auto& [path, pem] : {std::pair{&options.tls_ca, &ssl.pem_root_certs},
                                  std::pair{&options.tls_cert, &ssl.pem_cert_chain},
                                  std::pair{&options.tls_key, &ssl.pem_private_key}}) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> text = ReadFile(*path);
    if (!text.ok()) return text.status();
    *pem = *std::move(text);
  }
  return grpc::SslCredentials(ssl);
}

absl::StatusOr<std::string> ReadToken(const ClientOptions& options) {
  if (options.token_file.empty()) return "";
  absl::StatusOr<std::string> text = ReadFile(options.token_file);
  if (!text.ok()) return text;
  absl::StripAsciiWhitespace(&*text);
  // It goes into a header, and what a header cannot hold would be printed by what refuses it.
  const bool fit = std::all_of(text->begin(), text->end(), [](char c) { return c > ' ' && c <= '~'; });
  if (text->empty() || !fit)
    return absl::InvalidArgumentError(absl::StrCat(options.token_file, text->empty() ? ": is empty" : ": holds more than one token",
                                                   "; it should hold the one line that samebits token, or samebits fleet "
                                                   "enrol, prints on standard output"));
  return text;
}

void AddToken(const std::string& token, grpc::ClientContext* context) {
  if (!token.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", token));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const ClientOptions& options) {
  const absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials = MakeCredentials(options);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the retry policy above this one knows more
  auto channel = grpc::CreateCustomChannel(options.target, *credentials, arguments);
  if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + options.connect_timeout)))
    return absl::UnavailableError(absl::StrCat("no answer from ", options.target, " within ",
                                               absl::FormatDuration(options.connect_timeout),
                                               "; is the server running, and does it use TLS as this client does?"));
  return channel;
}

absl::Duration Backoff(const RetryPolicy& retry, int attempt) {
  absl::Duration pause = retry.initial_backoff;
  for (int i = 1; i < attempt && pause < retry.max_backoff; ++i) pause *= 2;
  absl::BitGen random;
  return std::min(pause, retry.max_backoff) * absl::Uniform(random, 0.5, 1.0);
}

}  // namespace samebits::client
