#ifndef SAMEBITS_CLIENT_NATIVE_GEMM_METHODS_H_
#define SAMEBITS_CLIENT_NATIVE_GEMM_METHODS_H_

// Methods of the library about matrix products, from serialized requests to serialized answers; samebits.h says which. A
// request's `name` holds a profile's text, since nothing is stored here; the last profile that was read is kept. Thread-safe.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace samebits {

absl::StatusOr<std::string> DescribeArchProfile(std::string_view request);
absl::StatusOr<std::string> DescribeGemm(std::string_view request);
absl::StatusOr<std::string> EmulateGemm(std::string_view request);
absl::StatusOr<std::string> ReportBatchInvariance(std::string_view request);

}  // namespace samebits

#endif  // SAMEBITS_CLIENT_NATIVE_GEMM_METHODS_H_
