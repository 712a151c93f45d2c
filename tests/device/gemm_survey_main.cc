// Surveys the products of cuBLASLt or cuBLAS on this machine's GPU: finds and validates a descriptor for each shape, and
// writes an arch profile.
//   samebits_gemm_survey --out DIR [--seconds S] [--count N] [--seed N] [--threads N] [--draws N] [--workspace BYTES]
//                        [--types f16,f16,f32,f16:TN[;...]] [--no-models] [--most-m N] [--profile FILE]
//                        [--device NAME] [--driver VERSION] [--shape MxNxK[,...]] [--simulated] [--hidden N]
//                        [--library cublaslt|cublas]
// First the products of language models (answers of the cost model for every M up to --most-m, then shapes at M = 1, 2,
// 4, ..., 8192), then random shapes, types in turn, until --count per type of inputs or the time is over. --profile
// starts with the rules of an earlier profile. --simulated surveys the simulated library, without a GPU. --hidden only
// recovers N random hidden descriptors, as `samebits gemm simulate` does, for which 16 cores are welcome. cublas, the
// classic interface, tells no algorithm: each shape is recovered by itself, and the profile holds these shapes alone. DIR gets
// survey.jsonl (one object a shape), profile.txt, record.json; tables go to standard output.

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/gemm/model_shapes.h"
#include "core/gemm/profile.h"
#include "core/gemm/simulated_cost_model.h"
#include "core/gemm/simulation.h"
#include "core/gemm/survey.h"
#include "tests/device/gemm_walks.h"
#include "workers/cuda/cublas_library.h"
#include "workers/cuda/cublaslt_library.h"

namespace samebits::device_test {
namespace {

using gemm::SurveyedShape;
using Clock = std::chrono::steady_clock;

struct Flags {
  std::string out = ".", profile, device = "NVIDIA H200", driver = "unknown", shape, library = "cublaslt";
  std::string types =
      "f16,f16,f32,f16:TN;f16,f16,f32,f32:NN;f16,f16,f32,f16:NT;f16,f16,f32,f32:TT;f16,f16,f32,f32:TN;"
      "f16,f16,f32,f16:NN;f16,f16,f32,f32:NT;f16,f16,f32,f16:TT;"
      "bf16,bf16,f32,bf16:TN;bf16,bf16,f32,f32:NN;bf16,bf16,f32,bf16:NT;bf16,bf16,f32,f32:TT;bf16,bf16,f32,f32:TN;"
      "bf16,bf16,f32,bf16:NN;bf16,bf16,f32,f32:NT;bf16,bf16,f32,bf16:TT;"
      "e4m3,e4m3,f32,bf16:TN;e4m3,e4m3,f32,f16:TN;e4m3,e4m3,f32,f32:TN";
  std::string model_types = "bf16,bf16,f32,bf16:TN;f16,f16,f32,f16:TN;f16,f16,f32,f32:TN;e4m3,e4m3,f32,bf16:TN";
  double seconds = 240;
  int64_t count = 5000, most_m = 8192, workspace = 32 << 20, hidden = 0;
  uint64_t seed = 1;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int draws = 10;
  bool models = true, simulated = false;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  const std::map<std::string, std::string*> texts = {{"--out", &flags->out},         {"--types", &flags->types},
                                                     {"--profile", &flags->profile}, {"--device", &flags->device},
                                                     {"--driver", &flags->driver},   {"--shape", &flags->shape},
                                                     {"--model-types", &flags->model_types}, {"--library", &flags->library}};
  const std::map<std::string, int64_t*> numbers = {{"--count", &flags->count}, {"--most-m", &flags->most_m}, {"--hidden", &flags->hidden},
                                                   {"--workspace", &flags->workspace}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-models") {
      flags->models = false;
    } else if (name == "--simulated") {
      flags->simulated = true;
    } else if (i + 1 == argc) {
      return false;
    } else if (texts.contains(name)) {
      *texts.at(name) = argv[++i];
    } else if (numbers.contains(name)) {
      *numbers.at(name) = std::atoll(argv[++i]);
    } else if (name == "--seconds") {
      flags->seconds = std::atof(argv[++i]);
    } else if (name == "--seed") {
      flags->seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (name == "--threads") {
      flags->threads = std::atoi(argv[++i]);
    } else if (name == "--draws") {
      flags->draws = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return flags->threads > 0 && (flags->library == "cublaslt" || flags->library == "cublas");
}

// "f16,f16,f32,f16:TN;..." as problems without sides.
absl::StatusOr<std::vector<GemmProblem>> ParseKinds(const std::string& text) {
  std::vector<GemmProblem> kinds;
  for (absl::string_view word : absl::StrSplit(text, ';')) {
    const std::vector<std::string> parts = absl::StrSplit(word, ':');
    if (parts.size() != 2) return absl::InvalidArgumentError(absl::StrCat("types: '", word, "'"));
    if (absl::Status status = gemm::ParseTypes(parts[0], &kinds.emplace_back()); !status.ok()) return status;
    const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(parts[1]);
    if (!layout.ok()) return layout.status();
    kinds.back().layout = *layout;
  }
  return kinds;
}

std::string Quote(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

double Quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

struct Tally {
  int64_t shapes = 0, explained = 0, predicted = 0, unexplained = 0, unsupported = 0, defects = 0, outputs = 0;
  std::vector<double> launches, millis, ratios;
  std::set<std::string> algorithms, descriptors;

  void Add(const SurveyedShape& s) {
    if (!s.supported) {
      ++unsupported;
      return;
    }
    ++shapes;
    ++(s.explained ? explained : unexplained);
    predicted += s.predicted;
    defects += s.defect();
    outputs += s.outputs;
    launches.push_back(static_cast<double>(s.launches));
    millis.push_back(s.millis);
    if (s.problem.k > 1) ratios.push_back(static_cast<double>(s.launches) / static_cast<double>(s.problem.k - 1));
    algorithms.insert(ToText(s.algorithm));
    if (s.explained) descriptors.insert(ToText(s.desc));
  }

  std::string Json() const {
    return absl::StrFormat(
        "{\"shapes\": %d, \"explained\": %d, \"predicted by rules\": %d, \"unexplained\": %d, \"not supported\": %d, "
        "\"defects\": %d, \"answers\": %d, \"descriptors\": %d, \"outputs compared\": %d, \"launches, median\": %.0f, "
        "\"launches, most\": %.0f, \"ms a shape, median\": %.1f, \"ms a shape, 90 %%\": %.1f, "
        "\"launches over K - 1, median\": %.4f}",
        shapes, explained, predicted, unexplained, unsupported, defects, algorithms.size(), descriptors.size(), outputs,
        Quantile(launches, 0.5), Quantile(launches, 1), Quantile(millis, 0.5), Quantile(millis, 0.9), Quantile(ratios, 0.5));
  }

  std::string Row(const std::string& name) const {
    return absl::StrFormat("%-28s %6d %9d %9d %11d %11d %7d %8.0f %8.1f %7d %9.4f\n", name, shapes, explained, predicted,
                           unexplained, unsupported, defects, Quantile(launches, 0.5), Quantile(millis, 0.5),
                           algorithms.size(), Quantile(ratios, 0.5));
  }
};

class Program {
 public:
  explicit Program(const Flags& flags) : flags_(flags), jsonl_(flags.out + "/survey.jsonl") {}

  absl::Status Run() {
    if (absl::Status status = Identify(); !status.ok()) return status;
    if (absl::Status status = LoadRules(); !status.ok()) return status;
    gemm::ProfileBuilder builder(identity_);
    builder_ = &builder;
    absl::Status status = absl::OkStatus();
    if (!flags_.shape.empty()) {
      status = Given();
    } else {
      if (flags_.models) status = Models();
      WriteProfile();
      if (status.ok()) status = Random();
    }
    WalkUnexplained();
    const gemm::ArchProfile profile = WriteProfile();
    std::printf("profile: %zu kinds of answers with rules, %zu answers\n", profile.entries.size(), profile.algorithms.size());
    WriteRecord(profile);
    return status;
  }

 private:
  gemm::ArchProfile WriteProfile() {
    gemm::ArchProfile profile = gemm::ProfileBuilder(*builder_).Build(book_);
    std::ofstream(flags_.out + "/profile.txt") << gemm::ToText(profile);
    jsonl_.flush();
    return profile;
  }

  absl::StatusOr<std::unique_ptr<gemm::BlackBox>> Open() {
    if (flags_.simulated) return std::make_unique<gemm::SimulatedCostModel>();
    if (flags_.library == "cublas") return AsBlackBox(workers::CublasLibrary::Open({0, flags_.workspace}));
    return AsBlackBox(workers::CublasLtLibrary::Open({0, flags_.workspace}));
  }

  template <typename Library>
  static absl::StatusOr<std::unique_ptr<gemm::BlackBox>> AsBlackBox(absl::StatusOr<std::unique_ptr<Library>> library) {
    if (!library.ok()) return library.status();
    return std::unique_ptr<gemm::BlackBox>(*std::move(library));
  }

  absl::Status Identify() {
    identity_.device = flags_.simulated ? "simulated" : flags_.device;
    identity_.driver = flags_.driver;
    identity_.workspace_bytes = flags_.workspace;
    identity_.library = flags_.simulated ? "simulated" : flags_.library == "cublas" ? "cuBLAS" : "cuBLASLt";
    identity_.sm = 90;
    if (!flags_.simulated) {
      const absl::Status status = flags_.library == "cublas"
                                      ? IdentifyFrom(workers::CublasLibrary::Open({0, flags_.workspace}))
                                      : IdentifyFrom(workers::CublasLtLibrary::Open({0, flags_.workspace}));
      if (!status.ok()) return status;
    }
    std::printf("%s %ld, sm_%ld, %ld multiprocessors, workspace %ld bytes, seed %lu, %d threads\n", identity_.library.c_str(),
                long{identity_.library_version}, long{identity_.sm}, long{identity_.multiprocessors}, long{flags_.workspace},
                static_cast<unsigned long>(flags_.seed), flags_.threads);
    return absl::OkStatus();
  }

  template <typename Library>
  absl::Status IdentifyFrom(const absl::StatusOr<std::unique_ptr<Library>>& library) {
    if (!library.ok()) return library.status();
    identity_.sm = (*library)->sm();
    identity_.multiprocessors = (*library)->multiprocessors();
    identity_.library_version = (*library)->version();
    return absl::OkStatus();
  }

  absl::Status LoadRules() {
    if (flags_.profile.empty()) return absl::OkStatus();
    std::ifstream in(flags_.profile);
    std::stringstream text;
    text << in.rdbuf();
    const auto profile = gemm::ParseArchProfile(text.str());
    if (!profile.ok()) return profile.status();
    for (const auto& [kind, entry] : profile->entries) book_.Suggest(kind, entry.rules);
    return absl::OkStatus();
  }

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  absl::Status SurveyAll(const std::string& phase, const gemm::NextProblem& next, double until) {
    gemm::SurveyOptions options;
    options.seed = flags_.seed;
    options.draws = flags_.draws;
    options.threads = flags_.threads;
    const double begin = Seconds();
    const auto timed = [&](int64_t index) { return Seconds() > until ? std::nullopt : next(index); };
    const absl::Status status = gemm::Survey([&] { return Open(); }, timed, &book_, options,
                                             [&](int64_t, const SurveyedShape& shape) { Add(phase, shape); });
    std::printf("%s: %.0f s\n%-28s %6s %9s %9s %11s %11s %7s %8s %8s %7s %9s\n", phase.c_str(), Seconds() - begin, "types",
                "shapes", "explained", "predicted", "unexplained", "unsupported", "defects", "launches", "ms", "answers",
                "/ (K - 1)");
    for (const auto& [name, tally] : tallies_[phase]) std::printf("%s", tally.Row(name).c_str());
    std::fflush(stdout);
    return status;
  }

  void Add(const std::string& phase, const SurveyedShape& s) {
    const std::string kind = absl::StrCat(TypesText(s.problem), " ", ToText(s.problem.layout));
    tallies_[phase][kind].Add(s);
    tallies_[phase][absl::StrCat("all of ", kind.substr(0, kind.find(',')))].Add(s);
    builder_->AddShape(s, flags_.draws);
    if (s.supported && !s.explained) unexplained_.push_back(s.problem);
    Write(phase, kind, s);
    if ((s.supported && !s.explained && printed_++ < 40) || (s.defect() && printed_defects_++ < 40)) Print(kind, s);
  }

  void Write(const std::string& phase, const std::string& kind, const SurveyedShape& s) {
    const GemmProblem& p = s.problem;
    jsonl_ << "{\"phase\":" << Quote(phase) << ",\"kind\":" << Quote(kind) << ",\"m\":" << p.m << ",\"n\":" << p.n
           << ",\"k\":" << p.k;
    if (!s.supported) {
      jsonl_ << ",\"supported\":false}\n";
      return;
    }
    const bool told = !(s.algorithm == gemm::Algorithm());
    jsonl_ << ",\"algorithm\":" << (told ? Quote(ToText(s.algorithm)) : "null") << ",\"explained\":" << (s.explained ? "true" : "false")
           << ",\"predicted\":" << (s.predicted ? "true" : "false") << ",\"desc\":" << Quote(ToText(s.desc).substr(7))
           << ",\"launches\":" << s.launches << ",\"outputs\":" << s.outputs << ",\"ms\":" << absl::StrFormat("%.1f", s.millis);
    if (s.summed_k != p.k) jsonl_ << ",\"summed_k\":" << s.summed_k;
    if (!s.explained || s.defect()) {
      std::vector<std::string> evidence;
      for (const std::string& line : s.evidence) evidence.push_back(Quote(line));
      jsonl_ << ",\"reason\":" << Quote(s.reason) << ",\"evidence\":[" << absl::StrJoin(evidence, ",") << "]";
    }
    jsonl_ << "}\n";
  }

  static std::string ShapeText(const GemmProblem& p) { return absl::StrCat(p.m, "x", p.n, "x", p.k); }

  static void Print(const std::string& kind, const SurveyedShape& s) {
    std::printf("%s %s %s\n  %s %s\n", s.explained ? "DEFECT" : "UNEXPLAINED", kind.c_str(), ShapeText(s.problem).c_str(),
                ToText(s.algorithm).c_str(), s.reason.c_str());
    for (const std::string& line : s.evidence) std::printf("    %s\n", line.c_str());
    if (s.mismatch) {
      std::printf("    first mismatch at (%ld, %ld): %lx, library %lx\n", long{s.mismatch->output.row},
                  long{s.mismatch->output.column}, static_cast<unsigned long>(s.mismatch->expected),
                  static_cast<unsigned long>(s.mismatch->library));
    }
  }

  absl::Status Given() {
    const auto kinds = ParseKinds(flags_.types);
    if (!kinds.ok()) return kinds.status();
    std::vector<GemmProblem> problems;
    for (absl::string_view text : absl::StrSplit(flags_.shape, ',')) {
      for (GemmProblem p : *kinds) {
        const std::vector<std::string> words = absl::StrSplit(text, 'x');
        if (words.size() != 3 || !absl::SimpleAtoi(words[0], &p.m) || !absl::SimpleAtoi(words[1], &p.n) ||
            !absl::SimpleAtoi(words[2], &p.k) || std::min({p.m, p.n, p.k}) < 1) {
          return absl::InvalidArgumentError(absl::StrCat("shape: '", text, "'"));
        }
        problems.push_back(p);
      }
    }
    return SurveyAll("given", ListOf(problems), flags_.seconds);
  }

  static gemm::NextProblem ListOf(const std::vector<GemmProblem>& problems) {
    return [&problems](int64_t index) {
      return index < static_cast<int64_t>(problems.size()) ? std::optional(problems[index]) : std::nullopt;
    };
  }

  absl::Status Models() {
    const auto kinds = ParseKinds(flags_.model_types);
    if (!kinds.ok()) return kinds.status();
    std::vector<GemmProblem> products, problems;
    std::set<std::pair<int64_t, int64_t>> sides;
    for (const gemm::ModelProduct& product : gemm::ModelProducts()) sides.emplace(product.n, product.k);
    for (const auto& [n, k] : sides) {
      for (GemmProblem p : *kinds) {
        p.n = n, p.k = k;
        products.push_back(p);
      }
    }
    Scan(products);
    for (int64_t m = 1; m <= 8192; m *= 2) {
      for (GemmProblem p : products) {
        p.m = m;
        problems.push_back(p);
      }
    }
    return SurveyAll("models", ListOf(problems), 0.6 * flags_.seconds);
  }

  // Asks the cost model about every M.
  void Scan(const std::vector<GemmProblem>& products) {
    std::atomic<size_t> next = 0;
    std::vector<std::vector<gemm::Algorithm>> answers(products.size());
    const auto work = [&] {
      const auto library = Open();
      if (!library.ok()) return;
      for (size_t i = next++; i < products.size() && Seconds() < 0.3 * flags_.seconds; i = next++) {
        for (GemmProblem p = products[i]; p.m <= flags_.most_m; ++p.m) {
          const absl::StatusOr<gemm::Algorithm> answer = (*library)->Choose(p);
          if (!answer.ok()) break;
          answers[i].push_back(*answer);
        }
      }
    };
    const double begin = Seconds();
    std::vector<std::thread> pool;
    for (int i = 0; i < flags_.threads; ++i) pool.emplace_back(work);
    for (std::thread& thread : pool) thread.join();
    size_t asked = 0;
    for (size_t i = 0; i < products.size(); ++i) {
      builder_->AddScan(products[i], answers[i]);
      asked += answers[i].size();
    }
    std::printf("cost model: %zu answers for %zu products in %.1f s\n", asked, products.size(), Seconds() - begin);
    std::fflush(stdout);
  }

  absl::Status Random() {
    const auto kinds = ParseKinds(flags_.types);
    if (!kinds.ok()) return kinds.status();
    std::map<std::string, std::vector<GemmProblem>> by_input;
    for (const GemmProblem& p : *kinds) by_input[TypesText(p).substr(0, TypesText(p).find(','))].push_back(p);
    const int64_t inputs = static_cast<int64_t>(by_input.size());
    const auto next = [&](int64_t index) -> std::optional<GemmProblem> {
      const int64_t shape = index / inputs;
      if (shape >= flags_.count) return std::nullopt;
      const std::vector<GemmProblem>& own = std::next(by_input.begin(), index % inputs)->second;
      return gemm::DrawShape(own[shape % own.size()], flags_.seed * 1000000007 + static_cast<uint64_t>(index));
    };
    return SurveyAll("random", next, flags_.seconds);
  }

  void WalkUnexplained() {
    if (unexplained_.empty()) return;
    const auto library = Open();
    if (!library.ok()) return;
    for (size_t i = 0; i < std::min<size_t>(unexplained_.size(), 12) && Seconds() < flags_.seconds + 10; ++i) {
      std::vector<std::string> lines;
      for (const std::string& line : Walks(library->get(), unexplained_[i]).All()) lines.push_back(Quote(line));
      jsonl_ << "{\"phase\":\"walks\",\"shape\":" << Quote(ShapeText(unexplained_[i])) << ",\"lines\":["
             << absl::StrJoin(lines, ",") << "]}\n";
    }
  }

  void WriteRecord(const gemm::ArchProfile& profile) {
    std::ofstream out(flags_.out + "/record.json");
    out << "{\n \"what\": \"descriptors of a library's matrix products, predicted by rules or recovered, and validated\",\n"
        << " \"library\": " << Quote(absl::StrCat(profile.library, " ", profile.library_version)) << ",\n \"device\": "
        << Quote(profile.device) << ",\n \"driver\": " << Quote(profile.driver) << ",\n \"workspace\": " << flags_.workspace
        << ",\n \"seed\": " << flags_.seed << ",\n \"draws\": " << flags_.draws << ",\n \"threads\": " << flags_.threads
        << ",\n \"seconds\": " << absl::StrFormat("%.0f", Seconds()) << ",\n \"kinds of answers with rules\": "
        << profile.entries.size() << ",\n \"answers\": " << profile.algorithms.size() << ",\n \"figures\": {";
    std::string separator;
    for (const auto& [phase, tallies] : tallies_) {
      for (const auto& [name, tally] : tallies) {
        out << separator << "\n  " << Quote(phase + ", " + name) << ": " << tally.Json();
        separator = ",";
      }
    }
    out << "\n }\n}\n";
  }

  const Flags flags_;
  const Clock::time_point begin_ = Clock::now();
  std::ofstream jsonl_;
  gemm::ArchProfile identity_;
  gemm::RuleBook book_;
  gemm::ProfileBuilder* builder_ = nullptr;
  std::map<std::string, std::map<std::string, Tally>> tallies_;
  std::vector<GemmProblem> unexplained_;
  int printed_ = 0, printed_defects_ = 0;
};

absl::Status RecoverHidden(const Flags& flags) {
  gemm::SimulationOptions options;
  options.count = flags.hidden;
  options.seed = flags.seed;
  options.threads = flags.threads;
  gemm::SimulationTable table;
  const absl::Status status = gemm::Simulate(options, [&](const gemm::SimulatedCase& c) {
    table.Add(c);
    if (c.recovered()) return;
    const GemmProblem& p = c.hidden.problem;
    std::printf("seed %lu, %ld x %ld x %ld on sm_%d is not recovered: %s %d %d\n  hidden    %s\n  recovered %s\n",
                static_cast<unsigned long>(c.seed), long{p.m}, long{p.n}, long{p.k}, c.hidden.sm, c.recovery.reason.c_str(),
                c.equal_bytes, c.equal_form, ToText(c.hidden.desc).c_str(), ToText(c.recovery.desc).c_str());
    std::fflush(stdout);
  });
  std::printf("%s", table.ToString().c_str());
  return status;
}

}  // namespace
}  // namespace samebits::device_test

int main(int argc, char** argv) {
  samebits::device_test::Flags flags;
  if (!samebits::device_test::ParseFlags(argc, argv, &flags)) {
    std::fprintf(stderr, "usage: see the head of gemm_survey_main.cc\n");
    return 2;
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // large operands come and go; the pages stay
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const absl::Status status = flags.hidden > 0 ? samebits::device_test::RecoverHidden(flags)
                                               : samebits::device_test::Program(flags).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
