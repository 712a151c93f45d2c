#include "server/registry/explain_call.h"

#include <utility>

#include "absl/time/clock.h"
#include "server/registry/compare_call.h"

namespace samebits::server {

absl::StatusOr<std::shared_ptr<const std::string>> ExplainCall::Text(int side) const {
  const Side& s = sides_[side];
  std::shared_ptr<const std::string> text = s.text;
  if (s.subject.registered) {
    absl::StatusOr<std::string> loaded = signatures_.LoadText(s.subject.key.kernel);
    if (!loaded.ok()) return WithMetadata(loaded.status(), "side", SideName(side));
    text = std::make_shared<const std::string>(*std::move(loaded));
  }
  if (absl::Status status = signatures_.CheckFloatWidths(*text, s.launch, s.float_widths); !status.ok())
    return WithMetadata(status, "side", SideName(side));
  return text;
}

absl::StatusOr<ComparisonAnswer> ExplainCall::Explain() {
  const auto a = Text(0), b = Text(1);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  checker::Options options;
  options.limits = limits_;
  options.ignore_signed_zero = sides_[0].subject.options.ignore_signed_zero;
  options.strict_contraction = sides_[0].subject.options.strict_contraction;
  options.cancelled = &cancelled_;
  const absl::Time start = absl::Now();
  auto comparison = checker_.Explain(**a, sides_[0].launch, **b, sides_[1].launch, options);
  if (cancelled_) return Abandoned();
  if (!comparison.ok()) return comparison.status();
  const absl::Duration wall = absl::Now() - start;
  metrics_.ObserveStage(Metrics::Stage::kExplain, wall);
  metrics_.CountVerdict(checker::VerdictName(comparison->verdict));
  signatures_.Add(sides_[0].subject, comparison->a, wall);
  signatures_.Add(sides_[1].subject, comparison->b, wall);
  ComparisonAnswer answer{*std::move(comparison), {}, {}};
  answer.a.signature = std::make_shared<const checker::Signature>(answer.comparison.a);
  answer.b.signature = std::make_shared<const checker::Signature>(answer.comparison.b);
  return answer;
}

void ExplainCall::Run() {
  if (!cancelled_) done_.Deliver(Explain());
}

}  // namespace samebits::server
