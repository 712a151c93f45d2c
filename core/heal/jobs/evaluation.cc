#include "core/heal/jobs/evaluation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

// The first index at which the sequences differ; -1 if they are the same.
int32_t Divergence(const Tokens& a, const Tokens& b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return at == a.end() && other == b.end() ? -1 : static_cast<int32_t>(at - a.begin());
}

}  // namespace

Evaluation::Evaluation(const JobSpec& spec, const ModelShape& shape, const Trajectory& trajectory,
                       std::vector<EvaluatedConfiguration> configurations, bool measure_mse, bool measure_flips)
    : anchor_(spec, shape, trajectory, kMostPrompts), configurations_(std::move(configurations)),
      measure_mse_(measure_mse), measure_flips_(measure_flips) {
  for (int group = 0; group < anchor_.groups(); ++group) {
    for (int c = 0; c < static_cast<int>(configurations_.size()); ++c) {
      for (int s = 0; s < static_cast<int>(configurations_[c].schedules.size()); ++s) units_.push_back({group, c, s});
    }
  }
}

std::vector<std::string> Evaluation::Units() const {
  std::vector<std::string> names = anchor_.Units();
  for (const Unit& unit : units_) {
    const EvaluatedConfiguration& configuration = configurations_[unit.configuration];
    names.push_back(absl::StrCat("evaluate ", configuration.configuration, " ",
                                 NameOf(configuration.schedules[unit.schedule]), " ", anchor_.Range(unit.group)));
  }
  return names;
}

int64_t Evaluation::UnitOf(int group, int configuration, int schedule) const {
  const auto it = std::find_if(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.group == group && unit.configuration == configuration && unit.schedule == schedule;
  });
  return anchor_.groups() + (it - units_.begin());
}

absl::StatusOr<Json> Evaluation::Run(int64_t index, UnitContext& context) {
  if (index < anchor_.groups()) return anchor_.Run(static_cast<int>(index), context);
  const Unit& unit = units_[index - anchor_.groups()];
  // The anchor's own overflow ends the job; a configuration's is a finding.
  if (measure_mse_) {
    if (absl::StatusOr<const Hidden*> hidden = anchor_.HiddenOf(unit.group, context); !hidden.ok()) {
      return hidden.status();
    }
  }
  Json record = Json::object();
  absl::Status status = measure_mse_ ? MeasureMse(unit, context, &record) : absl::OkStatus();
  if (status.ok() && measure_flips_) status = MeasureFlips(unit, context, &record);
  if (absl::IsDataLoss(status)) return Json{{"failure", std::string(status.message())}};
  if (!status.ok()) return status;
  return record;
}

absl::Status Evaluation::MeasureMse(const Unit& unit, UnitContext& context, Json* record) {
  absl::StatusOr<const Hidden*> hidden = anchor_.HiddenOf(unit.group, context);
  if (!hidden.ok()) return hidden.status();
  const EvaluatedConfiguration& configuration = configurations_[unit.configuration];
  absl::StatusOr<Engine*> engine = context.engines.Get(configuration.configuration);
  if (!engine.ok()) return engine.status();
  const std::vector<Sequence> sequences = anchor_.SequencesOf(unit.group, context.records);
  absl::StatusOr<std::vector<std::vector<double>>> errors =
      ReplayErrors(**engine, sequences, configuration.schedules[unit.schedule], **hidden, context.monitor);
  if (!errors.ok()) return errors.status();
  Json list = Json::array();
  for (const std::vector<double>& tokens : *errors) {
    Moments moments;
    for (const double error : tokens) moments.Add(error);
    list.push_back(ToJson(moments));
  }
  (*record)["mse"] = std::move(list);
  return absl::OkStatus();
}

absl::Status Evaluation::MeasureFlips(const Unit& unit, UnitContext& context, Json* record) {
  const EvaluatedConfiguration& configuration = configurations_[unit.configuration];
  absl::StatusOr<Engine*> engine = context.engines.Get(configuration.configuration);
  if (!engine.ok()) return engine.status();
  const GenerateRequest request{anchor_.PromptsOf(unit.group), anchor_.set().stop_tokens,
                                configuration.schedules[unit.schedule], anchor_.trajectory().max_new_tokens};
  absl::StatusOr<std::vector<Tokens>> generated = Generate(**engine, request, context.monitor);
  if (!generated.ok()) return generated.status();
  const std::vector<Tokens> exact = anchor_.TokensOf(unit.group, context.records);
  std::string answers;
  std::vector<int32_t> first;
  for (size_t i = 0; i < exact.size(); ++i) {
    answers += ReadAnswer(anchor_.set(), (*generated)[i]);
    first.push_back(Divergence(exact[i], (*generated)[i]));
  }
  (*record)["answers"] = answers;
  (*record)["first"] = first;
  return absl::OkStatus();
}

void Evaluation::ReadUnit(const Json& record, int group, ScheduleOutcome* outcome, Moments* mse) const {
  const size_t count = anchor_.PromptsOf(group).size();
  if (record.contains("failure")) {
    outcome->failure = record.at("failure").get<std::string>();
    return;
  }
  if (measure_mse_) {
    for (const Json& json : ReadList<Json>(record, "mse", count)) {
      const Moments moments = MomentsFrom(json);
      outcome->prompt_mse.push_back(moments.mean());
      mse->Add(moments);
    }
  }
  if (measure_flips_) {
    const std::string answers = record.at("answers").get<std::string>();
    if (answers.size() != count) throw RecordError("answers has another length than planned");
    outcome->answers += answers;
    for (const int32_t first : ReadList<int32_t>(record, "first", count)) outcome->first_divergence.push_back(first);
  }
}

ScheduleOutcome Evaluation::OutcomeOf(int configuration, int schedule, const AnchorOutcome& anchor,
                                      const std::vector<Json>& records, Moments* all) const {
  ScheduleOutcome outcome;
  outcome.schedule = configurations_[configuration].schedules[schedule];
  Moments mse;
  for (int group = 0; group < anchor_.groups(); ++group) {
    ReadUnit(records[UnitOf(group, configuration, schedule)], group, &outcome, &mse);
  }
  if (!outcome.failure.empty()) {
    ScheduleOutcome failed;
    failed.schedule = outcome.schedule;
    failed.failure = outcome.failure;
    return failed;
  }
  outcome.mse = mse.Summary();
  all->Add(mse);
  outcome.prompts = static_cast<int64_t>(outcome.answers.size());
  for (size_t i = 0; i < outcome.answers.size(); ++i) {
    const bool diverged = outcome.first_divergence[i] >= 0;
    outcome.diverged += diverged;
    outcome.flips += anchor.answers_known ? outcome.answers[i] != anchor.answers[i] : diverged;
    outcome.correct += anchor_.set().prompts[i].expected == outcome.answers[i];
  }
  return outcome;
}

EvaluateResult Evaluation::Summarize(const std::vector<Json>& records) const {
  EvaluateResult result;
  result.anchor = anchor_.Outcome(records);
  for (int c = 0; c < static_cast<int>(configurations_.size()); ++c) {
    ConfigurationOutcome outcome;
    outcome.configuration = configurations_[c].configuration;
    Moments mse, flips, divergences;
    for (int s = 0; s < static_cast<int>(configurations_[c].schedules.size()); ++s) {
      const ScheduleOutcome& one = outcome.schedules.emplace_back(OutcomeOf(c, s, result.anchor, records, &mse));
      if (one.prompts == 0) continue;
      flips.Add(static_cast<double>(one.flips) / static_cast<double>(one.prompts));
      divergences.Add(static_cast<double>(one.diverged) / static_cast<double>(one.prompts));
    }
    outcome.mse = mse.Summary();
    outcome.flip_rate = flips.Summary();
    outcome.divergence_rate = divergences.Summary();
    result.configurations.push_back(std::move(outcome));
  }
  return result;
}

}  // namespace samebits::heal
