#include "tests/unit/client/render/heal_samples.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace samebits::render {

heal::EvaluateResult SampleEvaluate() {
  heal::EvaluateResult result;
  result.anchor = {.configuration = "fp32", .prompts = 100, .answers_known = true};
  const auto add = [&](const char* name, double mse, double rate) {
    heal::ConfigurationOutcome c;
    c.configuration = name;
    c.mse = {mse, mse * 0.2, 5000};
    c.flip_rate = {rate, 0.012, 3};
    result.configurations.push_back(c);
  };
  add("bf16", 2.1e-3, 0.23);
  add("fp16", 4e-5, 0.11);
  add("tf32", 6e-6, 0.08);
  add("fp32", 0, 0.02);
  add("heal-base", 9e-6, 0.081);
  add("heal+", 2.5e-6, 0.05);
  add("heal-full", 4e-7, 0.03);
  return result;
}

heal::AttributeResult SampleAttribute(int layers) {
  heal::AttributeResult result;
  result.anchor.configuration = "fp32";
  for (const char* name : {"bf16", "heal-base"}) {
    heal::Attribution a;
    a.configuration = name;
    for (int i = 0; i < layers; ++i) {
      heal::LayerAttribution l;
      const double weight = (0.5 + std::sin(i * 0.7) * 0.3 + i * 0.02) / layers;
      l.attention = 0.3 * weight;
      l.mlp = 0.5 * weight;
      l.kv = 0.2 * weight;
      l.e_next = 1e-8 * std::exp(0.3 * i);
      a.attention += l.attention;
      a.mlp += l.mlp;
      a.kv += l.kv;
      a.layers.push_back(l);
    }
    a.remainder = 1 - a.attention - a.mlp - a.kv;
    result.configurations.push_back(a);
  }
  return result;
}

heal::DecomposeResult SampleDecompose() {
  heal::DecomposeResult result;
  result.configuration = "bf16";
  const auto add = [&](heal::OperatorFamily family, std::vector<double> ratios) { result.families.push_back({family, heal::MakeBoxPlot(std::move(ratios)), 0}); };
  add(heal::OperatorFamily::kRmsNorm, {0.001, 0.002, 0.0015, 0.003, 0.012});
  add(heal::OperatorFamily::kRope, {0, 0, 0.0001});
  add(heal::OperatorFamily::kGemm, {0.002, 0.004, 0.003, 0.001, 0.006});
  add(heal::OperatorFamily::kSwiGlu, {0.001, 0.002, 0.01, -0.004});
  add(heal::OperatorFamily::kAttention, {0.11, 0.2, 0.25, 0.4, 0.22, 0.18, 0.31, 0.9});
  return result;
}

heal::SweepResult SampleSweep() {
  heal::SweepResult result;
  result.anchor.configuration = "fp32";
  for (int bits = 3; bits <= 22; ++bits)
    result.points.push_back({"trunc:" + std::to_string(bits), bits, {std::exp2(-2.0 * bits), 0, 100}, {std::max(0.02, 0.7 * std::exp2(-0.35 * (bits - 3))), 0.015, 3}});
  result.points.push_back({"bf16", 7, {1e-3, 0, 100}, {0.2, 0.02, 3}});
  result.points.push_back({"fp16", 10, {1e-5, 0, 100}, {0.1, 0.02, 3}});
  result.points.push_back({"tf32", 10, {1e-5, 0, 100}, {0.09, 0.02, 3}});
  result.points.push_back({"fp32", 23, {0, 0, 100}, {0.02, 0.01, 3}});
  result.tolerated_rate = 0.025;
  result.threshold_bits = 17;
  result.threshold_mse = 1e-8;
  return result;
}

heal::QkvResult SampleQkv() {
  heal::QkvResult result;
  for (const char* configuration : {"bf16", "fp32"}) {
    for (const bool per_head : {true, false}) {
      for (int t = 0; t < 3; ++t) {
        heal::QkvDistribution d;
        d.configuration = configuration;
        d.per_head = per_head;
        d.tensor = static_cast<heal::QkvTensor>(t);
        d.histogram.assign(heal::kQkvBins, 0);
        const double centre = 3 + 1.8 * t + (per_head ? 0 : 4);
        for (int i = 0; i < heal::kQkvBins; ++i) d.histogram[i] = static_cast<int64_t>(1000 * std::exp(-std::pow((i * heal::kQkvBin - centre) / (1 + t), 2)));
        if (t == 1) d.histogram.back() = 40;
        for (const int64_t count : d.histogram) d.tensors += count;
        d.ratio_median = centre;
        d.halved = 0.9 - 0.2 * t;
        result.distributions.push_back(d);
      }
    }
  }
  return result;
}

heal::PolicyResult SamplePolicy() {
  heal::PolicyResult result;
  result.variant = "heal++";
  result.budget = 1.2;
  for (const bool prefix : {false, true})
    for (int skipped = 1; skipped <= 12; ++skipped)
      result.points.push_back({prefix, skipped, "heal++:" + std::to_string(skipped), 1e-6, 1 + (prefix ? 0.02 : 0.03) * skipped, true});
  result.skipped = 10;
  result.configuration = "heal++:10";
  return result;
}

heal::ServeCostResult SampleServeCost() {
  heal::ServeCostResult result;
  result.baseline = "bf16";
  for (const int context : {2048, 8192})
    for (const int batch : {1, 16, 64}) {
      const auto add = [&](const char* name, double overhead) {
        heal::ServeCostRow row;
        row.configuration = name;
        row.batch = batch;
        row.context = context;
        row.milliseconds = {5 * (1 + overhead), 0.01, 3};
        row.overhead = {overhead, 0.004, 3};
        result.rows.push_back(row);
      };
      add("bf16", 0);
      add("heal-base", 0.012 - 0.0004 * batch);
      add("heal+", 0.05 + 0.0003 * batch);
      add("heal-full", 0.12 + 0.0005 * batch);
      add("fp32", 3.1 + 0.05 * batch);
      if (batch == 64) {
        result.rows.back().missing = "does not fit: 190 GiB of 141";
        result.rows.back().milliseconds = result.rows.back().overhead = {};
      }
    }
  return result;
}

}  // namespace samebits::render
