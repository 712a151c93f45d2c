#ifndef SAMEBITS_PROTO_CONVERT_GEMM_H_
#define SAMEBITS_PROTO_CONVERT_GEMM_H_

// Between the API's GEMM descriptors and shapes and core/gemm's, both ways. Pure; thread-safe.

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"
#include "core/gemm/gemm_desc.h"
#include "samebits/v1/gemm.pb.h"

namespace samebits::proto {

void GemmDescToProto(const gemm::GemmDesc& desc, v1::GemmDesc* out);

// INVALID_ARGUMENT that names the field where an enum is unspecified or unknown, or the record is not valid.
absl::StatusOr<gemm::GemmDesc> GemmDescFromProto(const v1::GemmDesc& desc);

void GemmShapeToProto(const gemm::GemmProblem& problem, v1::GemmShape* out);

// INVALID_ARGUMENT that says what is wrong: types, layout, or sides that are not positive; k above kMaxK.
absl::StatusOr<gemm::GemmProblem> GemmShapeFromProto(const v1::GemmShape& shape);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_GEMM_H_
