#include "server/registry/errors.h"

#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace samebits::server {
namespace {

constexpr char kDetailUrl[] = "samebits/error-detail";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// Reason, then keys and values, each ended by a byte that none of them holds (0 is dropped from values).
std::string Encode(const ErrorDetail& detail) {
  std::string out = detail.reason;
  for (const auto& [key, value] : detail.metadata) {
    absl::StrAppend(&out, absl::string_view("\0", 1), key, absl::string_view("\0", 1));
    for (const char c : value)
      if (c != '\0') out.push_back(c);
  }
  return out;
}

}  // namespace

absl::Status WithDetail(absl::Status status, std::string reason, std::map<std::string, std::string> metadata) {
  status.SetPayload(kDetailUrl, absl::Cord(Encode({std::move(reason), std::move(metadata)})));
  return status;
}

std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kDetailUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(std::string(*payload), '\0');
  ErrorDetail detail{parts[0], {}};
  for (size_t i = 1; i + 1 < parts.size(); i += 2) detail.metadata[parts[i]] = parts[i + 1];
  return detail;
}

absl::Status WithMetadata(absl::Status status, const std::string& key, std::string value) {
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail) return status;
  detail->metadata[key] = std::move(value);
  return WithDetail(std::move(status), std::move(detail->reason), std::move(detail->metadata));
}

absl::Status InvalidField(std::string_view field, std::string_view problem) {
  return WithDetail(absl::InvalidArgumentError(absl::StrCat(View(field), ": ", View(problem))), "INVALID_FIELD",
                    {{"field", std::string(field)}});
}

absl::Status KernelNotFound(std::string_view name) {
  return WithDetail(absl::NotFoundError(absl::StrCat("no kernel ", View(name), "; register its text first")),
                    "KERNEL_NOT_FOUND", {{"name", std::string(name)}});
}

absl::Status LimitExceeded(std::string_view limit, uint64_t maximum, uint64_t value) {
  return WithDetail(
      absl::ResourceExhaustedError(absl::StrCat("over the limit ", View(limit), ": ", value, ", at most ", maximum)),
      "LIMIT_EXCEEDED",
      {{"limit", std::string(limit)}, {"maximum", absl::StrCat(maximum)}, {"value", absl::StrCat(value)}});
}

absl::Status QueueFull(std::string_view limit, uint64_t maximum) {
  return WithDetail(absl::ResourceExhaustedError(absl::StrCat("the server is busy: limit ", View(limit), " of ",
                                                              maximum, " is reached; try again later")),
                    "QUEUE_FULL", {{"limit", std::string(limit)}, {"maximum", absl::StrCat(maximum)}});
}

absl::Status ShuttingDown() {
  return WithDetail(absl::UnavailableError("the server is stopping"), "SHUTTING_DOWN", {});
}

absl::Status Abandoned() {
  return WithDetail(absl::CancelledError("the caller gave up before the answer"), "ABANDONED", {});
}

absl::Status FromStore(const absl::Status& status, std::string_view name) {
  if (absl::IsNotFound(status)) return KernelNotFound(name);
  return WithDetail(status, "STORAGE", {});
}

}  // namespace samebits::server
