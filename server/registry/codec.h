#ifndef SAMEBITS_SERVER_REGISTRY_CODEC_H_
#define SAMEBITS_SERVER_REGISTRY_CODEC_H_

// The bytes that stores keep without looking into them: serialised messages of samebits.v1.

#include <string>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"

namespace samebits::server {

std::string EncodeTextInfo(const checker::TextInfo& info);
std::string EncodeSignature(const checker::Signature& signature);
// DATA_LOSS for bytes that Encode did not make.
absl::StatusOr<checker::TextInfo> DecodeTextInfo(const std::string& bytes);
absl::StatusOr<checker::Signature> DecodeSignature(const std::string& bytes);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_CODEC_H_
