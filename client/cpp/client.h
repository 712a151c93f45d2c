#ifndef SAMEBITS_CLIENT_CPP_CLIENT_H_
#define SAMEBITS_CLIENT_CPP_CLIENT_H_

// C++ client of samebits.v1.KernelService. Link samebits_client.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "samebits/v1/kernel_service.pb.h"

namespace samebits::client {

// Calls that failed with UNAVAILABLE, or with RESOURCE_EXHAUSTED because the server's queue is full, are repeated
// with exponential backoff and jitter inside the call's deadline. Every method is safe to repeat.
struct RetryPolicy {
  int max_attempts = 5;  // 1: no retry
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);
};

struct ClientOptions {
  std::string target = "127.0.0.1:7433";  // any gRPC target
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration call_timeout = absl::Seconds(60);  // per call, retries included; a partition has none
  RetryPolicy retry;
  // PEM files. A CA makes the channel encrypted; certificate and key, both or none, show who the client is.
  std::string tls_ca, tls_cert, tls_key;
  std::string token_file;  // holds the bearer token; empty: none is sent
  bool token_over_plaintext = false;  // permits to send it without encryption to another machine
  int max_receive_bytes = 256 << 20;
};

// Machine-readable part of an error that the server returned.
struct ErrorInfo {
  std::string reason;  // names of v1.ErrorReason: "PTX_SYNTAX"
  std::string domain;  // "samebits"
  std::map<std::string, std::string> metadata;
};

// The ErrorInfo of a status that a Client returned; nullopt where the failure did not come from the server.
std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status);

// Thread-safe. Calls block. The status of a failed call has the server's canonical code and its message; the message
// already holds what a person needs (place, limit), GetErrorInfo gives the same to programs.
class Client {
 public:
  // Waits for the connection up to connect_timeout; UNAVAILABLE naming the target if it does not come up.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options);
  virtual ~Client() = default;

  virtual absl::StatusOr<v1::Kernel> RegisterKernel(std::string_view text) = 0;
  virtual absl::StatusOr<v1::Kernel> GetKernel(const std::string& name, bool with_text) = 0;
  // One page; pass the response's next_page_token on to get the next.
  virtual absl::StatusOr<v1::ListKernelsResponse> ListKernels(int page_size, const std::string& page_token) = 0;
  virtual absl::Status DeleteKernel(const std::string& name) = 0;
  virtual absl::StatusOr<v1::KernelSignature> ComputeSignature(const v1::ComputeKernelSignatureRequest& request) = 0;
  virtual absl::StatusOr<v1::Comparison> Compare(const v1::CompareKernelsRequest& request) = 0;
  virtual absl::StatusOr<v1::Comparison> Explain(const v1::ExplainDifferenceRequest& request) = 0;

  // Fills the next item and returns true, or returns false at the end. Called on the thread that called Partition.
  using ItemSource = std::function<bool(v1::PartitionItem* item)>;
  // Called once per decided item, on a thread of the client, never concurrently. Return false to cancel.
  using ItemSink = std::function<bool(const v1::PartitionItemResult& result)>;
  // Streams items until `next` ends, and returns the partition. Not retried (items may have been consumed).
  // CANCELLED if `on_result` returned false. `on_result` may be null.
  virtual absl::StatusOr<v1::Partition> Partition(const v1::PartitionConfig& config, const ItemSource& next,
                                                  const ItemSink& on_result) = 0;

  // SERVING state from the health service; OK where the server serves KernelService.
  virtual absl::Status CheckHealth() = 0;
};

}  // namespace samebits::client

#endif  // SAMEBITS_CLIENT_CPP_CLIENT_H_
