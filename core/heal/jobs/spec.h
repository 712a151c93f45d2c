#ifndef SAMEBITS_CORE_HEAL_JOBS_SPEC_H_
#define SAMEBITS_CORE_HEAL_JOBS_SPEC_H_

// What each job is asked. Configurations are the texts of ParseConfiguration.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/heal/jobs/prompts.h"
#include "core/heal/model/model_shape.h"

namespace samebits::heal {

inline constexpr int kMostConfigurations = 64;
inline constexpr int kMostNewTokens = 8192;

// How sequences share a batch. kFixed: batches of `slots` prompts, the next begins when all have ended. kOriginal: the
// next prompt takes the slot of one that has ended, in the order given. kReversed: so, in the reverse order.
enum class Schedule : uint8_t { kFixed, kOriginal, kReversed };
const char* NameOf(Schedule schedule);  // "fixed", "original", "reversed"

// How engines are used. Part of what is computed: another batching is another order of sums.
struct Batching {
  int slots = 32;  // sequences side by side, 1 to 1024
  int rows = 512;  // most rows of one pass, slots to 16384
};

// The anchor generates greedily, at most `max_new_tokens` a prompt; others replay or are compared with that.
struct Trajectory {
  std::string anchor = "fp32";  // FP32 arithmetic over the 16-bit checkpoint
  int max_new_tokens = 256;     // 1 to kMostNewTokens
};

// 1. Reproducibility.
struct EvaluateSpec {
  Trajectory trajectory;
  std::vector<std::string> configurations = {"bf16", "fp16", "tf32", "fp32", "heal-base", "heal+", "heal-full"};
  std::vector<Schedule> schedules = {Schedule::kFixed, Schedule::kOriginal, Schedule::kReversed};
  bool measure_mse = true;    // teacher forcing
  bool measure_flips = true;  // generation
};

// 2. Attribution (equations 12 to 27).
struct AttributeSpec {
  Trajectory trajectory;
  std::vector<std::string> configurations = {"bf16", "heal-base", "heal+"};
  int prompts = 32;           // the first of the set, as many as there are
  int fitted_rows = 1024;     // rows that slopes are fitted to, spread evenly; 16 to 4096. Means use all rows
};

// 3. Truncation against arithmetic (equation 28).
struct DecomposeSpec {
  Trajectory trajectory{.anchor = "fp32", .max_new_tokens = 64};
  std::string configuration = "bf16";  // or "fp16"
  int prompts = 16;
};

// 4. Significand sweep.
struct SweepSpec {
  Trajectory trajectory;
  int least_bits = 3, most_bits = 22;
  std::vector<std::string> baselines = {"bf16", "fp16", "tf32", "fp32"};
  // Flip rate that counts as reproducible. Negative: that of the anchor's configuration under the schedules kOriginal
  // and kReversed, the larger one.
  double tolerated_rate = -1;
};

// 5. Distribution of Q, K, V (equations 7 and 8).
struct QkvSpec {
  Trajectory trajectory;
  // "bf16" as the paper; rounding to FP16 shows only in values that were not rounded before: "fp32".
  std::vector<std::string> configurations = {"bf16", "fp32"};
  int prompts = kMostPrompts;
};

// 6. Skip policy (appendix C).
struct PolicySpec {
  Trajectory trajectory{.anchor = "fp32", .max_new_tokens = 1024};
  std::string variant = "heal++";  // or "heal-full", "paper-heal++", "paper-heal-full"
  double budget = 0;               // over the unskipped variant's median MSE; 0: 1.2 for heal++, 1.5 for heal-full
  int prompts = 8;
  int most_skipped = 0;            // 0: all layers
};

// 7. Serving cost. Prompts are not used.
struct ServeCostSpec {
  std::string baseline = "bf16";
  std::vector<std::string> configurations = {"heal-base", "heal+", "heal-full", "fp32"};
  std::vector<int> batches = {1, 16, 64};   // 1 to 1024
  std::vector<int> contexts = {2048};       // up to kMostContext
  int rounds = 3;                           // 1 to 64; each times every configuration once, in alternating order
  int warmup_steps = 8, steps = 32;         // of each timing; steps 1 to 1024
};

struct JobSpec {
  PromptSet prompts;
  Batching batching;
  std::variant<EvaluateSpec, AttributeSpec, DecomposeSpec, SweepSpec, QkvSpec, PolicySpec, ServeCostSpec> job;
};
// "evaluate", "attribute", "decompose", "sweep", "qkv", "policy", "serve-cost".
const char* NameOf(const JobSpec& spec);

// INVALID_ARGUMENT with the field, its value and what it may be.
absl::Status Validate(const JobSpec& spec, const ModelShape& shape);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_SPEC_H_
