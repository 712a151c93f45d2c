#ifndef SAMEBITS_SERVER_REGISTRY_CHECKER_BACKEND_H_
#define SAMEBITS_SERVER_REGISTRY_CHECKER_BACKEND_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"

namespace samebits::server {

// What the registry needs of a checker; contracts as in core/checker/checker.h. Thread-safe. Errors carry an
// ErrorDetail (errors.h).
class CheckerBackend {
 public:
  virtual ~CheckerBackend() = default;
  virtual int SignatureVersion() const = 0;
  virtual absl::StatusOr<checker::TextInfo> DescribeText(std::string_view text,
                                                         const checker::Limits& limits) const = 0;
  virtual absl::StatusOr<checker::Signature> ComputeSignature(std::string_view text, const checker::Launch& launch,
                                                              const checker::Options& options) const = 0;
  virtual checker::Comparison CompareSignatures(const checker::Signature& a, const checker::Signature& b) const = 0;
  virtual absl::StatusOr<checker::Comparison> Explain(std::string_view text_a, const checker::Launch& a,
                                                      std::string_view text_b, const checker::Launch& b,
                                                      const checker::Options& options) const = 0;
};

// The static checker of core/checker.
std::shared_ptr<CheckerBackend> StaticChecker();

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_CHECKER_BACKEND_H_
