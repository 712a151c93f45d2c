#include "core/gemm/profile_build.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/gemm/model_shapes.h"
#include "core/gemm/shape_record.h"

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

// Opens libraries once for many surveys.
class LibraryPool {
 public:
  explicit LibraryPool(const OpenLibrary& open) : open_(open) {}

  absl::StatusOr<std::unique_ptr<BlackBox>> Borrow() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<BlackBox> box = std::move(free_.back());
        free_.pop_back();
        return std::unique_ptr<BlackBox>(new Borrowed(this, std::move(box)));
      }
    }
    absl::StatusOr<std::unique_ptr<BlackBox>> opened = open_();
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<BlackBox>(new Borrowed(this, *std::move(opened)));
  }

 private:
  class Borrowed : public BlackBox {
   public:
    Borrowed(LibraryPool* pool, std::unique_ptr<BlackBox> box) : pool_(pool), box_(std::move(box)) {}
    ~Borrowed() override {
      const std::lock_guard<std::mutex> lock(pool_->mutex_);
      pool_->free_.push_back(std::move(box_));
    }
    int sm() const override { return box_->sm(); }
    bool tells_algorithm() const override { return box_->tells_algorithm(); }
    absl::StatusOr<Algorithm> Choose(const GemmProblem& p) override { return box_->Choose(p); }
    absl::StatusOr<CallProfile> Profile(const GemmProblem& p) override { return box_->Profile(p); }
    absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& p, const SparseRows& a, const SparseRows& b,
                                                   std::span<const Output> outputs) override {
      return box_->Multiply(p, a, b, outputs);
    }

   private:
    LibraryPool* const pool_;
    std::unique_ptr<BlackBox> box_;
  };

  const OpenLibrary& open_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlackBox>> free_;
};

class Builder {
 public:
  using Report = std::function<bool(const BuildProgress&, const SurveyedShape&)>;
  Builder(const OpenLibrary& open, const ArchProfile& identity, const ProfileBuildOptions& options, RuleBook* book,
          const Report& report, const BuildParts& parts)
      : pool_(open), options_(options), book_(book), report_(report), parts_(parts), builder_(identity),
        head_(absl::StrCat(identity.device, "\t", identity.sm, "\t", identity.library, "\t", identity.library_version, "\t",
                           identity.driver, "\t", identity.workspace_bytes)) {}

  absl::StatusOr<ArchProfile> Run() {
    if (absl::Status status = ListProblems(); !status.ok()) return status;
    for (int64_t part = 0; part * kPart < std::ssize(problems_) && wanted_ && !Late(); ++part) {
      const auto done = parts_.done.find(part);
      const absl::Status status = done != parts_.done.end() ? Restore(part, done->second) : Study(part);
      if (!status.ok()) return status;
    }
    return std::move(builder_).Build(*book_);
  }

 private:
  static constexpr int64_t kPart = 32;

  bool Late() const { return std::chrono::duration<double>(Clock::now() - begin_).count() > options_.seconds; }
  int64_t SizeOf(int64_t part) const { return std::min<int64_t>(kPart, std::ssize(problems_) - part * kPart); }

  absl::Status ListProblems() {
    if (options_.models) {
      const absl::StatusOr<std::unique_ptr<BlackBox>> library = pool_.Borrow();
      if (!library.ok()) return library.status();
      const std::vector<GemmProblem> products = Products(options_.kinds);
      for (const GemmProblem& p : products) {
        if (!Late()) builder_.AddScan(p, Answers(library->get(), p, options_.most_m));
      }
      for (int64_t m = 1; m <= options_.most_m; m *= 2) {
        for (GemmProblem p : products) {
          p.m = m;
          problems_.push_back(p);
        }
      }
    }
    for (int64_t i = 0; i < options_.random_shapes; ++i) {
      for (const GemmProblem& kind : options_.kinds) {
        problems_.push_back(DrawShape(kind, options_.survey.seed * 1000000007 + problems_.size(), options_.most_k));
      }
    }
    progress_.total = std::ssize(problems_);
    return absl::OkStatus();
  }

  void Tell(const SurveyedShape& shape) {
    ++progress_.done;
    wanted_ = report_(progress_, shape) && wanted_;
  }

  void Take(const SurveyedShape& shape) {
    builder_.AddShape(shape, options_.survey.draws);
    const bool told = !(shape.algorithm == Algorithm());
    if (told && shape.explained && !shape.defect()) book_->Learn(shape.problem, shape.algorithm, shape.desc);
  }

  absl::Status Study(int64_t part) {
    const int64_t first = part * kPart, size = SizeOf(part);
    std::vector<std::optional<SurveyedShape>> shapes(size);
    SurveyOptions survey = options_.survey;
    survey.learns = false;
    survey.first_index = first;
    const auto next = [&](int64_t i) { return wanted_ && !Late() && i < size ? std::optional(problems_[first + i]) : std::nullopt; };
    const absl::Status status = Survey([this] { return pool_.Borrow(); }, next, book_, survey, [&](int64_t i, const SurveyedShape& shape) {
      shapes[i] = shape;
      Tell(shape);
    });
    if (!status.ok()) return status;
    std::string record = head_;
    bool whole = true;
    for (const std::optional<SurveyedShape>& shape : shapes) {
      whole = whole && shape.has_value();
      if (!shape) continue;
      Take(*shape);
      absl::StrAppend(&record, "\n", ToRecord(*shape));
    }
    if (whole && parts_.keep) parts_.keep(part, std::move(record));
    return absl::OkStatus();
  }

  absl::Status Restore(int64_t part, const std::string& record) {
    const std::vector<std::string> lines = absl::StrSplit(record, '\n');
    if (lines[0] != head_)
      return absl::FailedPreconditionError("the parts that are done are of another library or device; start anew");
    if (std::ssize(lines) != SizeOf(part) + 1) return absl::DataLossError("a part that is done has another number of shapes");
    for (int64_t i = 0; i < SizeOf(part); ++i) {
      const absl::StatusOr<SurveyedShape> shape = ParseShapeRecord(lines[i + 1], problems_[part * kPart + i]);
      if (!shape.ok()) return shape.status();
      Take(*shape);
      Tell(*shape);
    }
    return absl::OkStatus();
  }

  LibraryPool pool_;
  const ProfileBuildOptions& options_;
  RuleBook* const book_;
  const Report& report_;
  const BuildParts& parts_;
  const Clock::time_point begin_ = Clock::now();
  ProfileBuilder builder_;
  const std::string head_;  // of records: what was studied
  std::vector<GemmProblem> problems_;
  BuildProgress progress_;
  bool wanted_ = true;
};

}  // namespace

absl::StatusOr<ArchProfile> BuildProfile(const OpenLibrary& open, const ArchProfile& identity,
                                         const ProfileBuildOptions& options, RuleBook* book,
                                         const std::function<bool(const BuildProgress&, const SurveyedShape&)>& report,
                                         const BuildParts& parts) {
  return Builder(open, identity, options, book, report, parts).Run();
}

}  // namespace samebits::gemm
