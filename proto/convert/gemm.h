#ifndef SAMEBITS_PROTO_CONVERT_GEMM_H_
#define SAMEBITS_PROTO_CONVERT_GEMM_H_

// Between the API's GEMM descriptors and core/gemm's, both ways. Pure; thread-safe.

#include "absl/status/statusor.h"
#include "core/gemm/gemm_desc.h"
#include "samebits/v1/gemm.pb.h"

namespace samebits::proto {

void GemmDescToProto(const gemm::GemmDesc& desc, v1::GemmDesc* out);

// INVALID_ARGUMENT that names the field where an enum is unspecified or unknown, or the record is not valid.
absl::StatusOr<gemm::GemmDesc> GemmDescFromProto(const v1::GemmDesc& desc);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_GEMM_H_
