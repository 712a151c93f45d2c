#ifndef SAMEBITS_CORE_HEAL_JOBS_RESULT_H_
#define SAMEBITS_CORE_HEAL_JOBS_RESULT_H_

// What each job finds. Errors of hidden states are mean squared errors against the anchor at the same token.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/heal/engine/engine.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "core/heal/jobs/spec.h"
#include "core/heal/statistics/summary.h"

namespace samebits::heal {

// The anchor's run (the paper's table 4).
struct AnchorOutcome {
  std::string configuration;
  int64_t prompts = 0, generated_tokens = 0;
  int64_t cut_off = 0;   // ended by max_new_tokens
  int64_t parsed = 0;    // answers other than F
  int64_t expected = 0;  // prompts whose answer is known
  int64_t correct = 0;
  double median_length = 0;
  bool answers_known = false;  // the set has a table of tokens
  std::string answers;         // one letter a prompt
  std::vector<int32_t> lengths;
};

// 1. -------------------------------------------------------------------------------------------------------------
struct ScheduleOutcome {
  Schedule schedule = Schedule::kFixed;
  std::string failure;            // the engine's values stopped being finite (overflow): nothing below is known
  MeanSem mse;                    // Final Hidden MSE, over tokens; count 0: not measured
  std::vector<double> prompt_mse;  // mean of each prompt's tokens
  int64_t prompts = 0;            // generated; 0: not measured
  int64_t flips = 0;              // answers other than the anchor's
  int64_t diverged = 0;           // sequences other than the anchor's
  int64_t correct = 0;
  std::string answers;                    // one letter a prompt
  std::vector<int32_t> first_divergence;  // index of the first generated token that differs; -1: none
};
struct ConfigurationOutcome {
  std::string configuration;
  MeanSem mse;              // over the tokens of all schedules
  MeanSem flip_rate;        // over schedules
  MeanSem divergence_rate;  // over schedules
  std::vector<ScheduleOutcome> schedules;
};
struct EvaluateResult {
  AnchorOutcome anchor;
  std::vector<ConfigurationOutcome> configurations;
};

// 2. -------------------------------------------------------------------------------------------------------------
struct LayerAttribution {
  double e_in = 0, e_post = 0, e_next = 0, e_k = 0, e_pk = 0, j_a = 0, j_m = 0;         // means, equations 13 to 19
  double lambda_k = 0, lambda_in = 0, lambda_pk = 0, lambda_m = 0;                      // equations 20 to 22
  double beta_k = 0, beta_a = 0, beta_m = 0;
  double share_a = 0, share_k = 0, share_m = 0;                                         // equation 24
  double attention = 0, kv = 0, mlp = 0;                                                // c_A, c_K, c_M: 25 to 27
  bool settled = true;  // the alternating fit's slopes stopped changing
};
struct Attribution {
  std::string configuration;
  std::vector<LayerAttribution> layers;
  double attention = 0, kv = 0, mlp = 0;  // sums over layers
  double remainder = 0;                   // left at the first layer; all four sum to 1
  int64_t rows = 0, fitted_rows = 0;
};
struct AttributeResult {
  AnchorOutcome anchor;
  std::vector<Attribution> configurations;
};

// 3. -------------------------------------------------------------------------------------------------------------
struct OperatorOutcome {
  OperatorInstance instance;
  double total = 0, truncation = 0, discrepancy = 0;  // E, T, L
  double ratio = 0;                                   // (E - T + L) / 2E; NaN where E is 0 or not finite
  int64_t values = 0;
};
struct FamilyOutcome {
  OperatorFamily family = OperatorFamily::kGemm;
  BoxPlot ratio;          // over instances
  int64_t undefined = 0;  // instances without a ratio: without any error, or not finite
};
struct DecomposeResult {
  AnchorOutcome anchor;
  std::string configuration;
  std::vector<OperatorOutcome> operators;
  std::vector<FamilyOutcome> families;
};

// 4. -------------------------------------------------------------------------------------------------------------
struct SweepPoint {
  std::string configuration;
  int bits = 0;  // kept significand bits of trunc:K; 7, 10, 10, 23 for bf16, fp16, tf32, fp32; else -1
  MeanSem mse, flip_rate;
};
struct SweepResult {
  AnchorOutcome anchor;
  std::vector<SweepPoint> points;  // trunc by rising bits, then baselines
  double tolerated_rate = 0;       // what the threshold is judged by
  // The fewest bits from which on every swept width flips at most tolerated_rate; none if the widest flips more.
  std::optional<int> threshold_bits;
  double threshold_mse = 0;  // mean MSE there; NaN if there is none
};

// 5. -------------------------------------------------------------------------------------------------------------
enum class QkvTensor : uint8_t { kQuery, kKey, kValue };
const char* NameOf(QkvTensor tensor);  // "Q", "K", "V"
struct QkvDistribution {
  std::string configuration;
  QkvTensor tensor = QkvTensor::kQuery;
  bool per_head = false;  // a tensor is one head of one token, as INT16 scales it; or all heads of one token
  int layer = -1;         // -1: all layers together
  int64_t tensors = 0;    // that have a spread
  int64_t zeros = 0;      // all values equal, or not finite
  MeanSem ratio;                    // AbsMax / sigma
  double ratio_median = 0, ratio_most = 0;  // the median from the histogram: right to a bin's width
  double halved = 0;                // share of tensors with 256 sigma^2 / AbsMax^2 >= 2
  double predicted_int16 = 0, predicted_f16 = 0;  // means of equations 7 and 8 (with E[x^2])
  double measured_int16 = 0, measured_f16 = 0;    // means of MSE after a round trip; infinite beyond FP16's range
  std::vector<int64_t> histogram;   // of AbsMax / sigma: bins of kQkvBin from 0 on, the last open to the right
};
inline constexpr double kQkvBin = 0.25;
inline constexpr int kQkvBins = 256;
struct QkvResult {
  AnchorOutcome anchor;
  std::vector<QkvDistribution> distributions;
};

// 6. -------------------------------------------------------------------------------------------------------------
struct PolicyPoint {
  bool prefix = false;  // or contribution order
  int skipped = 0;
  std::string configuration;
  double median_mse = 0, ratio = 0;  // over the unskipped one
  bool within = false;
};
struct PolicyResult {
  AnchorOutcome anchor;
  std::string variant;
  double budget = 0, unskipped_mse = 0;  // median over all tokens of the calibration prompts
  std::vector<int> contribution_order;   // layers, the least contribution first
  std::vector<double> contribution;      // of each layer
  std::vector<PolicyPoint> points;
  int skipped = 0;  // the largest within the budget by either order
  bool prefix = true;
  std::string configuration;  // "heal++:11"; the variant itself where nothing can be skipped
};

// 7. -------------------------------------------------------------------------------------------------------------
struct ServeCostRow {
  std::string configuration;
  int batch = 0, context = 0;
  std::string missing;    // why there is no timing ("does not fit: ..."); empty: there is
  MeanSem milliseconds;   // per output token: medians of a round's steps, over rounds
  MeanSem overhead;       // over the baseline of the same round, as a fraction; the baseline: 0
  int64_t kv_bytes = 0, weight_bytes = 0, memory_bytes = 0;
  double floor_milliseconds = 0;  // weight_bytes at the copy bandwidth; NaN where that is unknown
};
struct ServeCostResult {
  std::string baseline;
  MeanSem copy_bandwidth;  // bytes per second, read and written bytes both counted; count 0: unknown
  std::vector<ServeCostRow> rows;  // by context, batch, configuration; the baseline first
};

// The last: job 8.
using JobResult = std::variant<EvaluateResult, AttributeResult, DecomposeResult, SweepResult, QkvResult, PolicyResult,
                               ServeCostResult, MixReport>;

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_RESULT_H_
