#ifndef SAMEBITS_PROTO_CONVERT_NUMERICS_NUMERICS_H_
#define SAMEBITS_PROTO_CONVERT_NUMERICS_NUMERICS_H_

// Between the API's numerics messages and core/heal/jobs. Pure; thread-safe.

#include "absl/status/statusor.h"
#include "core/heal/jobs/result.h"
#include "core/heal/jobs/spec.h"
#include "samebits/v1/numerics.pb.h"

namespace samebits::proto {

// The part that every job has; null where the request holds no job.
const v1::NumericsRun* RunOf(const v1::NumericsRequest& request);
v1::NumericsRun* MutableRunOf(v1::NumericsRequest* request);

// "EvaluateReproducibility", ...: the method that takes such a request; "" where it holds no job.
const char* MethodOf(const v1::NumericsRequest& request);

// What needs no model: a job is there, configurations parse, numbers of prompts and tokens are within bounds.
// INVALID_ARGUMENT "FIELD: ..." with the field's name in the request.
absl::Status CheckRequest(const v1::NumericsRequest& request);

// The job for a model of this shape, fields that are not set at their defaults, validated. INVALID_ARGUMENT with the
// field, and for an instruction mix, which asks no model; RESOURCE_EXHAUSTED where the job has too many units.
absl::StatusOr<heal::JobSpec> SpecFromProto(const v1::NumericsRequest& request, const heal::ModelShape& shape);

// Fills `out->result`.
void ResultToProto(const heal::JobResult& result, v1::NumericsResult* out);

// INVALID_ARGUMENT where there is no result, or an enum or name is unknown.
absl::StatusOr<heal::JobResult> ResultFromProto(const v1::NumericsResult& result);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_NUMERICS_NUMERICS_H_
