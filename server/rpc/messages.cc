#include "server/rpc/messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/convert/convert.h"
#include "server/registry/digest.h"
#include "server/rpc/status.h"

namespace samebits::server {
namespace {

std::string Path(std::string_view field, std::string_view name) {
  return absl::StrCat(absl::string_view(field.data(), field.size()), ".", absl::string_view(name.data(), name.size()));
}

std::vector<uint8_t> FloatWidths(const v1::ArgumentList& args) {
  std::vector<uint8_t> widths;
  for (int i = 0; i < args.arguments_size(); ++i) {
    const int width = proto::FloatWidth(args.arguments(i));
    if (width == 0) continue;
    widths.resize(args.arguments_size());
    widths[i] = static_cast<uint8_t>(width);
  }
  return widths;
}

void SetIds(const std::vector<std::string>& ids, google::protobuf::RepeatedPtrField<std::string>* out) {
  out->Reserve(static_cast<int>(ids.size()));
  for (const std::string& id : ids) *out->Add() = id;
}

}  // namespace

absl::StatusOr<KernelLaunch> FromMessage(const v1::KernelLaunch& message, std::string_view field) {
  KernelLaunch out;
  switch (message.source_case()) {
    case v1::KernelLaunch::kKernel:
      out.has_name = true;
      out.name = message.kernel();
      break;
    case v1::KernelLaunch::kText:
      out.text = message.text();
      break;
    case v1::KernelLaunch::SOURCE_NOT_SET:
      return InvalidField(Path(field, "kernel"), "set either kernel or text");
  }
  if (!message.has_launch()) return InvalidField(Path(field, "launch"), "is required");
  absl::StatusOr<checker::Launch> launch = proto::LaunchFromProto(message.launch());
  if (!launch.ok())
    return InvalidField(Path(field, "launch"), {launch.status().message().data(), launch.status().message().size()});
  out.launch = *std::move(launch);
  out.float_widths = FloatWidths(message.launch().args());
  return out;
}

CheckOptions FromMessage(const v1::CheckOptions& message) {
  return {message.ignore_signed_zero(), message.strict_contraction()};
}

void ToMessage(const Kernel& kernel, v1::Kernel* out) {
  out->set_name(KernelName(kernel.record.digest));
  const int64_t micros = absl::ToUnixMicros(kernel.record.create_time);
  out->mutable_create_time()->set_seconds(micros / 1'000'000);
  out->mutable_create_time()->set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
  out->set_size_bytes(kernel.record.size_bytes);
  proto::TextInfoToProto(kernel.info, out);
  out->set_text(kernel.text);
}

void ToMessage(const KernelList& list, v1::ListKernelsResponse* out) {
  for (const Kernel& kernel : list.kernels) ToMessage(kernel, out->add_kernels());
  out->set_next_page_token(list.next_page_token);
}

void ToMessage(const SignatureAnswer& answer, int version, v1::KernelSignature* out) {
  proto::SignatureToProto(*answer.signature, version, answer.cached, out);
}

void ToMessage(const ComparisonAnswer& answer, int version, v1::Comparison* out) {
  proto::VerdictToProto(answer.comparison, out);
  ToMessage(answer.a, version, out->mutable_a());
  ToMessage(answer.b, version, out->mutable_b());
}

void ToMessage(const PartitionItemAnswer& answer, int version, const std::string& request_id,
               v1::PartitionItemResult* out) {
  out->set_id(answer.id);
  out->set_class_index(answer.class_index);
  if (answer.answer.ok()) {
    ToMessage(*answer.answer, version, out->mutable_signature());
  } else {
    *out->mutable_error() = ToRpcStatus(answer.answer.status(), request_id);
  }
}

void ToMessage(const PartitionAnswer& answer, v1::Partition* out) {
  for (size_t i = 0; i < answer.classes.size(); ++i) {
    v1::EquivalenceClass* to = out->add_classes();
    to->set_index(static_cast<int32_t>(i));
    to->set_digest(answer.classes[i].digest);
    SetIds(answer.classes[i].ids, to->mutable_ids());
  }
  SetIds(answer.nondeterministic, out->mutable_nondeterministic_ids());
  SetIds(answer.unknown, out->mutable_unknown_ids());
  SetIds(answer.errors, out->mutable_error_ids());
  for (const PartitionAnswer::Verdict& verdict : answer.reference_verdicts) {
    v1::ReferenceVerdict* to = out->add_reference_verdicts();
    to->set_id(verdict.id);
    to->set_verdict(proto::VerdictToProto(verdict.verdict));
    proto::SetText(verdict.reason, to->mutable_reason());
  }
}

}  // namespace samebits::server
