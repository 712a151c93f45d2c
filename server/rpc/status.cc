#include "server/rpc/status.h"

#include <utility>

#include "google/rpc/error_details.pb.h"
#include "proto/convert/convert.h"
#include "samebits/v1/errors.pb.h"
#include "server/registry/errors.h"

namespace samebits::server {

google::rpc::Status ToRpcStatus(const absl::Status& status, const std::string& request_id) {
  google::rpc::Status out;
  if (status.ok()) return out;
  out.set_code(static_cast<int>(status.code()));
  proto::SetText({status.message().data(), status.message().size()}, out.mutable_message());
  const ErrorDetail detail = GetErrorDetail(status).value_or(ErrorDetail{v1::ErrorReason_Name(v1::INTERNAL), {}});
  google::rpc::ErrorInfo info;
  info.set_reason(detail.reason);
  info.set_domain("samebits");
  for (const auto& [key, value] : detail.metadata) proto::SetText(value, &(*info.mutable_metadata())[key]);
  (*info.mutable_metadata())["request_id"] = request_id;
  out.add_details()->PackFrom(info);
  return out;
}

grpc::Status ToGrpcStatus(const absl::Status& status, const std::string& request_id) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status, request_id);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), details.message(), details.SerializeAsString());
}

}  // namespace samebits::server
