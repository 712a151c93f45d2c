#include "core/heal/jobs/spec.h"

#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {
namespace {

template <typename T>
absl::Status InRange(const char* field, T value, T least, T most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; ", least, " to ", most, " are allowed"));
}

absl::Status ValidateConfiguration(const char* field, const std::string& text, const ModelShape& shape) {
  absl::StatusOr<Configuration> parsed = ParseConfiguration(text);
  const absl::Status status = parsed.ok() ? Validate(*parsed, shape.layers) : parsed.status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", status.message()));
}

absl::Status ValidateConfigurations(const std::vector<std::string>& texts, const ModelShape& shape) {
  if (texts.empty() || texts.size() > kMostConfigurations) {
    return absl::InvalidArgumentError(
        absl::StrCat("configurations: there are ", texts.size(), "; 1 to ", kMostConfigurations, " are allowed"));
  }
  const absl::StatusOr<std::vector<Configuration>> parsed = ParseConfigurations(texts, shape.layers);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("configurations: ", parsed.status().message()));
}

absl::Status ValidateTrajectory(const JobSpec& spec, const Trajectory& trajectory, const ModelShape& shape) {
  if (absl::Status s = InRange("max_new_tokens", trajectory.max_new_tokens, 1, kMostNewTokens); !s.ok()) return s;
  if (absl::Status s = ValidateConfiguration("anchor", trajectory.anchor, shape); !s.ok()) return s;
  if (absl::Status s = Validate(spec.prompts, shape); !s.ok()) return s;
  for (const Prompt& prompt : spec.prompts.prompts) {
    if (static_cast<int>(prompt.tokens.size()) + trajectory.max_new_tokens > kMostContext) {
      return absl::InvalidArgumentError(absl::StrCat("prompt \"", prompt.id, "\" and max_new_tokens need more than ",
                                                     kMostContext, " positions"));
    }
  }
  return absl::OkStatus();
}

struct Validator {
  const JobSpec& spec;
  const ModelShape& shape;

  absl::Status operator()(const EvaluateSpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    if (absl::Status s = ValidateConfigurations(job.configurations, shape); !s.ok()) return s;
    const std::set<Schedule> distinct(job.schedules.begin(), job.schedules.end());
    if (distinct.empty() || distinct.size() != job.schedules.size()) {
      return absl::InvalidArgumentError("schedules: name at least one of fixed, original, reversed, each once");
    }
    for (const Schedule schedule : job.schedules) {
      if (schedule > Schedule::kReversed) return absl::InvalidArgumentError("schedules: unknown schedule");
    }
    if (!job.measure_mse && !job.measure_flips) {
      return absl::InvalidArgumentError("measure_mse and measure_flips are both off: nothing to do");
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const AttributeSpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    if (absl::Status s = ValidateConfigurations(job.configurations, shape); !s.ok()) return s;
    if (absl::Status s = InRange("prompts", job.prompts, 1, kMostPrompts); !s.ok()) return s;
    return InRange("fitted_rows", job.fitted_rows, 16, 4096);
  }

  absl::Status operator()(const DecomposeSpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    if (absl::Status s = ValidateConfiguration("configuration", job.configuration, shape); !s.ok()) return s;
    const Boundary boundary = ParseConfiguration(job.configuration)->boundary;
    if (boundary != Boundary::kBf16 && boundary != Boundary::kF16) {
      return absl::InvalidArgumentError(absl::StrCat("configuration: \"", job.configuration,
                                                     "\" does not round at every kernel boundary; use bf16 or fp16"));
    }
    return InRange("prompts", job.prompts, 1, kMostPrompts);
  }

  absl::Status operator()(const SweepSpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    if (absl::Status s = InRange("least_bits", job.least_bits, 3, 22); !s.ok()) return s;
    if (absl::Status s = InRange("most_bits", job.most_bits, job.least_bits, 22); !s.ok()) return s;
    if (job.tolerated_rate > 1 || job.tolerated_rate != job.tolerated_rate) {
      return absl::InvalidArgumentError("tolerated_rate: at most 1, or negative for the anchor's own rate");
    }
    return job.baselines.empty() ? absl::OkStatus() : ValidateConfigurations(job.baselines, shape);
  }

  absl::Status operator()(const QkvSpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    if (absl::Status s = ValidateConfigurations(job.configurations, shape); !s.ok()) return s;
    return InRange("prompts", job.prompts, 1, kMostPrompts);
  }

  absl::Status operator()(const PolicySpec& job) const {
    if (absl::Status s = ValidateTrajectory(spec, job.trajectory, shape); !s.ok()) return s;
    const bool paper = job.variant.rfind("paper-", 0) == 0;
    const std::string variant = job.variant.substr(paper ? 6 : 0);
    if (variant != "heal++" && variant != "heal-full") {
      return absl::InvalidArgumentError(absl::StrCat("variant is \"", job.variant,
                                                     "\"; heal++ or heal-full, or one of them after \"paper-\""));
    }
    if (job.budget != 0) {
      if (absl::Status s = InRange("budget", job.budget, 1.0, 1000.0); !s.ok()) return s;
    }
    if (absl::Status s = InRange("prompts", job.prompts, 1, 64); !s.ok()) return s;
    return InRange("most_skipped", job.most_skipped, 0, shape.layers);
  }

  absl::Status operator()(const ServeCostSpec& job) const {
    if (absl::Status s = ValidateConfiguration("baseline", job.baseline, shape); !s.ok()) return s;
    if (!job.configurations.empty()) {
      if (absl::Status s = ValidateConfigurations(job.configurations, shape); !s.ok()) return s;
    }
    if (job.batches.empty() || job.batches.size() > 16 || job.contexts.empty() || job.contexts.size() > 16) {
      return absl::InvalidArgumentError("batches, contexts: 1 to 16 each are allowed");
    }
    for (const int batch : job.batches) {
      if (absl::Status s = InRange("batches", batch, 1, 1024); !s.ok()) return s;
    }
    for (const int context : job.contexts) {
      if (absl::Status s = InRange("contexts", context, 1, kMostContext); !s.ok()) return s;
    }
    if (absl::Status s = InRange("rounds", job.rounds, 1, 64); !s.ok()) return s;
    if (absl::Status s = InRange("warmup_steps", job.warmup_steps, 0, 1024); !s.ok()) return s;
    return InRange("steps", job.steps, 1, 1024);
  }
};

}  // namespace

const char* NameOf(Schedule schedule) {
  switch (schedule) {
    case Schedule::kFixed: return "fixed";
    case Schedule::kOriginal: return "original";
    case Schedule::kReversed: return "reversed";
  }
  return "unknown";
}

const char* NameOf(const JobSpec& spec) {
  constexpr const char* kNames[] = {"evaluate", "attribute", "decompose", "sweep", "qkv", "policy", "serve-cost"};
  return kNames[spec.job.index()];
}

absl::Status Validate(const JobSpec& spec, const ModelShape& shape) {
  if (absl::Status s = Validate(shape); !s.ok()) return s;
  if (absl::Status s = InRange("slots", spec.batching.slots, 1, 1024); !s.ok()) return s;
  if (absl::Status s = InRange("rows", spec.batching.rows, spec.batching.slots, 16384); !s.ok()) return s;
  return std::visit(Validator{spec, shape}, spec.job);
}

}  // namespace samebits::heal
