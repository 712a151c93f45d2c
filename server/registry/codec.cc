#include "server/registry/codec.h"

#include "proto/convert/convert.h"

namespace samebits::server {

std::string EncodeTextInfo(const checker::TextInfo& info) {
  v1::Kernel kernel;
  proto::TextInfoToProto(info, &kernel);
  return kernel.SerializeAsString();
}

std::string EncodeSignature(const checker::Signature& signature) {
  v1::KernelSignature message;
  proto::SignatureToProto(signature, /*version=*/0, /*cached=*/false, &message);
  return message.SerializeAsString();
}

absl::StatusOr<checker::TextInfo> DecodeTextInfo(const std::string& bytes) {
  v1::Kernel kernel;
  if (!kernel.ParseFromString(bytes)) return absl::DataLossError("a stored description is damaged");
  return proto::TextInfoFromProto(kernel);
}

absl::StatusOr<checker::Signature> DecodeSignature(const std::string& bytes) {
  v1::KernelSignature message;
  if (!message.ParseFromString(bytes) || message.status() == v1::KernelSignature::STATUS_UNSPECIFIED)
    return absl::DataLossError("a stored signature is damaged");
  return proto::SignatureFromProto(message);
}

}  // namespace samebits::server
