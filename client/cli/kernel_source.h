#ifndef SAMEBITS_CLIENT_CLI_KERNEL_SOURCE_H_
#define SAMEBITS_CLIENT_CLI_KERNEL_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "client/launch/launch_spec.h"

namespace samebits::cli {

// A kernel that the user named, not read yet.
struct KernelSource {
  std::string id;           // as shown: the manifest's id, or what the user wrote
  std::string path;         // of the text, "-" for standard input; empty for a registered kernel
  std::string kernel_name;  // "kernels/{sha256}" of a registered kernel
  std::shared_ptr<const std::string> text;  // where it was read already; null: it lies at `path`
  launch::LaunchSpec spec;
  absl::Status status;  // why it cannot be used
  checker::TextIsa language = checker::TextIsa::kDetect;
  bool server_reads = false;  // a server reads the text: it tells the language by content
};

// A kernel ready to be checked.
struct Kernel {
  std::string id;
  std::string text;  // empty for a registered kernel
  std::string kernel_name;
  launch::ResolvedLaunch launch;
};

// The kernels of the command line in its order, or all rows of its manifest. A bad manifest row is a source with its
// status set; an error is one of the command line as a whole: an unusable manifest, an id that it lacks, an id given
// twice where ids must differ, standard input named twice.
absl::StatusOr<std::vector<KernelSource>> ListSources(const CommandLine& line);

// What --language says.
checker::TextIsa LanguageOf(const CommandLine& line);

// What a registered kernel declares.
using DescribeRegistered = std::function<absl::StatusOr<checker::TextInfo>(const std::string& name)>;

// Reads the text and resolves the launch. The message of an error begins with the source's path or id.
absl::StatusOr<Kernel> LoadKernel(const KernelSource& source, const DescribeRegistered& describe);

// `status` with `what` and ": " before its message, unless the message begins so already.
absl::Status PrefixStatus(const absl::Status& status, const std::string& what);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_KERNEL_SOURCE_H_
