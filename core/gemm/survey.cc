#include "core/gemm/survey.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"
#include "core/gemm/panel.h"

namespace samebits::gemm {
namespace {

struct Candidate {
  GemmDesc desc;
  Plan plan;
};

// A draw's operands as both kinds of instruction need them, made when first asked for.
class DecodedDraw {
 public:
  DecodedDraw(const GemmProblem& problem, const DrawnOperands& drawn) : problem_(problem), drawn_(drawn) {}

  // Whether the candidate gives the library's outputs; the first few decide most cases.
  absl::StatusOr<bool> Reproduces(const Candidate& candidate, const std::vector<uint64_t>& library) {
    const std::span<const Output> outputs = drawn_.outputs;
    const size_t few = std::min<size_t>(kLanes, outputs.size());
    for (const auto& [begin, count] : {std::pair<size_t, size_t>{0, few}, {few, outputs.size() - few}}) {
      if (count == 0) continue;
      const auto own = Run(candidate, outputs.subspan(begin, count));
      if (!own.ok()) return own.status();
      if (!std::equal(own->begin(), own->end(), library.begin() + begin)) return false;
    }
    return true;
  }

 private:
  absl::StatusOr<std::vector<uint64_t>> Run(const Candidate& candidate, std::span<const Output> outputs) {
    const bool scalar = !candidate.plan.arithmetic.unit.has_value();
    std::optional<std::pair<Operand, Operand>>& operands = scalar ? scalar_ : matrix_;
    if (!operands) {
      operands.emplace(Operand(problem_.a_type, drawn_.a.index.size(), problem_.k, drawn_.a.patterns, scalar),
                       Operand(problem_.b_type, drawn_.b.index.size(), problem_.k, drawn_.b.patterns, scalar));
    }
    return Finish(candidate.desc, Accumulate(candidate.plan, operands->first, operands->second, outputs), outputs, {});
  }

  const GemmProblem& problem_;
  const DrawnOperands& drawn_;
  std::optional<std::pair<Operand, Operand>> scalar_, matrix_;
};

class Study {
 public:
  Study(BlackBox* box, RuleBook* book, const GemmProblem& problem, const SurveyOptions& options)
      : box_(box), book_(book), options_(options) {
    shape_.problem = problem;
    shape_.summed_k = problem.k;
  }

  absl::StatusOr<SurveyedShape> Run() {
    if (!box_->tells_algorithm()) return RunWithoutAlgorithm();
    absl::StatusOr<Algorithm> algorithm = box_->Choose(shape_.problem);
    if (absl::IsUnimplemented(algorithm.status())) {
      shape_.supported = false;
      shape_.reason = std::string(algorithm.status().message());
      return shape_;
    }
    if (!algorithm.ok()) return algorithm.status();
    shape_.algorithm = *algorithm;
    if (absl::Status status = Predict(); !status.ok()) return status;
    if (!shape_.explained) {
      if (absl::Status status = RecoverIt(); !status.ok()) return status;
    }
    if (options_.learns && shape_.explained && !shape_.defect()) book_->Learn(shape_.problem, shape_.algorithm, shape_.desc);
    return shape_;
  }

 private:
  // Rules are kept by algorithm: there is nothing to predict from, and nothing to learn.
  absl::StatusOr<SurveyedShape> RunWithoutAlgorithm() {
    const absl::Status status = RecoverIt();
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
    if (!status.ok()) {
      shape_.supported = false;
      shape_.reason = std::string(status.message());
    }
    return shape_;
  }

  absl::Status Predict() {
    std::vector<Candidate> alive;
    for (GemmDesc& desc : book_->Candidates(shape_.problem, shape_.algorithm, options_.most_candidates)) {
      absl::StatusOr<Plan> plan = Compile(desc, shape_.problem.k, box_->sm());
      if (plan.ok()) alive.push_back({std::move(desc), *std::move(plan)});
    }
    int64_t outputs = 0;
    for (int draw = 0; draw < options_.draws && !alive.empty(); ++draw) {
      // the most telling distribution first
      const DrawnOperands drawn = DrawOperands(shape_.problem, options_.sample_side, options_.seed + draw, draw + 3);
      ++shape_.launches;
      const auto library = box_->Multiply(shape_.problem, drawn.a, drawn.b, drawn.outputs);
      if (!library.ok()) return library.status();
      outputs += static_cast<int64_t>(drawn.outputs.size());
      DecodedDraw decoded(shape_.problem, drawn);
      std::vector<Candidate> left;
      for (Candidate& candidate : alive) {
        const absl::StatusOr<bool> reproduces = decoded.Reproduces(candidate, *library);
        if (!reproduces.ok()) return reproduces.status();
        if (*reproduces) left.push_back(std::move(candidate));
      }
      alive = std::move(left);
    }
    if (alive.empty()) return absl::OkStatus();
    const Digest128 first = DigestOf(alive[0].plan);
    for (const Candidate& other : alive) {
      if (!(DigestOf(other.plan) == first)) return absl::OkStatus();  // recovery tells them apart
    }
    shape_.explained = shape_.predicted = true;
    shape_.desc = std::move(alive[0].desc);
    shape_.outputs = outputs;
    return absl::OkStatus();
  }

  absl::Status RecoverIt() {
    RecoveryOptions options;
    options.seed = options_.seed;
    options.draws = options_.draws;
    options.sample_side = options_.sample_side;
    options.most_launches = options_.most_launches;
    absl::StatusOr<Recovery> recovery = Recover(box_, shape_.problem, options);
    if (!recovery.ok()) return recovery.status();
    shape_.explained = recovery->explained;
    shape_.desc = std::move(recovery->desc);
    shape_.summed_k = recovery->summed_k;
    shape_.launches += recovery->launches;
    shape_.outputs = recovery->outputs_compared;
    shape_.reason = std::move(recovery->reason);
    shape_.evidence = std::move(recovery->evidence);
    shape_.mismatch = recovery->mismatch;
    return absl::OkStatus();
  }

  BlackBox* const box_;
  RuleBook* const book_;
  const SurveyOptions& options_;
  SurveyedShape shape_;
};

class Surveyor {
 public:
  Surveyor(const OpenLibrary& open, const NextProblem& next, RuleBook* book, const SurveyOptions& options,
           const std::function<void(int64_t, const SurveyedShape&)>& report)
      : open_(open), next_(next), book_(book), options_(options), report_(report) {}

  absl::Status Run() {
    const int threads = options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> pool;
    for (int i = 1; i < threads; ++i) pool.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : pool) thread.join();
    return failure_;
  }

 private:
  void Work() {
    const absl::StatusOr<std::unique_ptr<BlackBox>> box = open_();
    if (!box.ok()) return End(box.status());
    int errors = 0;
    for (;;) {
      int64_t index = 0;
      std::optional<GemmProblem> problem;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!ended_) problem = next_(index = count_++);
        if (!problem) ended_ = true;
      }
      if (!problem) return;
      const SurveyedShape shape = StudyOne(box->get(), *problem, index, &errors);
      const std::lock_guard<std::mutex> lock(mutex_);
      report_(index, shape);
      if (errors >= options_.most_errors) {
        ended_ = true;
        failure_ = absl::InternalError(shape.reason);
      }
    }
  }

  SurveyedShape StudyOne(BlackBox* box, const GemmProblem& problem, int64_t index, int* errors) {
    SurveyOptions options = options_;
    options.seed = options_.seed * 1000003 + static_cast<uint64_t>(options_.first_index + index) * 64;
    const auto begin = std::chrono::steady_clock::now();
    absl::StatusOr<SurveyedShape> shape = StudyShape(box, book_, problem, options);
    *errors = shape.ok() ? 0 : *errors + 1;
    if (!shape.ok()) {
      const std::string reason = absl::StrCat("the library failed: ", shape.status().message());
      shape = SurveyedShape{problem};
      shape->summed_k = problem.k;
      shape->reason = reason;
    }
    shape->millis = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return *std::move(shape);
  }

  void End(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    failure_ = status;
  }

  const OpenLibrary& open_;
  const NextProblem& next_;
  RuleBook* const book_;
  const SurveyOptions& options_;
  const std::function<void(int64_t, const SurveyedShape&)>& report_;
  std::mutex mutex_;
  int64_t count_ = 0;
  bool ended_ = false;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<SurveyedShape> StudyShape(BlackBox* box, RuleBook* book, const GemmProblem& problem,
                                         const SurveyOptions& options) {
  return Study(box, book, problem, options).Run();
}

absl::Status Survey(const OpenLibrary& open, const NextProblem& next, RuleBook* book, const SurveyOptions& options,
                    const std::function<void(int64_t, const SurveyedShape&)>& report) {
  return Surveyor(open, next, book, options, report).Run();
}

GemmProblem DrawShape(GemmProblem p, uint64_t seed, int64_t most_k) {
  constexpr int64_t kMostElements = 400'000'000;  // of an operand
  std::mt19937_64 random(seed);
  const auto side = [&](double low, double high) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    return std::llround(std::exp(std::log(low) + part * (std::log(high) - std::log(low))));
  };
  const auto up = [](int64_t value, int64_t granule) { return (value + granule - 1) / granule * granule; };
  p.m = side(1, 4096), p.n = side(1, 8192), p.k = side(8, 32768);
  const int corner = static_cast<int>(random() % 16);
  if (corner == 0) p.m = 1;
  if (corner == 1) p.n = 1;
  if (corner == 2) p.k = side(32768, 200000);
  const bool aligned = random() % 2 == 0;
  p.k = std::min(p.k, std::max<int64_t>(most_k - 15, 1));
  if (aligned) p.m = corner == 0 ? 1 : up(p.m, 8), p.n = corner == 1 ? 1 : up(p.n, 8), p.k = up(p.k, 16);
  if (FormatOf(p.a_type).bits == 8) p.n = up(p.n, 16), p.k = up(p.k, 16);
  p.m = std::clamp<int64_t>(kMostElements / p.k, 1, p.m);
  p.n = std::min(p.n, std::max<int64_t>(16, kMostElements / p.k / 16 * 16));
  return p;
}

}  // namespace samebits::gemm
