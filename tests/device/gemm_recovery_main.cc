// Recovers descriptors of cuBLASLt's products on this machine's GPU and validates them.
//   samebits_gemm_recovery --out FILE [--seconds S] [--seed N] [--threads N] [--draws N] [--workspace BYTES]
//                          [--types f16,f16,f32,f16[;...]] [--shape MxNxK[,...]] [--explain]
// Without --shape: fixed corners, then random shapes, types in turn, until the time is over. One JSON object a shape
// goes to FILE, a table to standard output.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/gemm/probe.h"
#include "core/gemm/recovery.h"
#include "workers/cuda/cublaslt_library.h"

namespace samebits {
namespace {

using gemm::GemmProblem;
using Clock = std::chrono::steady_clock;

struct Flags {
  std::string out = "gemm_recovery.jsonl", types = "f16,f16,f32,f16;bf16,bf16,f32,bf16;f16,f16,f32,f32;e4m3,e4m3,f32,bf16;e4m3,e4m3,f32,f16";
  std::string shape;
  double seconds = 240;
  uint64_t seed = 1;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int draws = 10;
  int64_t workspace = 32 << 20;
  bool explain = false;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--explain") {
      flags->explain = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--out") flags->out = value;
    else if (name == "--types") flags->types = value;
    else if (name == "--shape") flags->shape = value;
    else if (name == "--seconds") flags->seconds = std::atof(value.c_str());
    else if (name == "--seed") flags->seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--threads") flags->threads = std::atoi(value.c_str());
    else if (name == "--draws") flags->draws = std::atoi(value.c_str());
    else if (name == "--workspace") flags->workspace = std::atoll(value.c_str());
    else return false;
  }
  return true;
}

// "f16,f16,f32,f16" as a descriptor's types.
bool ParseTypes(const std::string& text, GemmProblem* problem) {
  const auto desc = gemm::ParseGemmDesc("gemm/1 types=" + text + " instruction=mma:16");
  if (!desc.ok()) return false;
  problem->a_type = desc->a_type, problem->b_type = desc->b_type;
  problem->accumulate_type = desc->accumulate_type, problem->output_type = desc->output_type;
  return true;
}

bool ParseShape(const std::string& text, GemmProblem* problem) {
  const std::vector<std::string> words = absl::StrSplit(text, 'x');
  return words.size() == 3 && absl::SimpleAtoi(words[0], &problem->m) && absl::SimpleAtoi(words[1], &problem->n) &&
         absl::SimpleAtoi(words[2], &problem->k);
}

// Shapes of language models and corners first, then random ones.
class Shapes {
 public:
  explicit Shapes(uint64_t seed) : random_(seed) {}
  GemmProblem Next(bool fp8) {
    static const int64_t kFixed[][3] = {
        {128, 128, 256},    {128, 4096, 4096},  {1, 4096, 4096},     {16, 4096, 4096},   {4096, 4096, 4096},
        {64, 576, 576},     {256, 256, 16384},  {64, 64, 32768},     {1, 1, 1024},       {4096, 1, 4096},
        {2, 3, 577},        {17, 33, 4097},     {128, 128, 11528},   {128, 4096, 11528}, {512, 512, 65536},
        {8, 28672, 8192},   {1024, 1024, 1024}, {3, 5, 7},           {300, 200, 1000},   {64, 64, 200000}};
    GemmProblem p;
    if (next_ < std::size(kFixed)) {
      p.m = kFixed[next_][0], p.n = kFixed[next_][1], p.k = kFixed[next_][2];
      ++next_;
    } else {
      p.m = Side(1, 4096), p.n = Side(1, 8192), p.k = Side(8, 32768);
      const int corner = random_() % 16;
      if (corner == 0) p.m = 1;
      if (corner == 1) p.n = 1;
      if (corner == 2) p.k = Side(32768, 200000);
      if (random_() % 2 == 0) p.m = (p.m + 7) / 8 * 8, p.n = (p.n + 7) / 8 * 8, p.k = (p.k + 15) / 16 * 16;
    }
    if (fp8) p.m = (p.m + 15) / 16 * 16, p.n = (p.n + 15) / 16 * 16, p.k = (p.k + 15) / 16 * 16;
    return p;
  }

 private:
  int64_t Side(double low, double high) {
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::llround(std::exp(std::log(low) + u * (std::log(high) - std::log(low))));
  }
  std::mt19937_64 random_;
  size_t next_ = 0;
};

std::string Quote(const std::string& text) { return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\""); }

// "0*3 1*61 0*4": runs of equal bits; '?' for answers that are no sum of tiny values.
std::string RunLengths(const std::string& bits) {
  std::string text;
  for (size_t i = 0; i < bits.size();) {
    size_t end = i;
    while (end < bits.size() && bits[end] == bits[i]) ++end;
    absl::StrAppend(&text, text.empty() ? "" : " ", std::string(1, bits[i]), "*", end - i);
    i = end;
  }
  return text;
}

// Raw observations for people, where recovery found nothing: which places a pair absorbs, and which neighbours absorb
// place 0.
class Walks {
 public:
  Walks(gemm::BlackBox* library, const GemmProblem& problem) : problem_(problem), prober_(library, problem, 64) {}

  std::vector<std::string> All() {
    std::vector<std::string> lines;
    for (int64_t x = 1; x < problem_.k && launches_ < 120; x *= 2) lines.push_back(Set(0, x));
    if (problem_.k > 600) lines.push_back(Set(problem_.k / 2, problem_.k / 2 + 1));
    lines.push_back(Neighbours());
    return lines;
  }

 private:
  // Places up to 1024 absorbed by the pair (p, q).
  std::string Set(int64_t p, int64_t q) {
    std::vector<gemm::Probe> probes;
    const int64_t small = prober_.small_per_probe(), end = std::min<int64_t>(problem_.k, 1024);
    for (int64_t x = 0; x < end; x += small) {
      gemm::Probe probe{p, q, {}};
      for (int64_t y = x; y < std::min(end, x + small); ++y) {
        if (y != p && y != q) probe.small.push_back(y);
      }
      probes.push_back(std::move(probe));
    }
    std::string bits(end, '-');
    Ask(probes, [&](const gemm::Probe& probe, size_t i, char bit) { bits[probe.small[i]] = bit; });
    return absl::StrCat("pair ", p, " ", q, " absorbs of the first ", end, ": ", RunLengths(bits));
  }

  // Whether the pair (m, m + 1) absorbs place 0, m from 1 on.
  std::string Neighbours() {
    std::vector<gemm::Probe> probes;
    const int64_t end = std::min<int64_t>(problem_.k - 1, 4096);
    for (int64_t m = 1; m < end; ++m) probes.push_back({m, m + 1, {0}});
    std::string bits;
    Ask(probes, [&](const gemm::Probe&, size_t, char bit) { bits.push_back(bit); });
    return absl::StrCat("place 0 absorbed by neighbours from 1: ", RunLengths(bits));
  }

  template <typename Function>
  void Ask(const std::vector<gemm::Probe>& probes, const Function& each) {
    const size_t batch = prober_.probes_per_launch();
    for (size_t i = 0; i < probes.size() && launches_ < 400; i += batch) {
      const std::span<const gemm::Probe> some(&probes[i], std::min(batch, probes.size() - i));
      const auto answers = prober_.Ask(some);
      ++launches_;
      if (!answers.ok()) return;
      for (size_t j = 0; j < some.size(); ++j) {
        for (size_t b = 0; b < some[j].small.size(); ++b) {
          each(some[j], b, !(*answers)[j].valid ? '?' : ((*answers)[j].absorbed >> b & 1) != 0 ? '1' : '0');
        }
      }
    }
  }

  const GemmProblem problem_;
  gemm::Prober prober_;
  int launches_ = 0;
};

struct Tally {
  int explained = 0, unexplained = 0, defects = 0, errors = 0;
  std::vector<int64_t> launches;
  std::vector<double> millis;
  std::set<std::string> algorithms;
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

class Runner {
 public:
  Runner(workers::CublasLtLibrary* library, const Flags& flags) : library_(library), flags_(flags), out_(flags.out) {}

  void One(const std::string& types, const GemmProblem& problem) {
    Tally& tally = tallies_[types];
    const std::string shape = absl::StrCat(problem.m, "x", problem.n, "x", problem.k);
    const auto algorithm = library_->Algorithm(problem);
    if (!algorithm.ok()) return Error(types, shape, algorithm.status(), &tally);
    gemm::RecoveryOptions options;
    options.seed = flags_.seed * 1000003 + static_cast<uint64_t>(++count_);
    options.draws = flags_.draws;
    options.sample_side = 16;
    options.threads = flags_.threads;
    const auto begin = Clock::now();
    const auto recovery = gemm::Recover(library_, problem, options);
    const double millis = std::chrono::duration<double>(Clock::now() - begin).count() * 1e3;
    if (!recovery.ok()) return Error(types, shape, recovery.status(), &tally);
    tally.algorithms.insert(algorithm->ToString());
    tally.launches.push_back(recovery->launches);
    tally.millis.push_back(millis);
    ++(recovery->explained ? tally.explained : tally.unexplained);
    if (recovery->summed_k != problem.k) ++tally.defects;
    std::vector<std::string> walks;
    if (!recovery->explained && walked_++ < 40) walks = Walks(library_, problem).All();
    Write(types, shape, algorithm->ToString(), *recovery, millis, walks);
    if (flags_.explain || !recovery->explained || recovery->summed_k != problem.k) Print(types, shape, *algorithm, *recovery);
  }

  void Table() const {
    std::printf("types                shapes explained unexplained defects errors  launches(median) ms(median) algorithms\n");
    for (const auto& [types, t] : tallies_) {
      std::vector<double> launches(t.launches.begin(), t.launches.end());
      std::printf("%-20s %6d %9d %11d %7d %6d  %16.0f %10.1f %10zu\n", types.c_str(),
                  t.explained + t.unexplained + t.errors, t.explained, t.unexplained, t.defects, t.errors,
                  Median(launches), Median(t.millis), t.algorithms.size());
    }
  }

 private:
  void Error(const std::string& types, const std::string& shape, const absl::Status& status, Tally* tally) {
    ++tally->errors;
    out_ << "{\"types\":" << Quote(types) << ",\"shape\":" << Quote(shape) << ",\"error\":" << Quote(std::string(status.message())) << "}\n";
    if (tally->errors <= 3) std::printf("%s %s: %s\n", types.c_str(), shape.c_str(), std::string(status.message()).c_str());
  }

  void Write(const std::string& types, const std::string& shape, const std::string& algorithm,
             const gemm::Recovery& r, double millis, const std::vector<std::string>& walks) {
    std::vector<std::string> evidence;
    for (const std::string& line : r.evidence) evidence.push_back(Quote(line));
    for (const std::string& line : walks) evidence.push_back(Quote(line));
    out_ << "{\"types\":" << Quote(types) << ",\"shape\":" << Quote(shape) << ",\"algorithm\":" << Quote(algorithm)
         << ",\"explained\":" << (r.explained ? "true" : "false") << ",\"desc\":" << Quote(gemm::ToText(r.desc))
         << ",\"summed_k\":" << r.summed_k << ",\"launches\":" << r.launches
         << ",\"outputs\":" << r.outputs_compared << ",\"ms\":" << absl::StrFormat("%.1f", millis)
         << ",\"reason\":" << Quote(r.reason) << ",\"evidence\":[" << absl::StrJoin(evidence, ",") << "]}" << std::endl;
  }

  static void Print(const std::string& types, const std::string& shape, const workers::CublasLtAlgorithm& algorithm,
                    const gemm::Recovery& r) {
    std::printf("%s %s %s\n  %s%s\n", types.c_str(), shape.c_str(), algorithm.ToString().c_str(),
                r.explained ? "" : "UNEXPLAINED ", gemm::ToText(r.desc).c_str());
    for (const std::string& line : r.evidence) std::printf("    %s\n", line.c_str());
    if (r.mismatch) {
      std::printf("    first mismatch at (%ld, %ld): %lx, library %lx\n", static_cast<long>(r.mismatch->output.row),
                  static_cast<long>(r.mismatch->output.column), static_cast<unsigned long>(r.mismatch->expected),
                  static_cast<unsigned long>(r.mismatch->library));
    }
  }

  workers::CublasLtLibrary* const library_;
  const Flags flags_;
  std::ofstream out_;
  std::map<std::string, Tally> tallies_;
  int count_ = 0, walked_ = 0;
};

int Run(const Flags& flags) {
  const auto library = workers::CublasLtLibrary::Open({0, flags.workspace});
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", std::string(library.status().message()).c_str());
    return 2;
  }
  std::printf("cuBLASLt %ld, sm_%d, %d multiprocessors, workspace %ld bytes, seed %lu\n",
              static_cast<long>((*library)->version()), (*library)->sm(), (*library)->multiprocessors(),
              static_cast<long>(flags.workspace), static_cast<unsigned long>(flags.seed));
  Runner runner(library->get(), flags);
  const std::vector<std::string> types = absl::StrSplit(flags.types, ';');
  const auto begin = Clock::now();
  std::vector<std::string> given;
  if (!flags.shape.empty()) given = absl::StrSplit(flags.shape, ',');
  std::vector<Shapes> shapes(types.size(), Shapes(flags.seed));
  for (size_t i = 0; given.empty() || i < given.size(); ++i) {
    for (size_t t = 0; t < types.size(); ++t) {
      GemmProblem typed;
      if (!ParseTypes(types[t], &typed)) return std::fprintf(stderr, "types: '%s'\n", types[t].c_str()), 2;
      GemmProblem problem = shapes[t].Next(gemm::FormatOf(typed.a_type).bits == 8);
      if (!given.empty() && !ParseShape(given[i], &problem)) return std::fprintf(stderr, "shape: '%s'\n", given[i].c_str()), 2;
      ParseTypes(types[t], &problem);
      runner.One(types[t], problem);
      if (std::chrono::duration<double>(Clock::now() - begin).count() > flags.seconds) {
        runner.Table();
        return 0;
      }
    }
    std::fflush(stdout);
  }
  runner.Table();
  return 0;
}

}  // namespace
}  // namespace samebits

int main(int argc, char** argv) {
  samebits::Flags flags;
  if (!samebits::ParseFlags(argc, argv, &flags)) {
    std::fprintf(stderr, "usage: see the head of gemm_recovery_main.cc\n");
    return 2;
  }
  return samebits::Run(flags);
}
