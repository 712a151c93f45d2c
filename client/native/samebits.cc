#include "client/native/samebits.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/native/gemm_methods.h"
#include "client/native/parse.h"
#include "client/render/report.h"
#include "core/base/sha256.h"
#include "core/checker/checker.h"
#include "core/isa/ptx/parser.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/convert/convert.h"
#include "samebits/v1/kernel_service.pb.h"

namespace samebits {
namespace {

using Bytes = absl::StatusOr<std::string>;

absl::Status InvalidField(const std::string& field, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", absl::string_view(what.data(), what.size())));
}

// A launch of a request, ready for the checker.
struct Side {
  const std::string* text = nullptr;
  checker::Launch launch;
};

// A float argument has the width of its parameter.
absl::Status CheckFloatWidths(const v1::Launch& launch, const Side& side) {
  bool any = false;
  for (const v1::Argument& argument : launch.args().arguments()) any |= proto::FloatWidth(argument) != 0;
  if (!any) return absl::OkStatus();
  const absl::StatusOr<checker::TextInfo> info = checker::DescribeText(*side.text);
  if (!info.ok()) return info.status();
  for (const checker::EntryInfo& entry : info->entries) {
    if (!side.launch.entry.empty() ? entry.name != side.launch.entry : info->entries.size() != 1) continue;
    for (int i = 0; i < launch.args().arguments_size() && i < static_cast<int>(entry.parameters.size()); ++i) {
      const int width = proto::FloatWidth(launch.args().arguments(i));
      if (width != 0 && static_cast<uint32_t>(width) != entry.parameters[i].bytes)
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " is a float of ", 8 * width, " bits, its parameter ",
                                                       entry.parameters[i].name, " has ", 8 * entry.parameters[i].bytes));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Side> SideOf(const v1::KernelLaunch& message, const std::string& field) {
  if (message.source_case() != v1::KernelLaunch::kText)
    return InvalidField(field, "without a server a kernel is given by its text");
  if (!message.has_launch()) return InvalidField(field + ".launch", "is required");
  absl::StatusOr<checker::Launch> launch = proto::LaunchFromProto(message.launch());
  if (!launch.ok()) return launch.status();
  Side side{&message.text(), *std::move(launch)};
  if (absl::Status status = CheckFloatWidths(message.launch(), side); !status.ok()) return status;
  return side;
}

checker::Options OptionsOf(const v1::CheckOptions& message) {
  checker::Options options;
  proto::OptionsFromProto(message, &options);
  return options;
}

void FillComparison(const checker::Comparison& comparison, v1::Comparison* out) {
  proto::VerdictToProto(comparison, out);
  proto::SignatureToProto(comparison.a, checker::SignatureVersion(), /*cached=*/false, out->mutable_a());
  proto::SignatureToProto(comparison.b, checker::SignatureVersion(), /*cached=*/false, out->mutable_b());
}

Bytes ComputeKernelSignature(std::string_view bytes) {
  const auto request = Parse<v1::ComputeKernelSignatureRequest>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<Side> side = SideOf(request->kernel(), "kernel");
  if (!side.ok()) return side.status();
  const absl::StatusOr<checker::Signature> signature =
      checker::ComputeSignature(*side->text, side->launch, OptionsOf(request->options()));
  if (!signature.ok()) return signature.status();
  v1::KernelSignature answer;
  proto::SignatureToProto(*signature, checker::SignatureVersion(), /*cached=*/false, &answer);
  return answer.SerializeAsString();
}

// An error of one side, which the message names.
absl::Status OfSide(const absl::Status& status, const char* side) {
  absl::Status out(status.code(), absl::StrCat(side, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

// Compare and explain differ in the messages only: the difference is left out of a comparison.
template <typename Request, typename Response>
Bytes Pair(std::string_view bytes, bool explain) {
  const auto request = Parse<Request>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<Side> a = SideOf(request->a(), "a"), b = SideOf(request->b(), "b");
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  const checker::Options options = OptionsOf(request->options());
  const absl::StatusOr<checker::Signature> signature_a = checker::ComputeSignature(*a->text, a->launch, options);
  if (!signature_a.ok()) return OfSide(signature_a.status(), "a");
  const absl::StatusOr<checker::Signature> signature_b = checker::ComputeSignature(*b->text, b->launch, options);
  if (!signature_b.ok()) return OfSide(signature_b.status(), "b");
  absl::StatusOr<checker::Comparison> comparison = checker::CompareSignatures(*signature_a, *signature_b);
  if (explain && comparison->verdict != checker::Verdict::kEquivalent)
    comparison = checker::Explain(*a->text, a->launch, *b->text, b->launch, options);
  if (!comparison.ok()) return comparison.status();
  Response response;
  FillComparison(*comparison, response.mutable_comparison());
  return response.SerializeAsString();
}

Bytes CompareKernels(std::string_view bytes) {
  return Pair<v1::CompareKernelsRequest, v1::CompareKernelsResponse>(bytes, /*explain=*/false);
}

Bytes ExplainDifference(std::string_view bytes) {
  return Pair<v1::ExplainDifferenceRequest, v1::ExplainDifferenceResponse>(bytes, /*explain=*/true);
}

Bytes DescribeKernel(std::string_view bytes) {
  const auto request = Parse<v1::RegisterKernelRequest>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<checker::TextInfo> info = checker::DescribeText(request->text());
  if (!info.ok()) return info.status();
  v1::Kernel kernel;
  kernel.set_name("kernels/" + Sha256Hex(request->text()));
  kernel.set_size_bytes(request->text().size());
  proto::TextInfoToProto(*info, &kernel);
  return kernel.SerializeAsString();
}

Bytes DrawComparison(std::string_view bytes) {
  const auto message = Parse<v1::ExplainDifferenceResponse>(bytes);
  if (!message.ok()) return message.status();
  const checker::Comparison comparison = proto::ComparisonFromProto(message->comparison());
  const render::Report report{comparison, {"a", {}}, {"b", {}}, comparison.reason, ""};
  return render::SvgReport(report);
}

// The reason and metadata that the service gives for the same error.
void FillErrorInfo(const absl::Status& status, google::rpc::ErrorInfo* info) {
  info->set_domain("samebits");
  isa::ptx::ParseError error;
  if (isa::ptx::GetParseError(status, &error)) {
    info->set_reason(error.is_amdgcn ? "AMDGCN_SYNTAX" : "PTX_SYNTAX");
    (*info->mutable_metadata())["line"] = absl::StrCat(error.line);
    (*info->mutable_metadata())["column"] = absl::StrCat(error.column);
    proto::SetText(error.fragment, &(*info->mutable_metadata())["fragment"]);
  } else if (absl::IsInvalidArgument(status)) {
    info->set_reason("INVALID_LAUNCH");
  } else if (absl::IsResourceExhausted(status)) {
    info->set_reason("LIMIT_EXCEEDED");
  } else if (absl::IsInternal(status)) {
    info->set_reason("INTERNAL");
  }
}

std::string Serialized(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  FillErrorInfo(status, &info);
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));
  proto::SetText(std::string_view(status.message().data(), status.message().size()), out.mutable_message());
  out.add_details()->PackFrom(info);
  return out.SerializeAsString();
}

Bytes Dispatch(std::string_view method, std::string_view request) {
  static const auto* const kMethods = new std::map<std::string_view, Bytes (*)(std::string_view)>{
      {"ComputeKernelSignature", &ComputeKernelSignature}, {"CompareKernels", &CompareKernels},
      {"ExplainDifference", &ExplainDifference},           {"DescribeKernel", &DescribeKernel},
      {"DrawComparison", &DrawComparison},                 {"DescribeArchProfile", &DescribeArchProfile},
      {"DescribeGemm", &DescribeGemm},                     {"EmulateGemm", &EmulateGemm},
      {"ReportBatchInvariance", &ReportBatchInvariance}};
  const auto at = kMethods->find(method);
  if (at == kMethods->end())
    return absl::UnimplementedError(absl::StrCat("no method ", absl::string_view(method.data(), method.size())));
  return at->second(request);
}

}  // namespace
}  // namespace samebits

extern "C" {

__attribute__((visibility("default"))) int samebits_abi_version(void) { return SAMEBITS_ABI_VERSION; }

__attribute__((visibility("default"))) int samebits_signature_version(void) { return samebits::checker::SignatureVersion(); }

__attribute__((visibility("default"))) int samebits_call(const char* method, const void* request, size_t request_size,
                                                          void** answer, size_t* answer_size) {
  const auto bytes = samebits::Dispatch(method, {static_cast<const char*>(request), request_size});
  const std::string out = bytes.ok() ? *bytes : samebits::Serialized(bytes.status());
  *answer = std::malloc(out.size() + 1);
  *answer_size = *answer == nullptr ? 0 : out.size();
  if (*answer != nullptr) std::memcpy(*answer, out.data(), out.size());
  return static_cast<int>(bytes.status().code());
}

__attribute__((visibility("default"))) void samebits_free(void* answer) { std::free(answer); }
}
