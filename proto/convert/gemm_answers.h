#ifndef SAMEBITS_PROTO_CONVERT_GEMM_ANSWERS_H_
#define SAMEBITS_PROTO_CONVERT_GEMM_ANSWERS_H_

// What core/gemm answers about profiles and descriptors, as messages of samebits.v1.ArchProfileService. Pure; thread-safe.

#include <cstddef>

#include "absl/status/status.h"
#include "core/gemm/profile.h"
#include "core/gemm/profile_report.h"
#include "samebits/v1/arch_profile_service.pb.h"

namespace samebits::proto {

// Everything but name and time; `text_bytes` is the length of the profile's text.
void ArchProfileToProto(const gemm::ArchProfile& profile, size_t text_bytes, v1::ArchProfile* out);

// What the profile says of the shape. Errors as gemm::Describe's.
absl::Status DescribeGemm(const gemm::ArchProfile& profile, const gemm::GemmProblem& problem, v1::DescribeGemmResponse* out);

// INVALID_ARGUMENT where sides, descriptor or operands are wrong; else errors as gemm::Emulate's, as is `threads`.
absl::Status EmulateGemm(const v1::EmulateGemmRequest& request, int threads, v1::EmulateGemmResponse* out);

void InvarianceReportToProto(const gemm::InvarianceReport& report, v1::ReportBatchInvarianceResponse* out);

}  // namespace samebits::proto

#endif  // SAMEBITS_PROTO_CONVERT_GEMM_ANSWERS_H_
