#include "client/cpp/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "client/cpp/client.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "samebits/v1/errors.pb.h"

namespace samebits::client {
namespace {

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

}  // namespace

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status out(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return out;
  for (const google::protobuf::Any& detail : details.details()) {
    if (detail.Is<google::rpc::ErrorInfo>()) out.SetPayload(kErrorInfoUrl, absl::Cord(detail.value()));
  }
  return out;
}

std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kErrorInfoUrl);
  google::rpc::ErrorInfo message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  ErrorInfo info{message.reason(), message.domain(), {}};
  info.metadata.insert(message.metadata().begin(), message.metadata().end());
  return info;
}

bool IsRetryable(const absl::Status& status) {
  if (absl::IsUnavailable(status)) return true;
  if (!absl::IsResourceExhausted(status)) return false;
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() && info->reason == v1::ErrorReason_Name(v1::QUEUE_FULL);
}

}  // namespace samebits::client
