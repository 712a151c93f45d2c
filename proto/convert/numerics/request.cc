#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/job.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"

namespace samebits::proto {
namespace {

using heal::JobSpec;
using v1::NumericsRequest;

template <typename Request, typename Use>
auto WithJob(Request& request, Use use) {
  switch (request.job_case()) {
    case NumericsRequest::kEvaluate:
      return use(request.evaluate());
    case NumericsRequest::kAttribute:
      return use(request.attribute());
    case NumericsRequest::kDecompose:
      return use(request.decompose());
    case NumericsRequest::kSweep:
      return use(request.sweep());
    case NumericsRequest::kQkv:
      return use(request.qkv());
    case NumericsRequest::kPolicy:
      return use(request.policy());
    case NumericsRequest::kServeCost:
      return use(request.serve_cost());
    case NumericsRequest::kInstructionMix:
      return use(request.instruction_mix());
    case NumericsRequest::JOB_NOT_SET:
      break;
  }
  return use(v1::MeasureServingCostRequest::default_instance());
}

absl::Status Wrong(const std::string& field, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", why));
}

absl::Status CheckConfiguration(const char* field, const std::string& text) {
  if (text.empty()) return absl::OkStatus();
  const auto parsed = heal::ParseConfiguration(text);
  return parsed.ok() ? absl::OkStatus() : Wrong(field, parsed.status().message());
}

template <typename List>
absl::Status CheckConfigurations(const char* field, const List& list) {
  if (list.size() > heal::kMostConfigurations)
    return Wrong(field, absl::StrCat("at most ", heal::kMostConfigurations, ", ", list.size(), " given"));
  for (const std::string& text : list) {
    if (text.empty()) return Wrong(field, "one is empty");
    if (absl::Status status = CheckConfiguration(field, text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckPrompts(const v1::NumericsRun& run, bool needed) {
  if (run.has_synthetic_prompts()) {
    const v1::SyntheticPrompts& prompts = run.synthetic_prompts();
    if (prompts.count() < 1 || prompts.count() > heal::kMostPrompts)
      return Wrong("run.synthetic_prompts.count", absl::StrCat("must be from 1 to ", heal::kMostPrompts));
    if (prompts.length() < 1 || prompts.length() > heal::kMostContext ||
        int64_t{prompts.count()} * prompts.length() > heal::kMostPromptTokens)
      return Wrong("run.synthetic_prompts.length", absl::StrCat("must be from 1 to ", heal::kMostContext, ", and at most ",
                                                                heal::kMostPromptTokens, " over all prompts"));
    return absl::OkStatus();
  }
  const auto& prompts = run.prompt_set().prompts();
  if (prompts.empty() && needed) return Wrong("run.prompt_set.prompts", "is required, or run.synthetic_prompts");
  if (prompts.size() > heal::kMostPrompts)
    return Wrong("run.prompt_set.prompts", absl::StrCat("at most ", heal::kMostPrompts, ", ", prompts.size(), " given"));
  int64_t tokens = 0;
  for (const v1::NumericsPrompt& prompt : prompts) {
    if (prompt.tokens().empty()) return Wrong("run.prompt_set.prompts.tokens", absl::StrCat("prompt '", prompt.id(), "' has none"));
    tokens += prompt.tokens_size();
    if (prompt.tokens_size() > heal::kMostContext || tokens > heal::kMostPromptTokens)
      return Wrong("run.prompt_set.prompts.tokens", absl::StrCat("at most ", heal::kMostContext, " of a prompt and ",
                                                                 heal::kMostPromptTokens, " over all"));
    const std::string& expected = prompt.expected();
    if (expected.size() > 1 || (expected.size() == 1 && (expected[0] < 'A' || expected[0] > 'D')))
      return Wrong("run.prompt_set.prompts.expected", absl::StrCat("must be A, B, C or D, or empty; prompt '", prompt.id(), "'"));
  }
  return absl::OkStatus();
}

absl::Status CheckSchedules(const v1::EvaluateReproducibilityRequest& request) {
  for (const int schedule : request.schedules())
    if (schedule < v1::FIXED || schedule > v1::REVERSED) return Wrong("schedules", "one is none of the known ones");
  return absl::OkStatus();
}

heal::PromptSet PromptsOf(const v1::NumericsRun& run, const heal::ModelShape& shape) {
  if (run.has_synthetic_prompts())
    return heal::MakeSyntheticPrompts(shape, run.synthetic_prompts().count(), run.synthetic_prompts().length(),
                                      run.synthetic_prompts().seed());
  const v1::NumericsPromptSet& from = run.prompt_set();
  heal::PromptSet set;
  set.name = from.name();
  for (const v1::NumericsPrompt& prompt : from.prompts())
    set.prompts.push_back({prompt.id(), prompt.domain(), prompt.use_case(),
                           {prompt.tokens().begin(), prompt.tokens().end()},
                           prompt.expected().empty() ? char{0} : prompt.expected()[0]});
  set.token_bytes.assign(from.token_bytes().begin(), from.token_bytes().end());
  set.stop_tokens.assign(from.stop_tokens().begin(), from.stop_tokens().end());
  return set;
}

// Fields that are set replace defaults.
template <typename T>
void Take(const T& from, T* to) {
  if (from != T()) *to = from;
}
template <typename List, typename T>
void TakeList(const List& from, std::vector<T>* to) {
  if (!from.empty()) to->assign(from.begin(), from.end());
}
void TakeTrajectory(const v1::NumericsTrajectory& from, heal::Trajectory* to) {
  Take(from.anchor(), &to->anchor);
  Take(from.max_new_tokens(), &to->max_new_tokens);
}

heal::EvaluateSpec ToSpec(const v1::EvaluateReproducibilityRequest& from) {
  heal::EvaluateSpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  TakeList(from.configurations(), &spec.configurations);
  if (!from.schedules().empty()) spec.schedules.clear();
  for (const int schedule : from.schedules()) spec.schedules.push_back(static_cast<heal::Schedule>(schedule - v1::FIXED));
  spec.measure_mse = !from.skip_mse();
  spec.measure_flips = !from.skip_flips();
  return spec;
}
heal::AttributeSpec ToSpec(const v1::AttributeErrorsRequest& from) {
  heal::AttributeSpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  TakeList(from.configurations(), &spec.configurations);
  Take(from.prompts(), &spec.prompts);
  Take(from.fitted_rows(), &spec.fitted_rows);
  return spec;
}
heal::DecomposeSpec ToSpec(const v1::DecomposeErrorsRequest& from) {
  heal::DecomposeSpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  Take(from.configuration(), &spec.configuration);
  Take(from.prompts(), &spec.prompts);
  return spec;
}
heal::SweepSpec ToSpec(const v1::SweepSignificandRequest& from) {
  heal::SweepSpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  Take(from.least_bits(), &spec.least_bits);
  Take(from.most_bits(), &spec.most_bits);
  TakeList(from.baselines(), &spec.baselines);
  if (from.has_tolerated_rate()) spec.tolerated_rate = from.tolerated_rate();
  return spec;
}
heal::QkvSpec ToSpec(const v1::MeasureQkvRequest& from) {
  heal::QkvSpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  TakeList(from.configurations(), &spec.configurations);
  Take(from.prompts(), &spec.prompts);
  return spec;
}
heal::PolicySpec ToSpec(const v1::ChooseSkipPolicyRequest& from) {
  heal::PolicySpec spec;
  TakeTrajectory(from.trajectory(), &spec.trajectory);
  Take(from.variant(), &spec.variant);
  Take(from.budget(), &spec.budget);
  Take(from.prompts(), &spec.prompts);
  Take(from.most_skipped(), &spec.most_skipped);
  return spec;
}
heal::ServeCostSpec ToSpec(const v1::MeasureServingCostRequest& from) {
  heal::ServeCostSpec spec;
  Take(from.baseline(), &spec.baseline);
  TakeList(from.configurations(), &spec.configurations);
  TakeList(from.batches(), &spec.batches);
  TakeList(from.contexts(), &spec.contexts);
  Take(from.rounds(), &spec.rounds);
  Take(from.warmup_steps(), &spec.warmup_steps);
  Take(from.steps(), &spec.steps);
  return spec;
}

// What the messages have of configurations, by the names of their fields.
absl::Status CheckAll(const v1::EvaluateReproducibilityRequest& r) {
  if (absl::Status status = CheckSchedules(r); !status.ok()) return status;
  return CheckConfigurations("configurations", r.configurations());
}
absl::Status CheckAll(const v1::AttributeErrorsRequest& r) { return CheckConfigurations("configurations", r.configurations()); }
absl::Status CheckAll(const v1::DecomposeErrorsRequest& r) { return CheckConfiguration("configuration", r.configuration()); }
absl::Status CheckAll(const v1::SweepSignificandRequest& r) { return CheckConfigurations("baselines", r.baselines()); }
absl::Status CheckAll(const v1::MeasureQkvRequest& r) { return CheckConfigurations("configurations", r.configurations()); }
absl::Status CheckAll(const v1::ChooseSkipPolicyRequest&) { return absl::OkStatus(); }
absl::Status CheckAll(const v1::MeasureServingCostRequest& r) {
  if (absl::Status status = CheckConfiguration("baseline", r.baseline()); !status.ok()) return status;
  return CheckConfigurations("configurations", r.configurations());
}
absl::Status CheckAll(const v1::MeasureInstructionMixRequest& r) { return CheckInstructionMix(r); }

}  // namespace

const v1::NumericsRun* RunOf(const NumericsRequest& request) {
  if (request.job_case() == NumericsRequest::JOB_NOT_SET) return nullptr;
  return WithJob(request, [](const auto& job) { return &job.run(); });
}

v1::NumericsRun* MutableRunOf(NumericsRequest* request) {
  switch (request->job_case()) {
    case NumericsRequest::kEvaluate:
      return request->mutable_evaluate()->mutable_run();
    case NumericsRequest::kAttribute:
      return request->mutable_attribute()->mutable_run();
    case NumericsRequest::kDecompose:
      return request->mutable_decompose()->mutable_run();
    case NumericsRequest::kSweep:
      return request->mutable_sweep()->mutable_run();
    case NumericsRequest::kQkv:
      return request->mutable_qkv()->mutable_run();
    case NumericsRequest::kPolicy:
      return request->mutable_policy()->mutable_run();
    case NumericsRequest::kServeCost:
      return request->mutable_serve_cost()->mutable_run();
    case NumericsRequest::kInstructionMix:
      return request->mutable_instruction_mix()->mutable_run();
    case NumericsRequest::JOB_NOT_SET:
      break;
  }
  return nullptr;
}

const char* MethodOf(const NumericsRequest& request) {
  switch (request.job_case()) {
    case NumericsRequest::kEvaluate:
      return "EvaluateReproducibility";
    case NumericsRequest::kAttribute:
      return "AttributeErrors";
    case NumericsRequest::kDecompose:
      return "DecomposeErrors";
    case NumericsRequest::kSweep:
      return "SweepSignificand";
    case NumericsRequest::kQkv:
      return "MeasureQkv";
    case NumericsRequest::kPolicy:
      return "ChooseSkipPolicy";
    case NumericsRequest::kServeCost:
      return "MeasureServingCost";
    case NumericsRequest::kInstructionMix:
      return "MeasureInstructionMix";
    case NumericsRequest::JOB_NOT_SET:
      break;
  }
  return "";
}

absl::Status CheckRequest(const NumericsRequest& request) {
  const v1::NumericsRun* run = RunOf(request);
  if (run == nullptr) return Wrong("job", "is required");
  const bool model = !request.has_instruction_mix(), asks = model && !request.has_serve_cost();
  if ((model && run->model().empty()) || run->model().size() > 128) return Wrong("run.model", "is required, at most 128 bytes");
  if (absl::Status status = CheckPrompts(*run, asks); !status.ok()) return status;
  return WithJob(request, [](const auto& job) { return CheckAll(job); });
}

absl::StatusOr<JobSpec> SpecFromProto(const NumericsRequest& request, const heal::ModelShape& shape) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  if (request.has_instruction_mix()) return Wrong("job", "an instruction mix asks no model");
  const v1::NumericsRun& run = *RunOf(request);
  JobSpec spec;
  spec.prompts = PromptsOf(run, shape);
  Take(run.slots(), &spec.batching.slots);
  Take(run.rows(), &spec.batching.rows);
  WithJob(request, [&](const auto& job) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(job)>, v1::MeasureInstructionMixRequest>) spec.job = ToSpec(job);
    return true;
  });
  const auto units = heal::PlanJob(spec, shape);  // validates
  if (!units.ok()) return units.status();
  return spec;
}

}  // namespace samebits::proto
