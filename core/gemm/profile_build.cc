#include "core/gemm/profile_build.h"

#include <chrono>
#include <set>

#include "core/gemm/model_shapes.h"

namespace samebits::gemm {
namespace {

using Clock = std::chrono::steady_clock;

// The kinds at every n and k of the models' products.
std::vector<GemmProblem> Products(const std::vector<GemmProblem>& kinds) {
  std::set<std::pair<int64_t, int64_t>> sides;
  for (const ModelProduct& product : ModelProducts()) sides.emplace(product.n, product.k);
  std::vector<GemmProblem> products;
  for (const auto& [n, k] : sides) {
    for (GemmProblem p : kinds) {
      p.m = 1, p.n = n, p.k = k;
      products.push_back(p);
    }
  }
  return products;
}

// Up to the first M that the library does not support.
std::vector<Algorithm> Answers(BlackBox* library, GemmProblem p, int64_t most_m) {
  std::vector<Algorithm> answers;
  for (p.m = 1; p.m <= most_m; ++p.m) {
    const absl::StatusOr<Algorithm> answer = library->Choose(p);
    if (!answer.ok()) break;
    answers.push_back(*answer);
  }
  return answers;
}

}  // namespace

absl::StatusOr<ArchProfile> BuildProfile(const OpenLibrary& open, const ArchProfile& identity,
                                         const ProfileBuildOptions& options, RuleBook* book,
                                         const std::function<bool(const BuildProgress&, const SurveyedShape&)>& report) {
  const Clock::time_point begin = Clock::now();
  const auto late = [&] { return std::chrono::duration<double>(Clock::now() - begin).count() > options.seconds; };
  ProfileBuilder builder(identity);
  std::vector<GemmProblem> problems;
  if (options.models) {
    const absl::StatusOr<std::unique_ptr<BlackBox>> library = open();
    if (!library.ok()) return library.status();
    const std::vector<GemmProblem> products = Products(options.kinds);
    for (const GemmProblem& p : products) {
      if (!late()) builder.AddScan(p, Answers(library->get(), p, options.most_m));
    }
    for (int64_t m = 1; m <= options.most_m; m *= 2) {
      for (GemmProblem p : products) {
        p.m = m;
        problems.push_back(p);
      }
    }
  }
  for (int64_t i = 0; i < options.random_shapes; ++i) {
    for (const GemmProblem& kind : options.kinds) {
      problems.push_back(DrawShape(kind, options.survey.seed * 1000000007 + problems.size(), options.most_k));
    }
  }
  BuildProgress progress{0, static_cast<int64_t>(problems.size())};
  bool wanted = true;
  const auto next = [&](int64_t index) {
    return wanted && !late() && index < progress.total ? std::optional(problems[index]) : std::nullopt;
  };
  const absl::Status status = Survey(open, next, book, options.survey, [&](int64_t, const SurveyedShape& shape) {
    builder.AddShape(shape, options.survey.draws);
    ++progress.done;
    wanted = report(progress, shape) && wanted;
  });
  if (!status.ok()) return status;
  return std::move(builder).Build(*book);
}

}  // namespace samebits::gemm
