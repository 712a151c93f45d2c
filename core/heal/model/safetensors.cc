#include "core/heal/model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/heal/model/json_text.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "files are read in place");

constexpr size_t kMostFiles = 4096, kMostDimensions = 8;

absl::Status Bad(const std::string& file, const std::string& tensor, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": ", tensor.empty() ? "" : absl::StrCat("tensor '", tensor, "': "), what));
}

std::optional<ElementType> TypeOf(const std::string& name) {
  if (name == "F32") return ElementType::kF32;
  if (name == "F16") return ElementType::kF16;
  if (name == "BF16") return ElementType::kBf16;
  return {};
}

// An array of at most `most` counts.
std::optional<std::vector<int64_t>> Counts(const Json& entry, const char* key, size_t most) {
  const auto at = entry.find(key);
  if (at == entry.end() || !at->is_array() || at->size() > most) return {};
  std::vector<int64_t> counts;
  for (const Json& item : *at) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > uint64_t{1} << 48) return {};
    counts.push_back(item.get<int64_t>());
  }
  return counts;
}

absl::Status AddTensor(const std::string& name, const Json& entry, std::span<const uint8_t> data,
                       const std::shared_ptr<const MappedFile>& file, StoredTensors* tensors) {
  const auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
  if (!entry.is_object() || dtype == entry.end() || !dtype->is_string()) return Bad(file->path(), name, "has no dtype");
  const auto shape = Counts(entry, "shape", kMostDimensions), offsets = Counts(entry, "data_offsets", 2);
  if (!shape || !offsets || offsets->size() != 2)
    return Bad(file->path(), name, "shape or data_offsets are not counts");
  const int64_t begin = (*offsets)[0], end = (*offsets)[1], size = static_cast<int64_t>(data.size());
  if (begin > end || end > size) {
    return Bad(file->path(), name,
               absl::StrCat("data_offsets ", begin, " to ", end, " lie beyond the file's ", size,
                            " bytes of data: the file is truncated or damaged"));
  }
  StoredTensor tensor = {TypeOf(dtype->get<std::string>()), dtype->get<std::string>(), *shape, {}, file};
  if (tensor.type) {
    const std::optional<int64_t> elements = ElementsOf(*shape);
    if (!elements || *RowBytes(*tensor.type, *elements) != end - begin) {
      return Bad(file->path(), name,
                 absl::StrCat("shape and dtype do not fill the ", end - begin, " bytes of data_offsets"));
    }
    tensor.bytes = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
  if (!tensors->emplace(name, std::move(tensor)).second) return Bad(file->path(), name, "is in another file too");
  return absl::OkStatus();
}

// No byte belongs to two tensors. Offsets were checked one by one.
absl::Status CheckDisjoint(const std::string& path, const Json& header) {
  std::vector<std::tuple<int64_t, int64_t, std::string>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::vector<int64_t> offsets = *Counts(entry, "data_offsets", 2);
    if (offsets[0] != offsets[1]) ranges.emplace_back(offsets[0], offsets[1], name);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    const auto& [begin, end, name] = ranges[i];
    const auto& [before, until, other] = ranges[i - 1];
    if (begin < until)
      return Bad(path, name, absl::StrCat("data_offsets ", begin, " to ", end, " overlap those of '", other, "', ", before, " to ", until,
                                          ": the file is damaged, or not written as safetensors"));
  }
  return absl::OkStatus();
}

absl::Status AddFile(const std::string& path, StoredTensors* tensors) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::span<const uint8_t> bytes = (*file)->bytes();
  uint64_t header = 0;
  if (bytes.size() < sizeof(header)) return Bad(path, "", "truncated: no header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header > bytes.size() - sizeof(header)) {
    return Bad(path, "",
               absl::StrCat("truncated: a header of ", header, " bytes is announced, the file has ", bytes.size()));
  }
  const absl::StatusOr<Json> json = ParseJsonObject((*file)->text().substr(sizeof(header), header));
  if (!json.ok()) return Bad(path, "", absl::StrCat("header: ", json.status().message()));
  for (const auto& [name, entry] : json->items()) {
    if (name == "__metadata__") continue;
    const absl::Status status = AddTensor(name, entry, bytes.subspan(sizeof(header) + header), *file, tensors);
    if (!status.ok()) return status;
  }
  return CheckDisjoint(path, *json);
}

// File names of the index, each once; a name that leaves the folder is refused.
absl::StatusOr<std::vector<std::string>> FilesOfIndex(const std::string& path) {
  const absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<Json> json = ParseJsonObject((*file)->text());
  if (!json.ok()) return Bad(path, "", json.status().message());
  const auto map = json->find("weight_map");
  if (map == json->end() || !map->is_object()) return Bad(path, "", "has no 'weight_map'");
  std::vector<std::string> files;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string()) return Bad(path, name, "must name a file");
    files.push_back(value.get<std::string>());
    if (absl::StrContains(files.back(), "/") || !absl::EndsWith(files.back(), ".safetensors")) {
      return Bad(path, name,
                 absl::StrCat("must name a .safetensors file of the same folder, not '", files.back(), "'"));
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

absl::StatusOr<std::vector<std::string>> FilesOfFolder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (absl::EndsWith(name, ".safetensors")) files.push_back(name);
    if (files.size() > kMostFiles)
      return Bad(folder, "", absl::StrCat("holds more than ", kMostFiles, " safetensors files"));
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  if (files.empty()) return absl::NotFoundError(absl::StrCat(folder, ": holds no *.safetensors"));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<StoredTensors> ReadSafetensorsFolder(const std::string& folder) {
  const std::string index = absl::StrCat(folder, "/model.safetensors.index.json");
  std::error_code error;
  const bool indexed = std::filesystem::exists(index, error);
  const absl::StatusOr<std::vector<std::string>> files = indexed ? FilesOfIndex(index) : FilesOfFolder(folder);
  if (!files.ok()) return files.status();
  StoredTensors tensors;
  for (const std::string& file : *files) {
    const absl::Status status = AddFile(absl::StrCat(folder, "/", file), &tensors);
    if (!status.ok()) return status;
  }
  return tensors;
}

}  // namespace samebits::heal
