#include "server/rpc/status.h"

#include <string>

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "samebits/v1/errors.pb.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), status.error_code());
  EXPECT_EQ(details.message(), status.error_message());
  google::rpc::ErrorInfo info;
  EXPECT_EQ(details.details_size(), 1);
  EXPECT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  return info;
}

TEST(StatusTest, CarriesReasonAndMetadata) {
  const grpc::Status status = ToGrpcStatus(LimitExceeded("max_text_bytes", 10, 11), "id-1");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const google::rpc::ErrorInfo info = InfoOf(status);
  EXPECT_EQ(info.reason(), "LIMIT_EXCEEDED");
  EXPECT_EQ(info.domain(), "samebits");
  EXPECT_EQ(info.metadata().at("limit"), "max_text_bytes");
  EXPECT_EQ(info.metadata().at("request_id"), "id-1");
}

TEST(StatusTest, AnErrorWithoutDetailIsInternal) {
  EXPECT_EQ(InfoOf(ToGrpcStatus(absl::InternalError("x"), "id")).reason(), "INTERNAL");
}

TEST(StatusTest, EveryReasonIsPartOfTheApi) {
  for (const absl::Status& status :
       {InvalidField("f", "p"), KernelNotFound("n"), LimitExceeded("l", 1, 2), QueueFull("l", 1), ShuttingDown(),
        Abandoned(), FromStore(absl::DataLossError("x"), "n")}) {
    v1::ErrorReason reason;
    EXPECT_TRUE(v1::ErrorReason_Parse(InfoOf(ToGrpcStatus(status, "id")).reason(), &reason)) << status;
  }
}

TEST(StatusTest, CleansFragmentsOfAnyBytes) {
  const absl::Status status =
      WithDetail(absl::InvalidArgumentError("bad '\xff'"), "PTX_SYNTAX", {{"fragment", "\xfe"}});
  const grpc::Status out = ToGrpcStatus(status, "id");
  EXPECT_EQ(out.error_message(), "bad '\xef\xbf\xbd'");
  EXPECT_EQ(InfoOf(out).metadata().at("fragment"), "\xef\xbf\xbd");
}

TEST(StatusTest, OkIsOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), "id").ok()); }

}  // namespace
}  // namespace samebits::server
