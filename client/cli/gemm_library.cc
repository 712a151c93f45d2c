#include "client/cli/gemm_library.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/launch/manifest.h"
#include "server/reconstruction/reconstruction.h"

namespace samebits::cli {

absl::StatusOr<workers::GemmLibrary> FindGemmLibrary(const GemmOptions& o) {
  return workers::FindGemmLibrary({o.library, o.device, o.workspace, o.device_name, o.driver});
}

absl::StatusOr<std::string> ReadOperand(const GemmOptions& o, const std::string& path) {
  constexpr uint64_t kMostElementBytes = 8;
  const uint64_t m = std::clamp<int64_t>(o.m, 1, gemm::kMaxK), n = std::clamp<int64_t>(o.n, 1, gemm::kMaxK);
  const uint64_t k = std::clamp<int64_t>(o.k, 1, gemm::kMaxK);
  const uint64_t most = kMostElementBytes * std::max({m * k, k * n, m * n});
  absl::StatusOr<std::string> bytes = launch::ReadFile(path, most);
  if (!absl::IsResourceExhausted(bytes.status())) return bytes;
  return absl::InvalidArgumentError(absl::StrCat(path, ": more than the ", most, " bytes that an operand of these sides can have"));
}

absl::StatusOr<gemm::GemmDesc> ReadDescriptor(const std::string& argument) {
  if (!argument.starts_with("@")) return gemm::ParseGemmDesc(argument);
  constexpr uint64_t kMostDescriptorBytes = 1 << 20;
  const absl::StatusOr<std::string> text = launch::ReadFile(argument.substr(1), kMostDescriptorBytes);
  if (!text.ok()) return text.status();
  return gemm::ParseGemmDesc(*text);
}

uint64_t EpilogueScalar(const gemm::GemmDesc& desc, double value) {
  const bool wide = desc.accumulate_type == gemm::FormatId::kF64;
  return wide ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
}

bool NeedsBlocks(const GemmOptions& o) {
  bool generated = false;
  for (const std::string* operand : {&o.a, &o.b, &o.c, &o.bias}) generated = generated || operand->starts_with("generate:");
  return generated || !o.outputs.empty() || o.summed_k != 0;
}

absl::StatusOr<gemm::GemmProblem> ProblemOf(const GemmOptions& o) {
  gemm::GemmProblem problem;
  if (absl::Status status = gemm::ParseTypes(o.types, &problem); !status.ok()) return status;
  const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(o.layout);
  if (!layout.ok()) return layout.status();
  problem.layout = *layout;
  problem.m = o.m, problem.n = o.n, problem.k = o.k;
  for (const auto& [name, value] : {std::pair{"--m", o.m}, {"--n", o.n}, {"--k", o.k}}) {
    if (value < 1) return absl::InvalidArgumentError(absl::StrCat(name, ": a number from 1 on is needed"));
  }
  if (o.k > gemm::kMaxK) return absl::InvalidArgumentError("--k: at most 2^24");
  return problem;
}

absl::StatusOr<std::unique_ptr<client::ProfileClient>> ConnectProfiles(const CommandLine& line) {
  const client::ClientOptions options = Connection(line);
  auto client = client::ProfileClient::Connect(options);
  if (absl::IsUnavailable(client.status()))
    return absl::UnavailableError(absl::StrCat("no server at ", options.target, "; start one with 'samebits serve' or ",
                                               "name one with --server (", client.status().message(), ")"));
  if (!client.ok()) return NameFlags(client.status());
  return client;
}

absl::StatusOr<gemm::ArchProfile> ReadProfile(const CommandLine& line, const std::string& path) {
  if (path.starts_with("archProfiles/")) {
    const auto client = ConnectProfiles(line);
    if (!client.ok()) return client.status();
    const absl::StatusOr<std::string> stored = (*client)->Export(path);
    if (!stored.ok()) return stored.status();
    return gemm::ParseArchProfile(*stored);
  }
  const absl::StatusOr<std::string> text = launch::ReadFile(path, server::kMostProfileBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(*text);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", profile.status().message()));
}

}  // namespace samebits::cli
