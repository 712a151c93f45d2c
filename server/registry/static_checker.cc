#include "absl/strings/str_cat.h"
#include "core/checker/memo.h"
#include "core/isa/ptx/parser.h"
#include "server/registry/checker_backend.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

// Adds what programs read to an error of the checker.
absl::Status Detail(const absl::Status& status) {
  isa::ptx::ParseError error;
  if (isa::ptx::GetParseError(status, &error)) {
    return WithDetail(status, error.is_amdgcn ? "AMDGCN_SYNTAX" : "PTX_SYNTAX", {{"line", absl::StrCat(error.line)},
                                             {"column", absl::StrCat(error.column)},
                                             {"fragment", error.fragment}});
  }
  if (absl::IsInvalidArgument(status)) return WithDetail(status, "INVALID_LAUNCH", {});
  if (absl::IsResourceExhausted(status)) return WithDetail(status, "LIMIT_EXCEEDED", {});
  return status;
}

class StaticCheckerBackend : public CheckerBackend {
 public:
  int SignatureVersion() const override { return checker::SignatureVersion(); }
  absl::StatusOr<checker::TextInfo> DescribeText(std::string_view text, const checker::Limits& limits) const override {
    return Detailed(checker::DescribeText(text, limits));
  }
  absl::StatusOr<checker::Signature> ComputeSignature(std::string_view text, const checker::Launch& launch,
                                                      const checker::Options& options) const override {
    return Detailed(checker::ComputeSignature(text, launch, options, &memo_));
  }
  checker::Comparison CompareSignatures(const checker::Signature& a, const checker::Signature& b) const override {
    return checker::CompareSignatures(a, b);
  }
  absl::StatusOr<checker::Comparison> Explain(std::string_view text_a, const checker::Launch& a,
                                              std::string_view text_b, const checker::Launch& b,
                                              const checker::Options& options) const override {
    return Detailed(checker::Explain(text_a, a, text_b, b, options));
  }

 private:
  template <typename T>
  static absl::StatusOr<T> Detailed(absl::StatusOr<T> result) {
    if (result.ok()) return result;
    return Detail(result.status());
  }

  mutable checker::SignatureMemo memo_;
};

}  // namespace

std::shared_ptr<CheckerBackend> StaticChecker() { return std::make_shared<StaticCheckerBackend>(); }

}  // namespace samebits::server
