#include "client/ci/baseline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launch/abseil_text.h"

namespace samebits::ci {
namespace {

using Json = nlohmann::ordered_json;
using checker::SignatureStatus;

constexpr int kFormat = 1;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json OptionsJson(const BaselineOptions& options) {
  return {{"ignore_signed_zero", options.ignore_signed_zero},
          {"strict_contraction", options.strict_contraction},
          {"symbolic", options.symbolic}};
}

Json KernelJson(const SignedKernel& kernel) {
  Json json = {{"id", kernel.key}, {"text", kernel.digest}};
  if (!kernel.signature.ok()) {
    json["status"] = "UNKNOWN";
    json["reason"] = std::string(kernel.signature.status().message());
    return json;
  }
  json["status"] = std::string(checker::StatusName(kernel.signature->status));
  if (kernel.signature->status == SignatureStatus::kOk) {
    json["signature"] = kernel.signature->digest;
  } else {
    json["reason"] = kernel.signature->reason;
    json["reason_code"] = kernel.signature->reason_code;
  }
  return json;
}

absl::StatusOr<SignatureStatus> StatusOf(const std::string& name) {
  for (const SignatureStatus status : {SignatureStatus::kOk, SignatureStatus::kNondeterministic, SignatureStatus::kUnknown}) {
    if (checker::StatusName(status) == name) return status;
  }
  return absl::InvalidArgumentError("no status");
}

std::string Word(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

absl::StatusOr<SignedKernel> ReadKernel(const Json& json) {
  if (!json.is_object()) return absl::InvalidArgumentError("an object is expected");
  SignedKernel kernel;
  kernel.key = Word(json, "id");
  kernel.digest = Word(json, "text");
  const absl::StatusOr<SignatureStatus> status = StatusOf(Word(json, "status"));
  if (kernel.key.empty() || !status.ok()) return absl::InvalidArgumentError("no id or no status");
  checker::Signature signature;
  signature.status = *status;
  signature.digest = Word(json, "signature");
  signature.reason = Word(json, "reason");
  signature.reason_code = Word(json, "reason_code");
  const bool is_digest = signature.digest.size() == 32 &&
                         signature.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_digest != (*status == SignatureStatus::kOk)) return absl::InvalidArgumentError("no signature of 32 hexadecimal digits");
  kernel.signature = std::move(signature);
  return kernel;
}

}  // namespace

std::string WriteBaseline(std::vector<SignedKernel> kernels, const BaselineOptions& options) {
  const auto order = [](const SignedKernel& k) {
    return std::tuple(k.key, k.signature.ok() ? k.signature->digest : "", k.digest);
  };
  std::stable_sort(kernels.begin(), kernels.end(), [&](const SignedKernel& a, const SignedKernel& b) { return order(a) < order(b); });
  std::string out = absl::StrCat("{\"samebits_baseline\": ", kFormat, ", \"signature_version\": ",
                                 checker::SignatureVersion(), ", \"options\": ", Dump(OptionsJson(options)),
                                 ", \"kernels\": [\n");
  for (size_t i = 0; i < kernels.size(); ++i)
    absl::StrAppend(&out, Dump(KernelJson(kernels[i])), i + 1 < kernels.size() ? ",\n" : "\n");
  return out + "]}\n";
}

absl::StatusOr<std::vector<SignedKernel>> ReadBaseline(std::string_view text, const BaselineOptions& options,
                                                       std::string_view origin) {
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(launch::Abseil(origin), ": ", what));
  };
  const auto stale = [&](const std::string& what) {
    return absl::FailedPreconditionError(absl::StrCat(
        launch::Abseil(origin), ": ", what, "; write it anew from a build that you trust, with --update-baseline"));
  };
  // Objects nest three deep; the callback refuses what could exhaust the parser's recursion.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 8; };
  const Json json = Json::parse(text, shallow, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("samebits_baseline")) return bad("no baseline of 'samebits ci check'");
  if (json["samebits_baseline"] != kFormat) return stale("a baseline of another format");
  if (!json.contains("signature_version") || json["signature_version"] != checker::SignatureVersion())
    return stale(absl::StrCat("signatures of another version than ", checker::SignatureVersion(), ", which do not compare"));
  if (!json.contains("options") || json["options"] != OptionsJson(options))
    return stale("signatures computed under other options (--ignore-signed-zero, --strict-contraction, --symbolic)");
  if (!json.contains("kernels") || !json["kernels"].is_array()) return bad("no list of kernels");
  std::vector<SignedKernel> kernels;
  for (const Json& row : json["kernels"]) {
    absl::StatusOr<SignedKernel> kernel = ReadKernel(row);
    if (!kernel.ok()) return bad(absl::StrCat("kernels[", kernels.size(), "]: ", kernel.status().message()));
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

}  // namespace samebits::ci
