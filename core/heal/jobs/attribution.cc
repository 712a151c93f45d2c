#include "core/heal/jobs/attribution.h"

#include <algorithm>
#include <array>

#include "core/heal/jobs/capture.h"
#include "core/heal/jobs/parallel.h"
#include "core/heal/statistics/shares.h"
#include "core/heal/statistics/spread.h"
#include "core/heal/statistics/theil_sen.h"

namespace samebits::heal {
namespace {

enum Quantity { kIn, kPost, kNext, kK, kPK, kJA, kJM, kQuantities };
constexpr int64_t kMostCapturedFloats = int64_t{1} << 26;
constexpr int64_t kMostKeptBytes = 2000000;  // of a record, in base64

// Mean of ((a1 - a0) - (b1 - b0))^2: the growth's error (equations 18, 19).
double GrowthError(std::span<const float> a0, std::span<const float> a1, std::span<const float> b0,
                   std::span<const float> b1) {
  double sum = 0;
  for (size_t i = 0; i < a0.size(); ++i) {
    const double difference = (static_cast<double>(a1[i]) - a0[i]) - (static_cast<double>(b1[i]) - b0[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(a0.size());
}

class Measurement {
 public:
  Measurement(const AttributionRequest& request, const Sequence& sequence, const ModelShape& shape)
      : request_(request), sequence_(sequence), shape_(shape), exact_(shape), rounded_(shape),
        prefix_(shape.layers, 0.0), sums_(shape.layers * kQuantities, 0.0) {
    for (Capture* capture : {&exact_, &rounded_}) {
      capture->Want(TapPoint::kInput, 0);
      for (int layer = 0; layer < shape.layers; ++layer) {
        for (const TapPoint point : {TapPoint::kPostAttention, TapPoint::kOutput, TapPoint::kKey, TapPoint::kValue}) {
          capture->Want(point, layer);
        }
      }
    }
    kept_ = std::min(request.kept_rows, sequence.generated());
  }

  absl::StatusOr<Json> Run(UnitContext& context) {
    const int64_t floats = shape_.hidden + 2 * int64_t{shape_.layers} * (shape_.hidden + shape_.kv_width());
    const int step = static_cast<int>(std::clamp<int64_t>(kMostCapturedFloats / floats, 1, request_.most_rows));
    const int length = static_cast<int>(sequence_.tokens.size());
    for (int begin = 0; begin < length; begin += step) {
      const int rows = std::min(step, length - begin);
      if (absl::Status s = Pass(request_.anchor, begin, rows, &exact_, context); !s.ok()) return s;
      if (absl::Status s = Pass(request_.configuration, begin, rows, &rounded_, context); !s.ok()) return s;
      for (int row = 0; row < rows; ++row) MeasureRow(begin + row, row);
    }
    return Json{{"rows", sequence_.generated()}, {"sums", PackDoubles(sums_)}, {"kept", kept_},
                {"fit", PackDoubles(fit_)}};
  }

 private:
  absl::Status Pass(const std::string& configuration, int begin, int rows, Capture* capture, UnitContext& context) {
    if (absl::Status s = context.monitor.Pass("replaying with taps"); !s.ok()) return s;
    absl::StatusOr<Engine*> engine = context.engines.Get(configuration, 1);
    if (!engine.ok()) return engine.status();
    const std::vector<int32_t> slot(rows, 0);
    std::vector<int32_t> position(rows);
    for (int row = 0; row < rows; ++row) position[row] = begin + row;
    capture->Clear();
    Wanted wanted;
    wanted.tap = capture->MakeTap(rows, 0);
    ForwardResult result;
    const std::span<const int32_t> token = std::span(sequence_.tokens).subspan(begin, rows);
    const absl::Status status = (*engine)->Forward({slot, position, token}, wanted, &result);
    return status.ok() ? capture->Check(rows, rows) : status;
  }

  std::span<const float> Row(const Capture& capture, TapPoint point, int layer, int row) const {
    const size_t width = static_cast<size_t>(WidthOf(shape_, point));
    return capture.Values(point, layer).subspan(row * width, width);
  }

  double ErrorOf(TapPoint point, int layer, int row) const {
    return MeanSquaredError(Row(rounded_, point, layer, row), Row(exact_, point, layer, row));
  }

  double GrowthOf(TapPoint from, int from_layer, TapPoint to, int layer, int row) const {
    return GrowthError(Row(rounded_, from, from_layer, row), Row(rounded_, to, layer, row),
                       Row(exact_, from, from_layer, row), Row(exact_, to, layer, row));
  }

  // Whether row `index` of the trajectory is one of the kept ones, spread evenly.
  bool Kept(int index) const {
    const int64_t n = sequence_.generated();
    return (index + 1) * int64_t{kept_} / n != index * int64_t{kept_} / n;
  }

  void MeasureRow(int position, int row) {
    const int index = position - sequence_.first;
    double input = ErrorOf(TapPoint::kInput, 0, row);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      std::array<double, kQuantities> q;
      const TapPoint from = layer == 0 ? TapPoint::kInput : TapPoint::kOutput;
      q[kIn] = input;
      q[kK] = (ErrorOf(TapPoint::kKey, layer, row) + ErrorOf(TapPoint::kValue, layer, row)) / 2;
      prefix_[layer] += q[kK];
      q[kPK] = prefix_[layer] / (position + 1);
      q[kNext] = ErrorOf(TapPoint::kOutput, layer, row);
      input = q[kNext];
      if (index < 0) continue;
      q[kPost] = ErrorOf(TapPoint::kPostAttention, layer, row);
      q[kJA] = GrowthOf(from, std::max(0, layer - 1), TapPoint::kPostAttention, layer, row);
      q[kJM] = GrowthOf(TapPoint::kPostAttention, layer, TapPoint::kOutput, layer, row);
      for (int i = 0; i < kQuantities; ++i) sums_[layer * kQuantities + i] += q[i];
      if (Kept(index)) fit_.insert(fit_.end(), q.begin(), q.end());
    }
  }

  const AttributionRequest& request_;
  const Sequence& sequence_;
  const ModelShape& shape_;
  Capture exact_, rounded_;
  std::vector<double> prefix_;  // sum of E_K of the positions so far
  std::vector<double> sums_;    // layers x quantities
  std::vector<double> fit_;     // kept rows x layers x quantities
  int kept_ = 0;
};

// All records of a configuration, joined.
struct Joined {
  int64_t rows = 0, kept = 0;
  std::vector<double> sums, fit;
};

Joined Join(const ModelShape& shape, const std::vector<const Json*>& records) {
  const size_t width = static_cast<size_t>(shape.layers) * kQuantities;
  Joined joined;
  joined.sums.resize(width);
  for (const Json* record : records) {
    const int64_t rows = record->at("rows").get<int64_t>(), kept = record->at("kept").get<int64_t>();
    if (rows < 1 || kept < 0 || kept > rows || kept > 4096) throw RecordError("numbers of rows make no sense");
    const std::vector<double> sums = UnpackDoubles(record->at("sums"), width);
    for (size_t i = 0; i < width; ++i) joined.sums[i] += sums[i];
    const std::vector<double> fit = UnpackDoubles(record->at("fit"), static_cast<size_t>(kept) * width);
    joined.fit.insert(joined.fit.end(), fit.begin(), fit.end());
    joined.rows += rows;
    joined.kept += kept;
  }
  return joined;
}

LayerAttribution FitLayer(const Joined& joined, const ModelShape& shape, int layer) {
  std::array<std::vector<double>, kQuantities> q;
  for (int64_t row = 0; row < joined.kept; ++row) {
    for (int i = 0; i < kQuantities; ++i) q[i].push_back(joined.fit[(row * shape.layers + layer) * kQuantities + i]);
  }
  std::array<double, kQuantities> mean;
  for (int i = 0; i < kQuantities; ++i) {
    mean[i] = joined.sums[layer * kQuantities + i] / static_cast<double>(joined.rows);
  }
  LayerAttribution out{.e_in = mean[kIn], .e_post = mean[kPost], .e_next = mean[kNext], .e_k = mean[kK],
                       .e_pk = mean[kPK], .j_a = mean[kJA], .j_m = mean[kJM]};
  const PlaneFit attention = FitPlane(q[kIn], q[kPK], q[kJA]);
  out.lambda_k = FitLine(q[kIn], q[kK]).slope;
  out.lambda_m = FitLine(q[kPost], q[kJM]).slope;
  out.lambda_in = attention.first;
  out.lambda_pk = attention.second;
  out.settled = attention.settled;
  out.beta_k = mean[kK] - out.lambda_k * mean[kIn];
  out.beta_a = mean[kJA] - out.lambda_in * mean[kIn] - out.lambda_pk * mean[kPK];
  out.beta_m = mean[kJM] - out.lambda_m * mean[kPost];
  return out;
}

}  // namespace

absl::StatusOr<Json> MeasureAttribution(const AttributionRequest& request, const Sequence& sequence,
                                        const ModelShape& shape, UnitContext& context) {
  return Measurement(request, sequence, shape).Run(context);
}

Attribution Attribute(const std::string& configuration, const ModelShape& shape,
                      const std::vector<const Json*>& records) {
  const Joined joined = Join(shape, records);
  Attribution result;
  result.configuration = configuration;
  result.rows = joined.rows;
  result.fitted_rows = joined.kept;
  result.layers.resize(shape.layers);
  ParallelFor(shape.layers, [&](int layer) { result.layers[layer] = FitLayer(joined, shape, layer); });
  std::vector<Shares> local;
  for (LayerAttribution& out : result.layers) {
    const Shares shares = LocalShares({.beta_a = out.beta_a, .beta_k = out.beta_k, .beta_m = out.beta_m,
                                       .lambda_pk = out.lambda_pk, .e_post = out.e_post, .e_next = out.e_next});
    out.share_a = shares.attention;
    out.share_k = shares.kv;
    out.share_m = shares.mlp;
    local.push_back(shares);
  }
  const Allocation allocation = Allocate(local);
  for (int layer = 0; layer < shape.layers; ++layer) {
    result.layers[layer].attention = allocation.layers[layer].attention;
    result.layers[layer].kv = allocation.layers[layer].kv;
    result.layers[layer].mlp = allocation.layers[layer].mlp;
  }
  result.attention = allocation.total.attention;
  result.kv = allocation.total.kv;
  result.mlp = allocation.total.mlp;
  result.remainder = allocation.remainder;
  return result;
}

int KeptRows(const ModelShape& shape, int prompts, int fitted) {
  const int64_t row_bytes = int64_t{shape.layers} * kQuantities * 11;
  return static_cast<int>(std::clamp<int64_t>((fitted + prompts - 1) / prompts, 1,
                                              std::max<int64_t>(1, kMostKeptBytes / row_bytes)));
}

}  // namespace samebits::heal
