#include "core/gemm/emulator.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/gemm/panel.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/convert.h"

namespace samebits::gemm {
namespace {

using softfloat::Format;
using softfloat::MatrixElement;
using softfloat::Rounding;

int ThreadCount(int threads, size_t panels) {
  const int cores = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::min<size_t>(cores, panels));
}

void RunPanel(const Plan& plan, const Operand& a, const Operand& b, std::span<const Output> outputs, uint64_t* results) {
  std::array<uint64_t, kLanes> lanes;
  const uint32_t hard = Panel(plan, a, b, outputs).Run(plan, &lanes);
  for (size_t l = 0; l < outputs.size(); ++l) {
    results[l] = (hard >> l & 1) != 0 ? AccumulateReference(plan, a, b, outputs[l]) : lanes[l];
  }
}

uint64_t RoundThrough(const Format& accumulate, FormatId type, uint64_t value) {
  if (type == accumulate.id) return value;
  const Format& narrow = FormatOf(type);
  return ConvertFloat(accumulate, narrow, ConvertFloat(narrow, accumulate, value, Rounding::kRn), Rounding::kRn);
}

// The groups of one chain, from zero.
class ReferenceChain {
 public:
  ReferenceChain(const Plan& plan, const Operand& a, const Operand& b, Output output)
      : plan_(plan), a_(a), b_(b), output_(output), accumulate_(FormatOf(plan.accumulate_type)) {}

  uint64_t Run(const PlanStep& step) const {
    uint64_t c = 0;
    for (int64_t g = step.begin; g < step.end; ++g) c = Group(plan_.group_begin[g], plan_.group_begin[g + 1], c);
    return c;
  }

 private:
  uint64_t Group(int64_t begin, int64_t end, uint64_t c) const {
    if (!plan_.arithmetic.unit) {
      for (int64_t i = begin; i < end; ++i) c = Scalar(plan_.order[i], c);
      return c;
    }
    softfloat::MatrixUnit unit = *plan_.arithmetic.unit;
    unit.rule = softfloat::MatrixRule::kTruncatedSum;  // plans spell pairs out
    std::vector<MatrixElement> x, y;
    for (int64_t i = begin; i < end; ++i) {
      x.push_back(softfloat::DecodeElement(FormatOf(a_.type()), a_.pattern(output_.row, plan_.order[i])));
      y.push_back(softfloat::DecodeElement(FormatOf(b_.type()), b_.pattern(output_.column, plan_.order[i])));
    }
    return Dot(unit, x, y, c);
  }

  uint64_t Scalar(int32_t index, uint64_t c) const {
    const uint64_t x = Widen(a_, output_.row, index), y = Widen(b_, output_.column, index);
    if (plan_.arithmetic.instruction != Instruction::kMulAdd) return Fma(accumulate_, x, y, c);
    return Add(accumulate_, Mul(accumulate_, x, y), c);
  }

  uint64_t Widen(const Operand& operand, int64_t row, int32_t index) const {
    return ConvertFloat(accumulate_, FormatOf(operand.type()), operand.pattern(row, index), Rounding::kRn);
  }

  const Plan& plan_;
  const Operand &a_, &b_;
  const Output output_;
  const Format& accumulate_;
};

}  // namespace

uint64_t AccumulateReference(const Plan& plan, const Operand& a, const Operand& b, Output output) {
  const ReferenceChain chain(plan, a, b, output);
  const Format& accumulate = FormatOf(plan.accumulate_type);
  std::vector<uint64_t> stack;
  for (const PlanStep& step : plan.steps) {
    switch (step.kind) {
      case PlanStep::Kind::kChain:
        stack.push_back(chain.Run(step));
        break;
      case PlanStep::Kind::kAdd: {
        const uint64_t right = stack.back();
        stack.pop_back();
        // f16 sums are exact at f32 or round there without harm
        stack.back() = RoundThrough(accumulate, step.type, Add(accumulate, stack.back(), right));
        break;
      }
      case PlanStep::Kind::kRound:
        stack.back() = RoundThrough(accumulate, step.type, stack.back());
        break;
    }
  }
  return stack.back();
}

std::vector<uint64_t> Accumulate(const Plan& plan, const Operand& a, const Operand& b, std::span<const Output> outputs,
                                 int threads) {
  std::vector<uint64_t> results(outputs.size());
  const size_t panels = (outputs.size() + kLanes - 1) / kLanes;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t p = next++; p < panels; p = next++) {
      const size_t begin = p * kLanes, count = std::min<size_t>(kLanes, outputs.size() - begin);
      RunPanel(plan, a, b, outputs.subspan(begin, count), &results[begin]);
    }
  };
  const int workers = ThreadCount(threads, panels);
  std::vector<std::thread> pool;
  for (int i = 1; i < workers; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return results;
}

namespace {

// One output's epilogue at `format`.
uint64_t ApplyEpilogue(const Epilogue& e, const Format& format, const Format& output, uint64_t t,
                       const EpilogueOperands& operands, size_t index, int64_t column) {
  const auto widen = [&](uint64_t pattern) { return ConvertFloat(format, output, pattern, Rounding::kRn); };
  if (e.alpha == AlphaStep::kMultiply) t = Mul(format, operands.alpha, t);
  if (e.beta == BetaStep::kFused) t = Fma(format, operands.beta, widen(operands.c[index]), t);
  if (e.beta == BetaStep::kMultiplyAdd) t = Add(format, Mul(format, operands.beta, widen(operands.c[index])), t);
  if (e.bias == BiasStep::kAdd) t = Add(format, t, widen(operands.bias[column]));
  if (e.activation == Activation::kRelu && (IsNan(format, t) || IsNegative(format, t))) t = 0;
  return t;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> Finish(const GemmDesc& desc, std::span<const uint64_t> accumulated,
                                             std::span<const Output> outputs, const EpilogueOperands& operands) {
  const Format& accumulate = FormatOf(desc.accumulate_type);
  const Format& output = FormatOf(desc.output_type);
  const Format& middle = desc.accumulate_type == FormatId::kF64 ? softfloat::kF64 : softfloat::kF32;
  if (desc.epilogue.beta != BetaStep::kNone && operands.c.size() != outputs.size()) {
    return absl::InvalidArgumentError("beta: C must hold one value per output");
  }
  if (desc.epilogue.bias != BiasStep::kNone) {
    for (const Output& o : outputs) {
      if (o.column >= static_cast<int64_t>(operands.bias.size())) {
        return absl::InvalidArgumentError("bias: one value per column is needed");
      }
    }
  }
  std::vector<uint64_t> results(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint64_t t = ConvertFloat(middle, accumulate, accumulated[i], Rounding::kRn);
    t = ApplyEpilogue(desc.epilogue, middle, output, t, operands, i, outputs[i].column);
    results[i] = ConvertFloat(output, middle, t, Rounding::kRn);
  }
  return results;
}

namespace {

absl::Status CheckSize(const char* name, std::span<const uint8_t> bytes, FormatId type, int64_t elements) {
  if (static_cast<int64_t>(bytes.size()) == elements * BytesOf(type)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", bytes.size(), " bytes, ", elements * BytesOf(type),
                                                 " are needed (", elements, " elements)"));
}

absl::Status CheckOperands(const GemmDesc& d, const GemmOperands& o) {
  constexpr int64_t kMaxSide = int64_t{1} << 24, kMaxElements = int64_t{1} << 30;
  if (o.m < 1 || o.n < 1 || o.m > kMaxSide || o.n > kMaxSide || o.k < 0 || o.k > kMaxK || o.m * o.n > kMaxElements ||
      (o.m + o.n) * o.k > kMaxElements) {
    return absl::InvalidArgumentError("shape: m and n must be 1 to 2^24, k 0 to 2^24, all together at most 2^30 elements");
  }
  if (absl::Status s = CheckSize("A", o.a, d.a_type, o.m * o.k); !s.ok()) return s;
  if (absl::Status s = CheckSize("B", o.b, d.b_type, o.n * o.k); !s.ok()) return s;
  if (d.epilogue.beta != BetaStep::kNone) {
    if (absl::Status s = CheckSize("C", o.c, d.output_type, o.m * o.n); !s.ok()) return s;
  }
  if (d.epilogue.bias != BiasStep::kNone) return CheckSize("bias", o.bias, d.output_type, o.n);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Emulate(const GemmDesc& desc, int sm, const GemmOperands& o, int threads) {
  if (absl::Status status = Validate(desc, o.k); !status.ok()) return status;
  if (absl::Status status = CheckOperands(desc, o); !status.ok()) return status;
  const absl::StatusOr<Plan> plan = Compile(desc, o.k, sm);
  if (!plan.ok()) return plan.status();
  const bool scalar = !plan->arithmetic.unit.has_value();
  const Operand a(desc.a_type, o.m, o.k, LoadPatterns(o.a, desc.a_type), scalar);
  const Operand b(desc.b_type, o.n, o.k, LoadPatterns(o.b, desc.b_type), scalar);
  std::vector<Output> outputs;
  outputs.reserve(o.m * o.n);
  for (int64_t i = 0; i < o.m; ++i) {
    for (int64_t j = 0; j < o.n; ++j) outputs.push_back({i, j});
  }
  const std::vector<uint64_t> sums = Accumulate(*plan, a, b, outputs, threads);
  const bool has_c = desc.epilogue.beta != BetaStep::kNone, has_bias = desc.epilogue.bias != BiasStep::kNone;
  const std::vector<uint64_t> c = has_c ? LoadPatterns(o.c, desc.output_type) : std::vector<uint64_t>();
  const std::vector<uint64_t> bias = has_bias ? LoadPatterns(o.bias, desc.output_type) : std::vector<uint64_t>();
  const absl::StatusOr<std::vector<uint64_t>> results = Finish(desc, sums, outputs, {o.alpha, o.beta, c, bias});
  if (!results.ok()) return results.status();
  std::vector<uint8_t> bytes(results->size() * BytesOf(desc.output_type));
  for (size_t i = 0; i < results->size(); ++i) StoreElement(bytes, desc.output_type, i, (*results)[i]);
  return bytes;
}

}  // namespace samebits::gemm
