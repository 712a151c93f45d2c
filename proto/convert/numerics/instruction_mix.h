#ifndef SAMEBITS_PROTO_CONVERT_NUMERICS_INSTRUCTION_MIX_H_
#define SAMEBITS_PROTO_CONVERT_NUMERICS_INSTRUCTION_MIX_H_

// Between the API's messages of instruction mixes and core/heal/instruction_mix. Pure; thread-safe.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "core/heal/model/model_shape.h"
#include "samebits/v1/numerics.pb.h"

namespace samebits::proto {

inline constexpr int kMostCodeFiles = 1024;
inline constexpr size_t kMostCodeBytes = 32 << 20;  // of all files together

// All that can be said without a tool. INVALID_ARGUMENT "FIELD: ...".
absl::Status CheckInstructionMix(const v1::MeasureInstructionMixRequest& request);

// What a request for our own engine asks for, defaults in place. The shape: errors as CheckInstructionMix.
std::vector<std::string> EngineConfigurationsOf(const v1::MeasureInstructionMixRequest& request);
std::string EngineTargetOf(const v1::MeasureInstructionMixRequest& request);
absl::StatusOr<heal::ModelShape> EngineShapeOf(const v1::MeasureInstructionMixRequest& request);

// What a worker must have for a request: "text" (nothing), "cubin", "fatbin" (which includes cubins), "amdgcn",
// "cubin+amdgcn", "fatbin+amdgcn" or "engine". A worker that has the given ones of "text", "cubin", "fatbin", "amdgcn" and
// "engine" meets these.
std::string InstructionSourceOf(const v1::MeasureInstructionMixRequest& request);
std::vector<std::string> InstructionSourcesMet(const std::vector<std::string>& has);

void ToMessage(const heal::KernelMix& kernel, v1::KernelInstructions* out);
void ToMessage(const heal::MixReport& report, v1::MeasureInstructionMixResponse* out);
// Sums are those of the opcodes. INVALID_ARGUMENT for a class that is not known and for counts below zero.
absl::StatusOr<heal::KernelMix> FromMessage(const v1::KernelInstructions& message);
absl::StatusOr<heal::MixReport> FromMessage(const v1::MeasureInstructionMixResponse& message);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_NUMERICS_INSTRUCTION_MIX_H_
