#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "proto/convert/convert.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"

namespace samebits::proto {
namespace {

using heal::OperatorFamily;
using heal::QkvTensor;
using v1::NumericsResult;

constexpr OperatorFamily kFamilies[] = {OperatorFamily::kRmsNorm, OperatorFamily::kRope, OperatorFamily::kGemm,
                                        OperatorFamily::kSwiGlu, OperatorFamily::kAttention};
constexpr QkvTensor kTensors[] = {QkvTensor::kQuery, QkvTensor::kKey, QkvTensor::kValue};

template <typename Enum, size_t n>
std::optional<Enum> Named(const Enum (&all)[n], const std::string& name) {
  const auto at = std::find_if(all, all + n, [&](Enum e) { return name == NameOf(e); });
  return at == all + n ? std::nullopt : std::optional<Enum>(*at);
}

// A struct and its message have fields of the same names. Each pair is listed once, as scalars and texts (S), lists of
// scalars (R), messages (M) and lists of messages (L), with what differs beside it; both directions come from the list.
#define SAMEBITS_TO_S(f) m->set_##f(s.f);
#define SAMEBITS_TO_R(f) m->mutable_##f()->Add(s.f.begin(), s.f.end());
#define SAMEBITS_TO_M(f) To(s.f, m->mutable_##f());
#define SAMEBITS_TO_L(f) \
  for (const auto& x : s.f) To(x, m->add_##f());
#define SAMEBITS_FROM_S(f) s.f = m.f();
#define SAMEBITS_FROM_R(f) s.f.assign(m.f().begin(), m.f().end());
#define SAMEBITS_FROM_M(f) s.f = From(m.f());
#define SAMEBITS_FROM_L(f) \
  for (const auto& x : m.f()) s.f.push_back(From(x));
#define SAMEBITS_CONVERT(Struct, Message, FIELDS, TO, FROM)                                 \
  [[maybe_unused]] void To(const heal::Struct& s, v1::Message* m) {                         \
    FIELDS(SAMEBITS_TO_S, SAMEBITS_TO_R, SAMEBITS_TO_M, SAMEBITS_TO_L) TO                   \
  }                                                                                         \
  [[maybe_unused]] heal::Struct From(const v1::Message& m) {                                \
    heal::Struct s;                                                                         \
    FIELDS(SAMEBITS_FROM_S, SAMEBITS_FROM_R, SAMEBITS_FROM_M, SAMEBITS_FROM_L) FROM return s; \
  }

#define SAMEBITS_FIELDS(S, R, M, L) S(mean) S(sem) S(count)
SAMEBITS_CONVERT(MeanSem, MeanSem, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) \
  S(count) S(low) S(first) S(median) S(third) S(high) S(least) S(most) S(mean) R(outliers)
SAMEBITS_CONVERT(BoxPlot, BoxPlot, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L)                                                                     \
  S(configuration) S(prompts) S(generated_tokens) S(cut_off) S(parsed) S(expected) S(correct) S(median_length) \
  S(answers_known) S(answers) R(lengths)
SAMEBITS_CONVERT(AnchorOutcome, AnchorOutcome, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) \
  M(mse) R(prompt_mse) S(prompts) S(flips) S(diverged) S(correct) S(answers) R(first_divergence) S(failure)
SAMEBITS_CONVERT(ScheduleOutcome, EvaluateReproducibilityResponse::Schedule, SAMEBITS_FIELDS,
                 m->set_schedule(static_cast<v1::NumericsSchedule>(v1::FIXED + static_cast<int>(s.schedule)));
                 , s.schedule = static_cast<heal::Schedule>(m.schedule() - v1::FIXED);)
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) S(configuration) M(mse) M(flip_rate) M(divergence_rate) L(schedules)
SAMEBITS_CONVERT(ConfigurationOutcome, EvaluateReproducibilityResponse::Configuration, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(anchor) L(configurations)
SAMEBITS_CONVERT(EvaluateResult, EvaluateReproducibilityResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L)                                                                          \
  S(e_in) S(e_post) S(e_next) S(e_k) S(e_pk) S(j_a) S(j_m) S(lambda_k) S(lambda_in) S(lambda_pk) S(lambda_m) \
  S(beta_k) S(beta_a) S(beta_m) S(share_a) S(share_k) S(share_m) S(attention) S(kv) S(mlp) S(settled)
SAMEBITS_CONVERT(LayerAttribution, AttributeErrorsResponse::Layer, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) \
  S(configuration) L(layers) S(attention) S(kv) S(mlp) S(remainder) S(rows) S(fitted_rows)
SAMEBITS_CONVERT(Attribution, AttributeErrorsResponse::Attribution, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(anchor) L(configurations)
SAMEBITS_CONVERT(AttributeResult, AttributeErrorsResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) S(total) S(truncation) S(discrepancy) S(ratio) S(values)
SAMEBITS_CONVERT(OperatorOutcome, DecomposeErrorsResponse::Operator, SAMEBITS_FIELDS,
                 m->set_family(NameOf(s.instance.family));
                 m->set_layer(s.instance.layer); m->set_reads(static_cast<int>(s.instance.reads));
                 , s.instance.family = Named(kFamilies, m.family()).value_or(OperatorFamily::kGemm);
                 s.instance.layer = m.layer(); s.instance.reads = static_cast<heal::TapPoint>(m.reads());)
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(ratio) S(undefined)
SAMEBITS_CONVERT(FamilyOutcome, DecomposeErrorsResponse::Family, SAMEBITS_FIELDS, m->set_family(NameOf(s.family));
                 , s.family = Named(kFamilies, m.family()).value_or(OperatorFamily::kGemm);)
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(anchor) S(configuration) L(operators) L(families)
SAMEBITS_CONVERT(DecomposeResult, DecomposeErrorsResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) S(configuration) S(bits) M(mse) M(flip_rate)
SAMEBITS_CONVERT(SweepPoint, SweepSignificandResponse::Point, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(anchor) L(points) S(tolerated_rate) S(threshold_mse)
SAMEBITS_CONVERT(SweepResult, SweepSignificandResponse, SAMEBITS_FIELDS,
                 if (s.threshold_bits) m->set_threshold_bits(*s.threshold_bits);
                 , if (m.has_threshold_bits()) s.threshold_bits = m.threshold_bits();)
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L)                                                                  \
  S(configuration) S(per_head) S(layer) S(tensors) S(zeros) M(ratio) S(ratio_median) S(ratio_most) S(halved) \
  S(predicted_int16) S(predicted_f16) S(measured_int16) S(measured_f16) R(histogram)
SAMEBITS_CONVERT(QkvDistribution, MeasureQkvResponse::Distribution, SAMEBITS_FIELDS, m->set_tensor(NameOf(s.tensor));
                 , s.tensor = Named(kTensors, m.tensor()).value_or(QkvTensor::kQuery);)
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) M(anchor) L(distributions)
SAMEBITS_CONVERT(QkvResult, MeasureQkvResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) S(prefix) S(skipped) S(configuration) S(median_mse) S(ratio) S(within)
SAMEBITS_CONVERT(PolicyPoint, ChooseSkipPolicyResponse::Point, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L)                                                                  \
  M(anchor) S(variant) S(budget) S(unskipped_mse) R(contribution_order) R(contribution) L(points) S(skipped) \
  S(prefix) S(configuration)
SAMEBITS_CONVERT(PolicyResult, ChooseSkipPolicyResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L)                                                                       \
  S(configuration) S(batch) S(context) S(missing) M(milliseconds) M(overhead) S(kv_bytes) S(weight_bytes) \
  S(memory_bytes) S(floor_milliseconds)
SAMEBITS_CONVERT(ServeCostRow, MeasureServingCostResponse::Row, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

#define SAMEBITS_FIELDS(S, R, M, L) S(baseline) M(copy_bandwidth) L(rows)
SAMEBITS_CONVERT(ServeCostResult, MeasureServingCostResponse, SAMEBITS_FIELDS, , )
#undef SAMEBITS_FIELDS

void Put(const heal::EvaluateResult& r, NumericsResult* out) { To(r, out->mutable_evaluate()); }
void Put(const heal::AttributeResult& r, NumericsResult* out) { To(r, out->mutable_attribute()); }
void Put(const heal::DecomposeResult& r, NumericsResult* out) { To(r, out->mutable_decompose()); }
void Put(const heal::SweepResult& r, NumericsResult* out) { To(r, out->mutable_sweep()); }
void Put(const heal::QkvResult& r, NumericsResult* out) { To(r, out->mutable_qkv()); }
void Put(const heal::PolicyResult& r, NumericsResult* out) { To(r, out->mutable_policy()); }
void Put(const heal::ServeCostResult& r, NumericsResult* out) { To(r, out->mutable_serve_cost()); }
void Put(const heal::MixReport& r, NumericsResult* out) { ToMessage(r, out->mutable_instruction_mix()); }

bool NamesAreKnown(const NumericsResult& result) {
  for (const auto& c : result.evaluate().configurations())
    for (const auto& s : c.schedules())
      if (s.schedule() < v1::FIXED || s.schedule() > v1::REVERSED) return false;
  for (const auto& o : result.decompose().operators())
    if (!Named(kFamilies, o.family()) || o.reads() < 0 || o.reads() > static_cast<int>(heal::TapPoint::kOutput)) return false;
  for (const auto& f : result.decompose().families())
    if (!Named(kFamilies, f.family())) return false;
  for (const auto& d : result.qkv().distributions())
    if (!Named(kTensors, d.tensor())) return false;
  return true;
}

}  // namespace

void ResultToProto(const heal::JobResult& result, NumericsResult* out) {
  std::visit([&](const auto& r) { Put(r, out); }, result);
}

absl::StatusOr<heal::JobResult> ResultFromProto(const NumericsResult& result) {
  if (!NamesAreKnown(result)) return absl::InvalidArgumentError("the result has names that this program does not know");
  switch (result.result_case()) {
    case NumericsResult::kEvaluate:
      return heal::JobResult(From(result.evaluate()));
    case NumericsResult::kAttribute:
      return heal::JobResult(From(result.attribute()));
    case NumericsResult::kDecompose:
      return heal::JobResult(From(result.decompose()));
    case NumericsResult::kSweep:
      return heal::JobResult(From(result.sweep()));
    case NumericsResult::kQkv:
      return heal::JobResult(From(result.qkv()));
    case NumericsResult::kPolicy:
      return heal::JobResult(From(result.policy()));
    case NumericsResult::kServeCost:
      return heal::JobResult(From(result.serve_cost()));
    case NumericsResult::kInstructionMix: {
      absl::StatusOr<heal::MixReport> report = FromMessage(result.instruction_mix());
      if (!report.ok()) return report.status();
      return heal::JobResult(*std::move(report));
    }
    case NumericsResult::RESULT_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("there is no result");
}

}  // namespace samebits::proto
