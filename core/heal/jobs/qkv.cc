#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/anchor.h"
#include "core/heal/jobs/parallel.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"
#include "core/heal/statistics/spread.h"

namespace samebits::heal {
namespace {

constexpr int kPromptsPerUnit = 16;
constexpr int kTensors = 3;
constexpr int kParts = 16;
constexpr double kHalvedRatio = 11.313708498984761;  // sqrt(128): 256 sigma^2 / AbsMax^2 is 2

double SquaredErrorOfF16(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    const double error = static_cast<double>(FromF16(ToF16(value))) - value;
    sum += error * error;
  }
  return sum;
}

double SquaredErrorOfInt16(std::span<const float> values) {
  std::vector<int16_t> q(values.size());
  const double scale = QuantizeInt16(values, q);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = q[i] * scale - values[i];
    sum += error * error;
  }
  return sum;
}

// Sums over tensors of one kind.
struct Tally {
  int64_t zeros = 0, halved = 0;
  double most = 0;
  Moments ratio;
  std::array<double, 4> sums{};  // predicted INT16, FP16, measured INT16, FP16
  std::vector<int64_t> histogram = std::vector<int64_t>(kQkvBins);

  // `f16`: sum of squared errors of FP16.
  void Add(std::span<const float> values, double f16) {
    const Spread spread = SpreadOf(values);
    if (!(spread.sigma > 0)) {
      ++zeros;
      return;
    }
    ratio.Add(spread.ratio());
    most = std::max(most, spread.ratio());
    halved += spread.ratio() <= kHalvedRatio;
    ++histogram[static_cast<int>(std::min<double>(spread.ratio() / kQkvBin, kQkvBins - 1))];
    sums[0] += PredictedInt16Mse(spread.abs_max);
    sums[1] += PredictedF16Mse(spread.mean_square);
    sums[2] += SquaredErrorOfInt16(values) / static_cast<double>(values.size());
    sums[3] += f16 / static_cast<double>(values.size());
  }

  void Add(const Tally& other) {
    zeros += other.zeros;
    halved += other.halved;
    most = std::max(most, other.most);
    ratio.Add(other.ratio);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
    for (int i = 0; i < kQkvBins; ++i) histogram[i] += other.histogram[i];
  }

  Json ToRecord() const {
    std::vector<int64_t> short_histogram = histogram;
    while (!short_histogram.empty() && short_histogram.back() == 0) short_histogram.pop_back();
    const std::array<double, 7> numbers = {most, ratio.mean(), ratio.squares(), sums[0], sums[1], sums[2], sums[3]};
    return Json::array({zeros, halved, ratio.count(), PackDoubles(numbers), short_histogram});
  }

  static Tally FromRecord(const Json& json) {
    if (!json.is_array() || json.size() != 5) throw RecordError("a tally needs five parts");
    Tally tally;
    tally.zeros = json[0].get<int64_t>();
    tally.halved = json[1].get<int64_t>();
    const std::vector<double> numbers = UnpackDoubles(json[3], 7);
    tally.most = numbers[0];
    tally.ratio = Moments(json[2].get<int64_t>(), numbers[1], numbers[2]);
    std::copy_n(numbers.begin() + 3, 4, tally.sums.begin());
    const std::vector<int64_t> histogram = json[4].get<std::vector<int64_t>>();
    if (histogram.size() > kQkvBins) throw RecordError("a histogram has too many bins");
    std::copy(histogram.begin(), histogram.end(), tally.histogram.begin());
    return tally;
  }
};

double MedianOf(const std::vector<int64_t>& histogram, int64_t count) {
  int64_t below = 0;
  for (int bin = 0; bin < kQkvBins; ++bin) {
    if (2 * (below + histogram[bin]) >= count && histogram[bin] > 0) {
      return (bin + (count / 2.0 - below) / histogram[bin]) * kQkvBin;
    }
    below += histogram[bin];
  }
  return 0;
}

// Units: the anchor's, then every configuration with every 16 prompts.
class QkvPlan : public Plan {
 public:
  QkvPlan(const JobSpec& spec, const ModelShape& shape, const QkvSpec& job)
      : spec_(spec), shape_(shape), job_(job), anchor_(spec, shape, job.trajectory, job.prompts),
        chunks_((anchor_.prompts() + kPromptsPerUnit - 1) / kPromptsPerUnit) {}

  std::vector<std::string> Units() const override {
    std::vector<std::string> units = anchor_.Units();
    for (const std::string& configuration : job_.configurations) {
      for (int i = 0; i < chunks_; ++i) {
        const int first = i * kPromptsPerUnit, last = std::min(first + kPromptsPerUnit, anchor_.prompts()) - 1;
        units.push_back(absl::StrCat("qkv ", configuration, " ", first, "-", last));
      }
    }
    return units;
  }

  Capacity EngineCapacity() const override { return anchor_.EngineCapacity(); }

  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override {
    if (unit < anchor_.groups()) return anchor_.Run(static_cast<int>(unit), context);
    const int index = static_cast<int>(unit) - anchor_.groups();
    const std::vector<Sequence> all = anchor_.AllSequences(context.records);
    const size_t first = static_cast<size_t>(index % chunks_) * kPromptsPerUnit;
    ReplayRequest request;
    request.sequences = std::span(all).subspan(first, std::min<size_t>(kPromptsPerUnit, all.size() - first));
    request.rows = spec_.batching.rows;
    std::vector<Tally> tallies(Count());
    request.wanted.tap = [&](TapPoint point, int layer, std::span<const float> values) {
      TallyValues(point, layer, values, &tallies);
    };
    absl::StatusOr<Engine*> engine = context.engines.Get(job_.configurations[index / chunks_]);
    if (!engine.ok()) return engine.status();
    const absl::Status status = Replay(**engine, request, context.monitor,
                                       [](const PassRows&, const ForwardResult&) { return absl::OkStatus(); });
    if (!status.ok()) return status;
    Json list = Json::array();
    for (const Tally& tally : tallies) list.push_back(tally.ToRecord());
    return Json{{"tallies", std::move(list)}};
  }

  JobResult Summarize(const std::vector<Json>& records) const override {
    QkvResult result;
    result.anchor = anchor_.Outcome(records);
    for (size_t c = 0; c < job_.configurations.size(); ++c) {
      std::vector<Tally> tallies(Count());
      for (int i = 0; i < chunks_; ++i) {
        const Json& record = records[anchor_.groups() + c * chunks_ + i];
        const std::vector<Json> list = ReadList<Json>(record, "tallies", tallies.size());
        for (size_t t = 0; t < tallies.size(); ++t) tallies[t].Add(Tally::FromRecord(list[t]));
      }
      AddDistributions(job_.configurations[c], tallies, &result);
    }
    return result;
  }

 private:
  size_t Count() const { return static_cast<size_t>(shape_.layers) * kTensors * 2; }
  static size_t IndexOf(int layer, int tensor, bool per_head) { return (layer * kTensors + tensor) * 2 + per_head; }

  void TallyValues(TapPoint point, int layer, std::span<const float> values, std::vector<Tally>* tallies) const {
    int tensor = 0;
    switch (point) {
      case TapPoint::kQuery: tensor = 0; break;
      case TapPoint::kKey: tensor = 1; break;
      case TapPoint::kValue: tensor = 2; break;
      default: return;
    }
    // A fixed number of parts, so that the order of sums does not depend on the number of threads.
    const size_t width = static_cast<size_t>(WidthOf(shape_, point)), rows = values.size() / width;
    std::array<std::array<Tally, 2>, kParts> parts;
    ParallelFor(kParts, [&](int part) {
      for (size_t row = rows * part / kParts; row < rows * (part + 1) / kParts; ++row) {
        TallyRow(values.subspan(row * width, width), &parts[part]);
      }
    });
    for (const std::array<Tally, 2>& part : parts) {
      for (const bool per_head : {false, true}) (*tallies)[IndexOf(layer, tensor, per_head)].Add(part[per_head]);
    }
  }

  void TallyRow(std::span<const float> row, std::array<Tally, 2>* tallies) const {
    const size_t head = static_cast<size_t>(shape_.head_dim);
    double sum = 0;
    for (size_t at = 0; at + head <= row.size(); at += head) {
      const std::span<const float> values = row.subspan(at, head);
      const double f16 = SquaredErrorOfF16(values);
      sum += f16;
      (*tallies)[1].Add(values, f16);
    }
    (*tallies)[0].Add(row, sum);
  }

  void AddDistributions(const std::string& configuration, const std::vector<Tally>& tallies, QkvResult* result) const {
    for (int tensor = 0; tensor < kTensors; ++tensor) {
      for (const bool per_head : {false, true}) {
        Tally all;
        for (int layer = 0; layer < shape_.layers; ++layer) all.Add(tallies[IndexOf(layer, tensor, per_head)]);
        const auto add = [&](const Tally& tally, int layer) {
          QkvDistribution& out = result->distributions.emplace_back(DistributionOf(tally));
          out.configuration = configuration;
          out.tensor = static_cast<QkvTensor>(tensor);
          out.per_head = per_head;
          out.layer = layer;
        };
        add(all, -1);
        for (int layer = 0; layer < shape_.layers; ++layer) add(tallies[IndexOf(layer, tensor, per_head)], layer);
      }
    }
  }

  static QkvDistribution DistributionOf(const Tally& tally) {
    QkvDistribution out;
    out.tensors = tally.ratio.count();
    out.zeros = tally.zeros;
    out.ratio = tally.ratio.Summary();
    out.ratio_most = tally.most;
    out.histogram = tally.histogram;
    if (out.tensors == 0) return out;
    const double n = static_cast<double>(out.tensors);
    out.ratio_median = MedianOf(tally.histogram, out.tensors);
    out.halved = static_cast<double>(tally.halved) / n;
    out.predicted_int16 = tally.sums[0] / n;
    out.predicted_f16 = tally.sums[1] / n;
    out.measured_int16 = tally.sums[2] / n;
    out.measured_f16 = tally.sums[3] / n;
    return out;
  }

  const JobSpec& spec_;
  const ModelShape& shape_;
  const QkvSpec& job_;
  Anchor anchor_;
  const int chunks_;
};

}  // namespace

const char* NameOf(QkvTensor tensor) {
  switch (tensor) {
    case QkvTensor::kQuery: return "Q";
    case QkvTensor::kKey: return "K";
    case QkvTensor::kValue: return "V";
  }
  return "unknown";
}

std::unique_ptr<Plan> MakeQkvPlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<QkvPlan>(spec, shape, std::get<QkvSpec>(spec.job));
}

}  // namespace samebits::heal
