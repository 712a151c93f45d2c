#include "client/cli/gemm_library.h"

#include <bit>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace samebits::cli {

absl::StatusOr<workers::GemmLibrary> FindGemmLibrary(const GemmOptions& o) {
  return workers::FindGemmLibrary({o.library, o.device, o.workspace, o.device_name, o.driver});
}

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  return bytes;
}

absl::StatusOr<gemm::GemmDesc> ReadDescriptor(const std::string& argument) {
  if (!argument.starts_with("@")) return gemm::ParseGemmDesc(argument);
  const absl::StatusOr<std::string> text = ReadBytes(argument.substr(1));
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
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(text);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", profile.status().message()));
}

}  // namespace samebits::cli
