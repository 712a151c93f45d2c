#include "client/cli/heal_report.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"
#include "client/cli/text_table.h"
#include "proto/convert/numerics/numerics.h"

namespace samebits::cli {
namespace {

using heal::MeanSem;

std::string Number(double x) { return std::isnan(x) ? "-" : absl::StrFormat("%.3e", x); }
std::string Percent(double x) { return std::isnan(x) ? "-" : absl::StrFormat("%.2f %%", 100 * x); }
std::string Fixed(double x) { return std::isnan(x) ? "-" : absl::StrFormat("%.3f", x); }

std::string WithSem(const MeanSem& m, std::string (*show)(double)) {
  if (m.count == 0) return "-";
  return std::isnan(m.sem) ? show(m.mean) : absl::StrCat(show(m.mean), " ± ", show(m.sem));
}

std::string Bytes(int64_t bytes) {
  return bytes < 10 << 20 ? absl::StrFormat("%d KiB", bytes >> 10) : absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Anchor(const heal::AnchorOutcome& anchor) {
  std::string out = absl::StrCat("anchor ", OneLine(anchor.configuration), ": ", anchor.prompts, " prompts, ",
                                 anchor.generated_tokens, " generated tokens, median ", anchor.median_length, ", ",
                                 anchor.cut_off, " cut off");
  if (anchor.answers_known) absl::StrAppend(&out, "; ", anchor.parsed, " answers read");
  if (anchor.expected != 0 && anchor.answers_known)
    absl::StrAppend(&out, ", ", anchor.correct, " of ", anchor.expected, " right");
  return out + "\n";
}

std::string Report(const heal::EvaluateResult& r, const Style& style) {
  TextTable table({"configuration", "final hidden MSE", "answer flips", "other sequences"});
  for (const heal::ConfigurationOutcome& c : r.configurations)
    table.Add({c.configuration, WithSem(c.mse, Number), WithSem(c.flip_rate, Percent), WithSem(c.divergence_rate, Percent)});
  std::string out = Anchor(r.anchor) + table.Text(style);
  for (const heal::ConfigurationOutcome& c : r.configurations)
    for (const heal::ScheduleOutcome& s : c.schedules)
      if (!s.failure.empty())
        absl::StrAppend(&out, OneLine(c.configuration), ", ", NameOf(s.schedule), ": not measured: ", OneLine(s.failure), "\n");
  if (!r.anchor.answers_known) out += "answers are unknown: a flip is another sequence\n";
  return out;
}

std::string Report(const heal::AttributeResult& r, const Style& style) {
  std::string out = Anchor(r.anchor);
  for (const heal::Attribution& a : r.configurations) {
    absl::StrAppend(&out, style.Bold(OneLine(a.configuration)), ": attention ", Percent(a.attention), ", KV cache ",
                    Percent(a.kv), ", MLP ", Percent(a.mlp), ", remainder ", Percent(a.remainder), " (", a.rows,
                    " rows, slopes from ", a.fitted_rows, ")\n");
    TextTable table({"layer", "attention", "KV cache", "MLP", "MSE after it"});
    for (size_t i = 0; i < a.layers.size(); ++i) {
      const heal::LayerAttribution& l = a.layers[i];
      table.Add({absl::StrCat(i, l.settled ? "" : " (fit not settled)"), Percent(l.attention), Percent(l.kv),
                 Percent(l.mlp), Number(l.e_next)});
    }
    out += table.Text(style);
  }
  return out;
}

std::string Report(const heal::DecomposeResult& r, const Style& style) {
  TextTable table({"operators", "instances", "least", "first quartile", "median", "third quartile", "most", "without error"});
  std::string overflows;
  for (const heal::FamilyOutcome& f : r.families) {
    const int64_t overflown = std::count_if(r.operators.begin(), r.operators.end(), [&](const heal::OperatorOutcome& one) {
      return one.instance.family == f.family && std::isnan(one.ratio) && one.total != 0;
    });
    table.Add({NameOf(f.family), absl::StrCat(f.ratio.count), Percent(f.ratio.least), Percent(f.ratio.first),
               Percent(f.ratio.median), Percent(f.ratio.third), Percent(f.ratio.most),
               absl::StrCat(f.undefined - overflown)});
    if (overflown != 0)
      absl::StrAppend(&overflows, NameOf(f.family), ": ", overflown, " without a share: not finite under ",
                      OneLine(r.configuration), "\n");
  }
  return absl::StrCat(Anchor(r.anchor), "share of arithmetic in the error of ", OneLine(r.configuration), "\n",
                      table.Text(style), overflows);
}

std::string Report(const heal::SweepResult& r, const Style& style) {
  TextTable table({"configuration", "bits", "final hidden MSE", "answer flips"});
  for (const heal::SweepPoint& p : r.points)
    table.Add({p.configuration, p.bits < 0 ? "-" : absl::StrCat(p.bits), WithSem(p.mse, Number), WithSem(p.flip_rate, Percent)});
  std::string out = Anchor(r.anchor) + table.Text(style);
  for (const heal::SweepPoint& p : r.points)
    if (p.flip_rate.count == 0) absl::StrAppend(&out, OneLine(p.configuration), ": not measured: its values are not finite\n");
  absl::StrAppend(&out, "tolerated flip rate ", Percent(r.tolerated_rate), ": ");
  if (r.threshold_bits)
    absl::StrAppend(&out, "reached from ", *r.threshold_bits, " bits on, MSE ", Number(r.threshold_mse), "\n");
  else
    out += "not reached by the widest\n";
  return out;
}

std::string Report(const heal::QkvResult& r, const Style& style) {
  TextTable table({"configuration", "tensor", "a", "AbsMax/sigma", "median", "most", "halved", "INT16 predicted", "measured",
                   "FP16 predicted", "measured"});
  for (const heal::QkvDistribution& d : r.distributions) {
    if (d.layer >= 0) continue;
    table.Add({d.configuration, NameOf(d.tensor), d.per_head ? "head" : "token", WithSem(d.ratio, Fixed),
               Fixed(d.ratio_median), Fixed(d.ratio_most), Percent(d.halved), Number(d.predicted_int16),
               Number(d.measured_int16), Number(d.predicted_f16), Number(d.measured_f16)});
  }
  return Anchor(r.anchor) + table.Text(style);
}

std::string Report(const heal::PolicyResult& r, const Style& style) {
  TextTable table({"configuration", "order", "skipped", "median MSE", "over unskipped", "within budget"});
  for (const heal::PolicyPoint& p : r.points)
    table.Add({p.configuration, p.prefix ? "prefix" : "contribution", absl::StrCat(p.skipped), Number(p.median_mse),
               Fixed(p.ratio), p.within ? "yes" : "no"});
  return absl::StrCat(Anchor(r.anchor), OneLine(r.variant), " unskipped: median MSE ", Number(r.unskipped_mse),
                      ", budget ", Fixed(r.budget), "\n", table.Text(style), "policy: ",
                      style.Bold(OneLine(r.configuration)), ", ", r.skipped, " layers skipped",
                      r.skipped == 0 ? "" : r.prefix ? " from the first on" : " of least contribution", "\n");
}

std::string Report(const heal::ServeCostResult& r, const Style& style) {
  TextTable table({"configuration", "batch", "context", "ms per token", "over baseline", "floor", "KV cache", "weights", "memory"});
  std::string missing;
  for (const heal::ServeCostRow& row : r.rows) {
    table.Add({row.configuration, absl::StrCat(row.batch), absl::StrCat(row.context), WithSem(row.milliseconds, Fixed),
               WithSem(row.overhead, Percent), Fixed(row.floor_milliseconds), Bytes(row.kv_bytes), Bytes(row.weight_bytes),
               Bytes(row.memory_bytes)});
    if (!row.missing.empty())
      absl::StrAppend(&missing, OneLine(row.configuration), ", batch ", row.batch, ", context ", row.context, ": ",
                      OneLine(row.missing), "\n");
  }
  std::string out = table.Text(style) + missing;
  if (r.copy_bandwidth.count != 0) absl::StrAppendFormat(&out, "copy bandwidth %.3f TB/s\n", r.copy_bandwidth.mean / 1e12);
  return out;
}

std::string Report(const heal::MixReport& r, const Style&) { return heal::MixTable(heal::RowsOf(r)); }

}  // namespace

std::string HumanNumerics(const heal::JobResult& result, const Layout& layout) {
  return std::visit([&](const auto& r) { return Report(r, layout.style); }, result);
}

std::string HumanNumerics(const v1::NumericsResult& result, const Layout& layout) {
  const absl::StatusOr<heal::JobResult> read = proto::ResultFromProto(result);
  const std::string engine = OneLine(result.engine());
  const std::string head = result.model().empty() ? absl::StrCat("read with ", engine, "\n")
                                                  : absl::StrCat("model ", OneLine(result.model()), " on ", engine, "\n");
  return head + (read.ok() ? HumanNumerics(*read, layout) : absl::StrCat(std::string(read.status().message()), "\n"));
}

}  // namespace samebits::cli
