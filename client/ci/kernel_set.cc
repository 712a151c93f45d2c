#include "client/ci/kernel_set.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ci/embedded_ptx.h"
#include "client/launch/abseil_text.h"
#include "client/launch/manifest.h"
#include "core/base/sha256.h"

namespace samebits::ci {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kMaxBinaryBytes = 2ull << 30;

// What a Triton cache says of one kernel beside its text.
struct TritonMetadata {
  std::string key;
  std::optional<uint32_t> block;
};

// nullopt where `text` is no metadata of Triton.
std::optional<TritonMetadata> ParseTritonMetadata(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("hash")) return std::nullopt;
  const auto number = [&](const Json& object, const char* key) -> std::optional<uint32_t> {
    const auto at = object.find(key);
    if (at == object.end() || !at->is_number_unsigned() || at->get<uint64_t>() > 1u << 20) return std::nullopt;
    return at->get<uint32_t>();
  };
  const auto name = json.find("name"), target = json.find("target");
  const std::optional<uint32_t> warps = number(json, "num_warps"), stages = number(json, "num_stages");
  if (name == json.end() || !name->is_string() || target == json.end() || !target->is_object() || !warps)
    return std::nullopt;
  const std::optional<uint32_t> ctas = number(json, "num_ctas");
  // NVIDIA's architectures are numbers, AMD's names.
  const auto arch = target->find("arch");
  const std::string processor = arch != target->end() && arch->is_string() ? arch->get<std::string>() : absl::StrCat("sm_", number(*target, "arch").value_or(0));
  TritonMetadata out;
  out.key = absl::StrCat(name->get<std::string>(), " [", processor, ", ", *warps, " warps, ",
                         stages.value_or(0), " stages", ctas.value_or(1) == 1 ? "" : absl::StrCat(", ", *ctas, " blocks a cluster"), "]");
  out.block = *warps * number(json, "warp_size").value_or(number(*target, "warp_size").value_or(32));
  return out;
}

// The launch as text: equal texts are equal launches.
std::string LaunchText(const launch::LaunchSpec& spec) {
  const auto dim = [](const std::optional<checker::Dim3>& d) {
    return d ? absl::StrCat((*d)[0], ",", (*d)[1], ",", (*d)[2]) : std::string("-");
  };
  Json args = Json::array();
  for (const launch::ArgSpec& arg : spec.args.value_or(std::vector<launch::ArgSpec>{})) {
    args.push_back({static_cast<int>(arg.form), arg.text, arg.bytes, arg.bits, arg.is_float, arg.is_signed, arg.width});
  }
  const Json json = {spec.entry.value_or(""), dim(spec.block), dim(spec.grid), spec.shared_bytes.value_or(0),
                     spec.args.has_value(), args, spec.outputs.value_or(std::vector<std::string>{})};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void SetText(std::shared_ptr<const std::string> text, SetKernel* kernel) {
  kernel->digest = Sha256Hex(absl::StrCat(LaunchText(kernel->spec), "\n", *text));
  kernel->text = std::move(text);
}

// Reads files into kernels.
class Reader {
 public:
  explicit Reader(fs::path root) : root_(std::move(root)) {}

  absl::Status ReadFile(const fs::path& path) {
    if (++files_ > kMaxSetFiles) return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxSetFiles, " files"));
    const std::string suffix = path.extension().string();
    if (suffix == ".ptx" || suffix == ".amdgcn" || suffix == ".s") return ReadText(path);
    return ReadBinary(path);
  }
  absl::Status ReadRow(const launch::ManifestRow& row) {
    absl::StatusOr<std::string> text = row.status.ok() ? Load(row.path, kMaxTextBytes) : absl::StatusOr<std::string>(row.status);
    SetKernel kernel{row.id, row.path, nullptr, row.spec, "", text.status()};
    if (text.ok()) SetText(std::make_shared<const std::string>(*std::move(text)), &kernel);
    kernels_.push_back(std::move(kernel));
    return Bounded();
  }
  std::vector<SetKernel> Take() { return std::move(kernels_); }

 private:
  static constexpr uint64_t kMaxTextBytes = checker::Limits{}.max_text_bytes;

  absl::StatusOr<std::string> Load(const fs::path& path, uint64_t max_bytes) {
    absl::StatusOr<std::string> text = launch::ReadFile(path.string(), max_bytes);
    if (text.ok()) bytes_ += text->size();
    return text;
  }
  absl::Status Bounded() const {
    if (bytes_ <= kMaxSetBytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxSetBytes, " bytes"));
  }
  std::string Key(const fs::path& path) const {
    fs::path relative = path.lexically_relative(root_);
    if (relative.empty() || relative == ".") relative = path.filename();
    return relative.replace_extension().generic_string();
  }
  void AddUnusable(const fs::path& path, const absl::Status& status) {
    kernels_.push_back({Key(path), path.string(), nullptr, {}, "", absl::Status(status.code(),
        status.message().find(launch::Abseil(path.string())) == 0 ? status.message() : absl::StrCat(path.string(), ": ", status.message()))});
  }
  absl::Status ReadText(const fs::path& path) {
    absl::StatusOr<std::string> text = Load(path, kMaxTextBytes);
    if (!text.ok()) {
      AddUnusable(path, text.status());
      return Bounded();
    }
    // Other processors' assembler texts have the suffix, too.
    if (path.extension() == ".s" && text->find(".amdgcn_target") == std::string::npos) return Bounded();
    SetKernel kernel;
    kernel.key = Key(path);
    kernel.path = path.string();
    if (const std::optional<std::string> sidecar = launch::FindSidecar(path.string())) {
      absl::StatusOr<std::string> json = Load(*sidecar, launch::kMaxJsonBytes);
      if (!json.ok()) {
        AddUnusable(path, json.status());
        return Bounded();
      }
      const std::optional<TritonMetadata> metadata = ParseTritonMetadata(*json);
      absl::StatusOr<launch::LaunchSpec> spec = launch::ParseLaunchJson(*json, *sidecar);
      if (!spec.ok()) {
        AddUnusable(path, spec.status());
        return absl::OkStatus();
      }
      kernel.spec = *std::move(spec);
      if (metadata) {
        kernel.key = metadata->key;
        if (text->find(".reqntid") == std::string::npos && !kernel.spec.block && metadata->block)
          kernel.spec.block = checker::Dim3{*metadata->block, 1, 1};
      }
    }
    AddEntries(std::move(kernel), *std::move(text));
    return Bounded();
  }

  absl::Status ReadBinary(const fs::path& path) {
    if (fs::exists(fs::path(path).replace_extension(".ptx"))) return absl::OkStatus();  // the text is read instead
    absl::StatusOr<std::string> bytes = Load(path, kMaxBinaryBytes);
    absl::StatusOr<std::vector<EmbeddedPtx>> texts = bytes.ok() ? ExtractPtx(*bytes) : bytes.status();
    if (!texts.ok()) {
      AddUnusable(path, texts.status());
      return Bounded();
    }
    std::set<std::string> seen;
    for (EmbeddedPtx& embedded : *texts) {
      if (!seen.insert(Sha256Hex(embedded.text)).second) continue;
      SetKernel kernel;
      kernel.key = absl::StrCat(Key(path), " [sm_", embedded.architecture, "]");
      kernel.path = path.string();
      bytes_ += embedded.text.size();
      AddEntries(std::move(kernel), std::move(embedded.text));
    }
    return Bounded();
  }

  // One kernel for each entry of the text, or the one that its launch names.
  void AddEntries(SetKernel kernel, std::string text) {
    absl::StatusOr<checker::TextInfo> info = checker::DescribeText(text);
    if (!info.ok()) {
      kernel.status = absl::Status(info.status().code(), absl::StrCat(kernel.path, ": ", info.status().message()));
      kernels_.push_back(std::move(kernel));
      return;
    }
    if (kernel.spec.entry || info->entries.size() <= 1) {
      SetText(std::make_shared<const std::string>(std::move(text)), &kernel);
      kernels_.push_back(std::move(kernel));
      return;
    }
    const auto shared = std::make_shared<const std::string>(std::move(text));
    for (const checker::EntryInfo& entry : info->entries) {
      SetKernel one = kernel;
      one.key = absl::StrCat(kernel.key, "#", entry.name);
      one.spec.entry = entry.name;
      SetText(shared, &one);
      kernels_.push_back(std::move(one));
    }
  }

  const fs::path root_;
  std::vector<SetKernel> kernels_;
  size_t files_ = 0;
  uint64_t bytes_ = 0;
};

bool HoldsKernels(const fs::path& path) {
  static const std::set<std::string> kSuffixes = {".ptx", ".amdgcn", ".s", ".fatbin", ".cubin", ".o", ".so", ".a"};
  return kSuffixes.contains(path.extension().string());
}

absl::StatusOr<std::vector<fs::path>> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at.depth() > 64) at.disable_recursion_pending();
    if (!at->is_regular_file(error) || !HoldsKernels(at->path())) continue;
    files.push_back(at->path());
    if (files.size() > kMaxSetFiles) break;
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat(folder.string(), ": ", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<SetKernel>> ReadKernelSet(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat(path, ": no such file or folder"));
  Reader reader(path);
  if (fs::is_directory(path, error)) {
    const absl::StatusOr<std::vector<fs::path>> files = FilesBelow(path);
    if (!files.ok()) return files.status();
    for (const fs::path& file : *files) {
      if (absl::Status status = reader.ReadFile(file); !status.ok())
        return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
    }
  } else if (fs::path(path).extension() == ".jsonl") {
    const absl::StatusOr<std::vector<launch::ManifestRow>> rows = launch::ReadManifest(path);
    if (!rows.ok()) return rows.status();
    for (const launch::ManifestRow& row : *rows) {
      if (absl::Status status = reader.ReadRow(row); !status.ok())
        return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
    }
  } else if (absl::Status status = reader.ReadFile(path); !status.ok()) {
    return status;
  }
  std::vector<SetKernel> kernels = reader.Take();
  if (kernels.empty()) return absl::NotFoundError(absl::StrCat(path, ": no kernels (.ptx, .amdgcn, .s, .fatbin, .cubin, .o, .so, .a)"));
  return kernels;
}

}  // namespace samebits::ci
