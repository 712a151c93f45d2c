#include "tests/adversarial/pair_table.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launch/launch_spec.h"
#include "client/launch/manifest.h"

namespace samebits::adversarial {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxFile = 16u << 20;

absl::StatusOr<std::vector<Json>> ReadLines(const std::string& path) {
  absl::StatusOr<std::string> content = launch::ReadFile(path, kMaxFile);
  if (!content.ok()) return content.status();
  std::vector<Json> rows;
  std::istringstream lines(*content);
  for (std::string line; std::getline(lines, line);) {
    Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object())
      return absl::InvalidArgumentError(absl::StrCat(path, ": line ", rows.size() + 1, " is no object"));
    rows.push_back(std::move(row));
  }
  return rows;
}

size_t CountOf(const std::string& text, const std::string& find) {
  size_t count = 0;
  for (size_t at = text.find(find); at != std::string::npos; at = text.find(find, at + find.size())) ++count;
  return count;
}

absl::Status ApplyEdit(const Json& edit, std::string* text) {
  const std::string find = edit.at(0), replace = edit.at(1);
  const bool all = edit.size() > 2 && edit.at(2) == "all";
  const size_t count = CountOf(*text, find);
  if (count == 0 || (count > 1 && !all)) {
    return absl::InvalidArgumentError(absl::StrCat("'", find, "' occurs ", count, " times"));
  }
  for (size_t at = text->find(find); at != std::string::npos; at = text->find(find, at + replace.size())) {
    text->replace(at, find.size(), replace);
  }
  return absl::OkStatus();
}

std::map<std::string, Buffer> ReadBuffers(const Json& row) {
  std::map<std::string, Buffer> buffers;
  for (const auto& [name, fields] : row.at("buffers").items()) {
    const std::string role = fields.at("role");
    buffers[name] = {fields.at("dtype"), fields.at("elements"), role != "out", role != "in"};
  }
  return buffers;
}

absl::StatusOr<Side> ReadSide(const Json& side, const std::map<std::string, Json>& kernels, const std::string& folder) {
  const auto kernel = kernels.find(side.at("kernel").get<std::string>());
  if (kernel == kernels.end()) return absl::NotFoundError(absl::StrCat("no kernel ", side.at("kernel").dump()));
  Json row = kernel->second;
  if (side.contains("launch")) row.update(side.at("launch"));
  const std::string path = absl::StrCat(folder, "/", row.at("path").get<std::string>());
  absl::StatusOr<std::string> text = launch::ReadFile(path, kMaxFile);
  if (!text.ok()) return text.status();
  for (const Json& edit : side.value("edits", Json::array())) {
    if (absl::Status status = ApplyEdit(edit, &*text); !status.ok()) return status;
  }
  absl::StatusOr<launch::LaunchSpec> spec = launch::ParseLaunchJson(row.dump(), path);
  if (!spec.ok()) return spec.status();
  auto resolved = launch::Resolve(*spec, [&] { return checker::DescribeText(*text); });
  if (!resolved.ok()) return resolved.status();
  return Side{*std::move(text), std::move(resolved->launch), ReadBuffers(row)};
}

absl::StatusOr<Pair> ReadPair(const Json& row, const std::map<std::string, Json>& kernels, const std::string& folder) {
  Pair pair;
  pair.name = row.at("name");
  absl::StatusOr<Side> a = ReadSide(row.at("a"), kernels, folder);
  if (!a.ok()) return a.status();
  absl::StatusOr<Side> b = ReadSide(row.at("b"), kernels, folder);
  if (!b.ok()) return b.status();
  pair.a = *std::move(a);
  pair.b = *std::move(b);
  const Json& expect = row.at("expect");
  pair.allowed = expect.is_array() ? expect.get<std::vector<std::string>>() : std::vector<std::string>{expect};
  pair.known = row.value("known", "");
  pair.has_witness = row.value("witness", true);
  for (const Json& fill : row.value("fills", Json::array())) {
    auto& patterns = pair.fills.emplace_back();
    for (const auto& [buffer, hex] : fill.items()) {
      patterns[buffer] = static_cast<uint32_t>(std::stoul(hex.get<std::string>(), nullptr, 16));
    }
  }
  return pair;
}

}  // namespace

absl::StatusOr<std::vector<Pair>> LoadPairs(const std::string& folder) {
  absl::StatusOr<std::vector<Json>> kernel_rows = ReadLines(folder + "/kernels.jsonl");
  if (!kernel_rows.ok()) return kernel_rows.status();
  absl::StatusOr<std::vector<Json>> pair_rows = ReadLines(folder + "/pairs.jsonl");
  if (!pair_rows.ok()) return pair_rows.status();
  std::map<std::string, Json> kernels;
  for (Json& row : *kernel_rows) kernels.emplace(row.at("name").get<std::string>(), row);
  std::vector<Pair> pairs;
  for (const Json& row : *pair_rows) {
    absl::StatusOr<Pair> pair = ReadPair(row, kernels, folder);
    if (!pair.ok()) {
      const std::string message(pair.status().message());
      return absl::Status(pair.status().code(), absl::StrCat(row.at("name").dump(), ": ", message));
    }
    pairs.push_back(*std::move(pair));
  }
  return pairs;
}

}  // namespace samebits::adversarial
