// The CUDA engine on a machine with a GPU: against the CPU reference, configurations against FP32, and decode times.
//
//   samebits_heal_probe compare MODEL [ROWS]                 every configuration, CUDA against the CPU reference
//   samebits_heal_probe operators MODEL [ROWS]               operators alone, CUDA against the CPU reference
//   samebits_heal_probe error MODEL [ROWS]                   final hidden MSE of every configuration against fp32, on CUDA
//   samebits_heal_probe time MODEL CONTEXT BATCH[,..] CONFIGURATION[,..] [ROUNDS [STEPS]]
//
// MODEL as `samebits heal --model` takes it: a path or synthetic:NAME:SEED. One line of JSON for each measurement.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/heal/model/checkpoint.h"
#include "core/heal/reference/reference_backend.h"
#include "workers/cuda/heal/cuda_backend.h"

namespace {

using samebits::heal::Backend;
using samebits::heal::Capacity;
using samebits::heal::Checkpoint;
using samebits::heal::Engine;
using samebits::heal::ForwardResult;

template <typename T>
T Must(absl::StatusOr<T> value, const char* what) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s: %s\n", what, std::string(value.status().message()).c_str());
  std::exit(1);
}
void Must(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, std::string(status.message()).c_str());
  std::exit(1);
}

std::unique_ptr<Engine> Open(Backend& backend, const std::string& name, const Capacity& capacity) {
  return Must(backend.Open(Must(samebits::heal::ParseConfiguration(name), "configuration"), capacity), name.c_str());
}

// `rows` tokens of one sequence, the first half in one call, then one by one.
ForwardResult Run(Engine& engine, int rows) {
  std::vector<int32_t> slot(rows, 0), position(rows), token(rows);
  for (int i = 0; i < rows; ++i) position[i] = i, token[i] = (i * 7919 + 13) % engine.shape().vocabulary;
  ForwardResult all;
  for (int first = 0, count = rows / 2; first < rows; first += count, count = 1) {
    ForwardResult part;
    const auto cut = [&](const std::vector<int32_t>& v) { return std::span(v).subspan(first, count); };
    Must(engine.Forward({cut(slot), cut(position), cut(token)}, {.hidden = true, .next_token = true}, &part),
         engine.configuration().name.c_str());
    all.hidden.insert(all.hidden.end(), part.hidden.begin(), part.hidden.end());
    all.next_token.insert(all.next_token.end(), part.next_token.begin(), part.next_token.end());
  }
  return all;
}

double MeanSquare(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum / a.size();
}

const char* const kConfigurations[] = {"fp32", "tf32", "bf16", "fp16", "heal-base", "heal+", "heal++:1", "heal-full",
                                       "heal-full:1", "trunc:10"};

void Compare(const std::string& model, int rows) {
  const auto checkpoint = Must(samebits::heal::OpenCheckpoint(model), "model");
  const auto cuda = Must(samebits::workers::OpenCudaBackend(checkpoint, 0), "CUDA");
  const auto cpu = Must(samebits::heal::OpenReferenceBackend(checkpoint, 8), "reference");
  const Capacity capacity{.slots = 1, .context = rows, .rows = rows};
  const std::vector<float> exact = Run(*Open(*cpu, "fp32", capacity), rows).hidden;
  for (const char* name : kConfigurations) {
    const ForwardResult a = Run(*Open(*cuda, name, capacity), rows), b = Run(*Open(*cpu, name, capacity), rows);
    const ForwardResult again = Run(*Open(*cuda, name, capacity), rows);
    int agree = 0;
    for (int i = 0; i < rows; ++i) agree += a.next_token[i] == b.next_token[i];
    std::printf("{\"configuration\": \"%s\", \"cuda_cpu_mse\": %.3e, \"cuda_fp32_mse\": %.3e, \"cpu_fp32_mse\": %.3e, "
                "\"same_tokens\": %d, \"rows\": %d, \"repeats\": %s}\n",
                name, MeanSquare(a.hidden, b.hidden), MeanSquare(a.hidden, exact), MeanSquare(b.hidden, exact), agree, rows,
                a.hidden == again.hidden ? "true" : "false");
    std::fflush(stdout);
  }
}


// Every operator of the first and last layers on the inputs that the FP32 pass gives it.
void CompareOperators(const std::string& model, int rows) {
  const auto checkpoint = Must(samebits::heal::OpenCheckpoint(model), "model");
  const auto cuda = Must(samebits::workers::OpenCudaBackend(checkpoint, 0), "CUDA");
  const auto cpu = Must(samebits::heal::OpenReferenceBackend(checkpoint, 8), "reference");
  const Capacity capacity{.slots = 1, .context = rows, .rows = rows};
  const auto source = Open(*cpu, "fp32", capacity);
  std::vector<int32_t> slot(rows, 0), position(rows), token(rows);
  for (int i = 0; i < rows; ++i) position[i] = i, token[i] = (i * 7919 + 13) % source->shape().vocabulary;
  std::map<std::pair<int, int>, std::vector<float>> seen;
  const samebits::heal::Tap tap = [&](samebits::heal::TapPoint point, int layer, std::span<const float> values) {
    seen[{layer, static_cast<int>(point)}].assign(values.begin(), values.end());
  };
  ForwardResult ignored;
  Must(source->Forward({slot, position, token}, {.hidden = true, .tap = tap}, &ignored), "taps");
  for (const char* name : {"fp32", "bf16", "fp16", "heal-base", "heal+", "heal-full", "trunc:10"}) {
    const auto a = Open(*cuda, name, capacity), b = Open(*cpu, name, capacity);
    for (const auto& instance : samebits::heal::OperatorsOf(source->shape())) {
      if (instance.layer != 0 && instance.layer != source->shape().layers - 1) continue;
      using samebits::heal::TapPoint;
      const samebits::heal::OperatorInput input{
          .x = seen[{instance.layer, static_cast<int>(instance.reads)}], .position = position,
          .key = seen[{instance.layer, static_cast<int>(TapPoint::kKey)}],
          .value = seen[{instance.layer, static_cast<int>(TapPoint::kValue)}]};
      const std::vector<float> x = Must(a->Apply(instance, input), "CUDA"), y = Must(b->Apply(instance, input), "reference");
      double squares = 0;
      int64_t equal = 0;
      for (size_t i = 0; i < y.size(); ++i) squares += double{y[i]} * y[i], equal += x[i] == y[i];
      std::printf("{\"configuration\": \"%s\", \"operator\": \"%s\", \"layer\": %d, \"reads\": %d, \"relative\": %.2e, "
                  "\"equal\": %.6f}\n",
                  name, samebits::heal::NameOf(instance.family), instance.layer, static_cast<int>(instance.reads),
                  std::sqrt(MeanSquare(x, y) * y.size() / squares), double(equal) / y.size());
    }
  }
}

void Error(const std::string& model, int rows) {
  const auto checkpoint = Must(samebits::heal::OpenCheckpoint(model), "model");
  const auto cuda = Must(samebits::workers::OpenCudaBackend(checkpoint, 0), "CUDA");
  const Capacity capacity{.slots = 1, .context = rows, .rows = rows};
  const std::vector<float> exact = Run(*Open(*cuda, "fp32", capacity), rows).hidden;
  for (const char* name : kConfigurations) {
    std::printf("{\"configuration\": \"%s\", \"fp32_mse\": %.3e}\n", name,
                MeanSquare(Run(*Open(*cuda, name, capacity), rows).hidden, exact));
    std::fflush(stdout);
  }
}

void Time(const std::string& model, int context, const std::string& batches, const std::string& configurations, int rounds, int steps) {
  const auto checkpoint = Must(samebits::heal::OpenCheckpoint(model), "model");
  const auto cuda = Must(samebits::workers::OpenCudaBackend(checkpoint, 0), "CUDA");
  const double bandwidth = Must(cuda->CopyBandwidth(), "copy");
  std::printf("{\"device\": \"%s\", \"copy_bandwidth\": %.4e}\n", cuda->Describe().c_str(), bandwidth);
  const int warmup = std::min(4, steps);
  for (const auto& batch_text : absl::StrSplit(batches, ',')) {
    const int batch = std::atoi(std::string(batch_text).c_str());
    for (int round = 0; round < rounds; ++round) {
      for (const auto& name : absl::StrSplit(configurations, ',')) {
        const Capacity capacity{.slots = batch, .context = context + warmup + steps + 8, .rows = batch};
        const auto engine = Open(*cuda, std::string(name), capacity);
        samebits::heal::DecodeTiming timing = Must(engine->TimeDecode(batch, context, warmup, steps), "decode");
        std::sort(timing.milliseconds.begin(), timing.milliseconds.end());
        const double median = timing.milliseconds[steps / 2];
        std::printf("{\"model\": \"%s\", \"batch\": %d, \"configuration\": \"%s\", \"milliseconds\": %.4f, \"least\": %.4f, "
                    "\"weight_floor\": %.4f, \"kv_floor\": %.4f, \"kv_bytes\": %lld}\n",
                    model.c_str(), batch, std::string(name).c_str(), median, timing.milliseconds[0],
                    timing.weight_bytes / bandwidth * 1e3, timing.kv_bytes / bandwidth * 1e3,
                    static_cast<long long>(timing.kv_bytes));
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "operators") {
    CompareOperators(argv[2], argc > 3 ? std::atoi(argv[3]) : 24);
  } else if (command == "compare") {
    Compare(argv[2], argc > 3 ? std::atoi(argv[3]) : 24);
  } else if (command == "error") {
    Error(argv[2], argc > 3 ? std::atoi(argv[3]) : 64);
  } else if (command == "time" && argc > 5) {
    Time(argv[2], std::atoi(argv[3]), argv[4], argv[5], argc > 6 ? std::atoi(argv[6]) : 1,
         argc > 7 ? std::atoi(argv[7]) : 24);
  } else {
    std::fprintf(stderr, "usage: samebits_heal_probe compare|operators|error MODEL [ROWS] | time MODEL CONTEXT BATCHES CONFIGURATIONS [ROUNDS [STEPS]]\n");
    return 2;
  }
}
