#ifndef SAMEBITS_CLIENT_CLI_BACKEND_H_
#define SAMEBITS_CLIENT_CLI_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "client/cli/kernel_source.h"
#include "client/cpp/client.h"
#include "core/checker/checker.h"

namespace samebits::cli {

// A text that a server stores.
struct Registered {
  std::string name;  // "kernels/{sha256}"
  checker::TextInfo info;
};

// Who answers: the checker in this process, or a server. Errors begin with the kernel's path or id where one kernel
// is at fault.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual absl::StatusOr<checker::Comparison> Compare(const Kernel& a, const Kernel& b) = 0;
  virtual absl::StatusOr<checker::Comparison> Explain(const Kernel& a, const Kernel& b) = 0;
  virtual absl::StatusOr<checker::TextInfo> Describe(const std::string& kernel_name) = 0;
  // Text of a registered kernel.
  virtual absl::StatusOr<std::string> FetchText(const std::string& kernel_name) = 0;

  // Stores a text; returns its name and what it declares.
  virtual absl::StatusOr<Registered> Register(const std::string& text) = 0;

  // Called once per source, in any order, never concurrently.
  using OnSignature = std::function<void(size_t index, absl::StatusOr<checker::Signature> signature)>;
  // Signatures of a batch. A source that cannot be read or checked gets its own error; the returned status is an
  // error where the batch as a whole ended early, and then some sources were not called.
  virtual absl::Status ComputeSignatures(const std::vector<KernelSource>& sources, const OnSignature& on_signature) = 0;
};

// In this process, on `jobs` threads (0: one per core).
std::unique_ptr<Backend> MakeLocalBackend(const checker::Options& options, int jobs);

// A server. UNAVAILABLE with what to do where it does not answer.
absl::StatusOr<std::unique_ptr<Backend>> MakeRemoteBackend(const client::ClientOptions& client_options,
                                                           const checker::Options& options);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_BACKEND_H_
