#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/anchor.h"
#include "core/heal/jobs/capture.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/numerics/configuration.h"
#include "core/heal/numerics/rounding.h"
#include "core/heal/statistics/shares.h"

namespace samebits::heal {
namespace {

constexpr int64_t kMostCapturedFloats = int64_t{1} << 27;
const std::set<TapPoint> kWhole = {TapPoint::kKey, TapPoint::kValue};  // attention reads all positions

double SquaredError(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  return sum;
}

struct OperatorErrors {
  double total = 0, truncation = 0, discrepancy = 0;  // sums of squares
  int64_t values = 0;
};

// One prompt: exact inputs of all operators at the trajectory's rows, and three ways to run each operator on them.
class Decomposition {
 public:
  Decomposition(const std::string& anchor, const std::string& configuration, const Sequence& sequence,
                const ModelShape& shape, int most_rows)
      : anchor_(anchor), configuration_(configuration), sequence_(sequence), shape_(shape), most_rows_(most_rows),
        rounding_(*ParseConfiguration(configuration)) {}

  absl::StatusOr<Json> Run(UnitContext& context) {
    const std::vector<OperatorInstance> operators = OperatorsOf(shape_);
    int64_t floats = 2 * int64_t{shape_.kv_width()} * static_cast<int64_t>(sequence_.tokens.size());
    for (const OperatorInstance& one : operators) {
      if (one.layer == 0) floats += int64_t{WidthOf(shape_, one.reads)} * sequence_.generated();
    }
    const int block = static_cast<int>(std::clamp<int64_t>(kMostCapturedFloats / floats, 1, shape_.layers));
    std::vector<double> sums;
    std::vector<int64_t> values;
    for (int layer = 0; layer < shape_.layers; layer += block) {
      Capture capture(shape_);
      if (absl::Status s = CaptureInputs(operators, layer, layer + block, &capture, context); !s.ok()) return s;
      for (const OperatorInstance& one : operators) {
        if (one.layer < layer || one.layer >= layer + block) continue;
        absl::StatusOr<OperatorErrors> errors = Measure(one, capture, context);
        if (!errors.ok()) return errors.status();
        sums.insert(sums.end(), {errors->total, errors->truncation, errors->discrepancy});
        values.push_back(errors->values);
      }
    }
    return Json{{"sums", PackDoubles(sums)}, {"values", values}};
  }

 private:
  absl::Status CaptureInputs(const std::vector<OperatorInstance>& operators, int first, int end, Capture* capture,
                             UnitContext& context) {
    for (const OperatorInstance& one : operators) {
      if (one.layer < first || one.layer >= end) continue;
      capture->Want(one.reads, one.layer);
      for (const TapPoint point : kWhole) capture->Want(point, one.layer);
    }
    absl::StatusOr<Engine*> engine = context.engines.Get(anchor_, 1);
    if (!engine.ok()) return engine.status();
    const int length = static_cast<int>(sequence_.tokens.size());
    for (int begin = 0; begin < length; begin += most_rows_) {
      if (absl::Status s = context.monitor.Pass("recording inputs"); !s.ok()) return s;
      const int rows = std::min(most_rows_, length - begin);
      const std::vector<int32_t> slot(rows, 0);
      std::vector<int32_t> position(rows);
      for (int row = 0; row < rows; ++row) position[row] = begin + row;
      Wanted wanted;
      wanted.tap = capture->MakeTap(rows, std::clamp(sequence_.first - begin, 0, rows), kWhole);
      ForwardResult result;
      const std::span<const int32_t> token = std::span(sequence_.tokens).subspan(begin, rows);
      const absl::Status status = (*engine)->Forward({slot, position, token}, wanted, &result);
      if (!status.ok()) return status;
    }
    return capture->Check(sequence_.generated(), length, kWhole);
  }

  std::vector<float> Rounded(std::span<const float> x) const {
    std::vector<float> rounded(x.begin(), x.end());
    for (float& value : rounded) value = RoundTo(rounding_.boundary, rounding_.significand_bits, value);
    return rounded;
  }

  absl::StatusOr<OperatorErrors> Measure(const OperatorInstance& one, const Capture& capture, UnitContext& context) {
    OperatorErrors errors;
    for (int begin = 0; begin < sequence_.generated(); begin += most_rows_) {
      if (absl::Status s = context.monitor.Pass("running operators"); !s.ok()) return s;
      const int rows = std::min(most_rows_, sequence_.generated() - begin);
      if (absl::Status s = MeasureRows(one, capture, begin, rows, context, &errors); !s.ok()) return s;
    }
    return errors;
  }

  absl::Status MeasureRows(const OperatorInstance& one, const Capture& capture, int begin, int rows,
                           UnitContext& context, OperatorErrors* errors) {
    const size_t width = static_cast<size_t>(WidthOf(shape_, one.reads));
    std::vector<int32_t> position(rows);
    for (int row = 0; row < rows; ++row) position[row] = sequence_.first + begin + row;
    OperatorInput exact;
    exact.x = capture.Values(one.reads, one.layer).subspan(begin * width, rows * width);
    exact.position = position;
    if (one.family == OperatorFamily::kAttention) {
      const size_t seen = static_cast<size_t>(position.back() + 1) * shape_.kv_width();
      exact.key = capture.Values(TapPoint::kKey, one.layer).first(seen);
      exact.value = capture.Values(TapPoint::kValue, one.layer).first(seen);
    }
    const std::vector<float> x = Rounded(exact.x), key = Rounded(exact.key), value = Rounded(exact.value);
    absl::StatusOr<Engine*> anchor = context.engines.Get(anchor_, 1);
    if (!anchor.ok()) return anchor.status();
    absl::StatusOr<std::vector<float>> y = (*anchor)->Apply(one, exact);
    if (!y.ok()) return y.status();
    absl::StatusOr<std::vector<float>> truncated = (*anchor)->Apply(one, {x, position, key, value});
    if (!truncated.ok()) return truncated.status();
    *truncated = Rounded(*truncated);
    absl::StatusOr<Engine*> low = context.engines.Get(configuration_, 1);
    if (!low.ok()) return low.status();
    absl::StatusOr<std::vector<float>> native = (*low)->Apply(one, exact);
    if (!native.ok()) return native.status();
    if (y->size() != truncated->size() || y->size() != native->size()) {
      return absl::InternalError("the engines gave outputs of different sizes for one operator");
    }
    errors->total += SquaredError(*native, *y);
    errors->truncation += SquaredError(*truncated, *y);
    errors->discrepancy += SquaredError(*native, *truncated);
    errors->values += static_cast<int64_t>(y->size());
    return absl::OkStatus();
  }

  const std::string& anchor_;
  const std::string& configuration_;
  const Sequence& sequence_;
  const ModelShape& shape_;
  const int most_rows_;
  const Configuration rounding_;
};

// Units: the anchor's, then every prompt.
class DecomposePlan : public Plan {
 public:
  DecomposePlan(const JobSpec& spec, const ModelShape& shape, const DecomposeSpec& job)
      : spec_(spec), shape_(shape), job_(job), anchor_(spec, shape, job.trajectory, job.prompts) {}

  std::vector<std::string> Units() const override {
    std::vector<std::string> units = anchor_.Units();
    for (int i = 0; i < anchor_.prompts(); ++i) units.push_back(absl::StrCat("decompose ", job_.configuration, " ", i));
    return units;
  }

  Capacity EngineCapacity() const override { return anchor_.EngineCapacity(); }

  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override {
    if (unit < anchor_.groups()) return anchor_.Run(static_cast<int>(unit), context);
    const std::vector<Sequence> sequences = anchor_.AllSequences(context.records);
    return Decomposition(job_.trajectory.anchor, job_.configuration, sequences[unit - anchor_.groups()], shape_,
                         spec_.batching.rows)
        .Run(context);
  }

  JobResult Summarize(const std::vector<Json>& records) const override {
    DecomposeResult result;
    result.anchor = anchor_.Outcome(records);
    result.configuration = job_.configuration;
    const std::vector<OperatorInstance> operators = OperatorsOf(shape_);
    for (const OperatorInstance& one : operators) result.operators.push_back({.instance = one});
    for (int i = 0; i < anchor_.prompts(); ++i) {
      const Json& record = records[anchor_.groups() + i];
      const std::vector<double> sums = UnpackDoubles(record.at("sums"), 3 * operators.size());
      const std::vector<int64_t> values = ReadList<int64_t>(record, "values", operators.size());
      for (size_t o = 0; o < operators.size(); ++o) {
        result.operators[o].total += sums[3 * o];
        result.operators[o].truncation += sums[3 * o + 1];
        result.operators[o].discrepancy += sums[3 * o + 2];
        result.operators[o].values += values[o];
      }
    }
    for (OperatorOutcome& one : result.operators) Finish(&one);
    for (const OperatorFamily family : {OperatorFamily::kRmsNorm, OperatorFamily::kRope, OperatorFamily::kGemm,
                                        OperatorFamily::kSwiGlu, OperatorFamily::kAttention}) {
      result.families.push_back(FamilyOf(family, result.operators));
    }
    return result;
  }

 private:
  static void Finish(OperatorOutcome* one) {
    const double n = static_cast<double>(std::max<int64_t>(one->values, 1));
    one->total /= n;
    one->truncation /= n;
    one->discrepancy /= n;
    one->ratio = ShapleyRatio(one->total, one->truncation, one->discrepancy);
  }

  static FamilyOutcome FamilyOf(OperatorFamily family, const std::vector<OperatorOutcome>& operators) {
    FamilyOutcome outcome;
    outcome.family = family;
    std::vector<double> ratios;
    for (const OperatorOutcome& one : operators) {
      if (one.instance.family != family) continue;
      if (std::isnan(one.ratio)) {
        ++outcome.undefined;
      } else {
        ratios.push_back(one.ratio);
      }
    }
    outcome.ratio = MakeBoxPlot(std::move(ratios));
    return outcome;
  }

  const JobSpec& spec_;
  const ModelShape& shape_;
  const DecomposeSpec& job_;
  Anchor anchor_;
};

}  // namespace

std::unique_ptr<Plan> MakeDecomposePlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<DecomposePlan>(spec, shape, std::get<DecomposeSpec>(spec.job));
}

}  // namespace samebits::heal
