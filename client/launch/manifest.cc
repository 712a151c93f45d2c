#include "client/launch/manifest.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/launch/abseil_text.h"
#include "client/launch/launch_json.h"

namespace samebits::launch {
namespace {

ManifestRow ReadRow(std::string_view line, size_t number, const std::filesystem::path& folder,
                    std::string_view origin) {
  const std::string place = absl::StrCat(Abseil(origin), ":", number);
  ManifestRow row;
  row.line = number;
  absl::StatusOr<JsonRow> json = ParseRowJson(line, place);
  if (!json.ok()) {
    row.id = absl::StrCat("line ", number);
    row.status = json.status();
    return row;
  }
  row.id = json->id.empty() ? json->path : json->id;
  row.spec = std::move(json->spec);
  row.status = json->launch_status;
  if (json->path.empty()) {
    row.status = absl::InvalidArgumentError(absl::StrCat(place, ": no \"path\"; name the kernel's text"));
    if (row.id.empty()) row.id = absl::StrCat("line ", number);
    return row;
  }
  row.path = (folder / json->path).lexically_normal().string();
  return row;
}

}  // namespace

absl::StatusOr<std::vector<ManifestRow>> ParseManifest(std::string_view text, std::string_view folder,
                                                       std::string_view origin) {
  std::vector<ManifestRow> rows;
  std::unordered_map<std::string, size_t> seen;
  size_t number = 0, usable = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (absl::StripAsciiWhitespace(Abseil(line)).empty()) continue;
    if (rows.size() == kMaxManifestRows) {
      return absl::ResourceExhaustedError(
          absl::StrCat(Abseil(origin), ": more than ", kMaxManifestRows, " rows; split the manifest"));
    }
    ManifestRow row = ReadRow(line, number, std::filesystem::path(folder), origin);
    const auto [at, is_new] = seen.emplace(row.id, number);
    if (!is_new && row.status.ok()) {
      row.status = absl::InvalidArgumentError(absl::StrCat(Abseil(origin), ":", number, ": id '", row.id,
                                                           "' is that of line ", at->second, "; ids must differ"));
    }
    usable += row.status.ok();
    rows.push_back(std::move(row));
  }
  if (usable > 0) return rows;
  if (rows.empty()) return absl::InvalidArgumentError(absl::StrCat(Abseil(origin), ": the manifest has no rows"));
  return absl::InvalidArgumentError(absl::StrCat("no row of the manifest can be read; ", rows[0].status.message()));
}

absl::StatusOr<std::vector<ManifestRow>> ReadManifest(const std::string& path) {
  constexpr uint64_t kMaxManifestBytes = 1ull << 30;
  absl::StatusOr<std::string> text = ReadFile(path, kMaxManifestBytes);
  if (!text.ok()) return text.status();
  return ParseManifest(*text, std::filesystem::path(path).parent_path().string(), path);
}

std::optional<std::string> FindSidecar(const std::string& path) {
  if (path == "-") return std::nullopt;
  for (const char* extension : {".launch.json", ".json"}) {
    const std::string candidate = std::filesystem::path(path).replace_extension(extension).string();
    std::error_code error;
    if (candidate != path && std::filesystem::is_regular_file(candidate, error)) return candidate;
  }
  return std::nullopt;
}

absl::StatusOr<LaunchSpec> ReadLaunchFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kMaxJsonBytes);
  if (!text.ok()) return text.status();
  return ParseLaunchJson(*text, path);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  std::error_code error;
  if (path != "-" && std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder; name a file"));
  }
  const auto close = [](std::FILE* file) {
    if (file != stdin) std::fclose(file);
  };
  std::unique_ptr<std::FILE, decltype(close)> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) {
    const absl::StatusCode code = errno == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kInvalidArgument;
    return absl::Status(code, absl::StrCat(path, ": ", std::strerror(errno)));
  }
  std::string text;
  char buffer[1 << 16];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) {
    if (text.size() + got > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": larger than the limit of ", max_bytes, " bytes"));
    }
    text.append(buffer, got);
  }
  if (std::ferror(file.get())) return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::strerror(errno)));
  return text;
}

}  // namespace samebits::launch
