// The emulator on this machine's GPU (workers/cuda/emulator): against the CPU's, against cuBLASLt, and its speed.
//   samebits_gemm_emulator --out FILE [--hidden N] [--profile FILE --seconds S [--most PRODUCTS]] [--ratio] [--seed N]
//                          [--workspace BYTES]
// --hidden: N random descriptors of all families, types and architectures, on numbers of several distributions and on any
// bit patterns, infinities, NaNs and subnormals among them: every output compared with the CPU emulator's.
// --profile: shapes that an arch profile explains, in an order that the seed shuffles, until the time is over: cuBLASLt's
// whole product of draws of operands, one of which cancels in pairs, against the profile's descriptor; shapes of more than
// PRODUCTS multiplications are left out. --ratio: the time for some products on the GPU and on all cores of the CPU.
// FILE gets a JSON object; exit code 1 where anything differs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/gemm/emulator.h"
#include "core/gemm/profile.h"
#include "core/gemm/recovery.h"
#include "core/gemm/simulated_library.h"
#include "workers/cuda/cublaslt_library.h"
#include "workers/cuda/emulator/gpu_emulator.h"

namespace samebits::device_test {
namespace {

using gemm::GemmProblem;
using workers::GpuEmulator;
using Clock = std::chrono::steady_clock;

struct Flags {
  std::string out, profile;
  int64_t hidden = 0, workspace = 32 << 20;
  double seconds = 120, most = 4e11;
  uint64_t seed = 1;
  bool ratio = false;
};

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Any bit patterns: few of them, where `some`.
std::vector<uint64_t> AnyPatterns(gemm::FormatId type, int64_t count, std::mt19937_64& random, bool some) {
  std::vector<uint64_t> patterns = gemm::DrawPatterns(type, count, random(), 1);
  for (uint64_t& pattern : patterns)
    if (!some || random() % 64 == 0) pattern = random() & gemm::FormatOf(type).mask();
  return patterns;
}

class Program {
 public:
  explicit Program(const Flags& flags) : flags_(flags) {}

  absl::Status Run() {
    auto emulator = GpuEmulator::Open(0);
    if (!emulator.ok()) return emulator.status();
    emulator_ = *std::move(emulator);
    absl::Status status;
    if (flags_.hidden > 0) status = Hidden();
    if (status.ok() && flags_.ratio) status = Ratio();
    if (status.ok() && !flags_.profile.empty()) status = Profile();
    std::ofstream(flags_.out) << "{\n " << absl::StrJoin(fields_, ",\n ") << "\n}\n";
    return status;
  }
  bool differs() const { return differs_; }

 private:
  void Field(const std::string& name, const std::string& json) {
    fields_.push_back(absl::StrCat("\"", name, "\": ", json));
    std::printf("%s: %s\n", name.c_str(), json.c_str());
    std::fflush(stdout);
  }

  absl::Status Hidden() {
    std::mt19937_64 random(flags_.seed);
    int64_t outputs = 0, different = 0, specials = 0;
    const Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < flags_.hidden; ++i) {
      const gemm::HiddenGemm hidden = gemm::DrawHidden(random, false);
      for (int draw = 0; draw < 4; ++draw) {
        if (absl::Status status = CompareHidden(hidden, draw, random, &outputs, &different, &specials); !status.ok()) return status;
      }
    }
    Field("against the CPU emulator",
          absl::StrFormat("{\"descriptors\": %d, \"seed\": %d, \"outputs\": %d, \"of these NaN\": %d, \"different\": %d, \"seconds\": %.0f}",
                          flags_.hidden, flags_.seed, outputs, specials, different, SecondsSince(begin)));
    differs_ = differs_ || different > 0;
    return absl::OkStatus();
  }

  absl::Status CompareHidden(const gemm::HiddenGemm& hidden, int draw, std::mt19937_64& random, int64_t* outputs,
                             int64_t* different, int64_t* specials) {
    const GemmProblem& p = hidden.problem;
    constexpr int64_t kRows = 8;
    const auto plan = gemm::Compile(hidden.desc, p.k, hidden.sm);
    if (!plan.ok()) return plan.status();
    const auto draw_patterns = [&](gemm::FormatId type) {
      return draw < 2 ? gemm::DrawPatterns(type, kRows * p.k, random(), draw) : AnyPatterns(type, kRows * p.k, random, draw == 2);
    };
    const std::vector<uint64_t> a = draw_patterns(p.a_type), b = draw_patterns(p.b_type);
    std::vector<gemm::Output> places;
    for (int64_t i = 0; i < kRows * kRows; ++i) places.push_back({i / kRows, i % kRows});
    const bool scalar = !plan->arithmetic.unit.has_value();
    const std::vector<uint64_t> expected =
        gemm::Accumulate(*plan, gemm::Operand(p.a_type, kRows, p.k, a, scalar), gemm::Operand(p.b_type, kRows, p.k, b, scalar), places,
                         static_cast<int>(std::thread::hardware_concurrency()));
    const auto got = emulator_->Accumulate(*plan, p, a, b, places);
    if (!got.ok()) return got.status();
    const softfloat::Format& format = gemm::FormatOf(plan->accumulate_type);
    for (size_t i = 0; i < places.size(); ++i) {
      const bool nan = IsNan(format, expected[i]);
      ++*outputs;
      *specials += nan;
      const bool wide_nan = plan->accumulate_type == gemm::FormatId::kF64 && nan && IsNan(format, (*got)[i]);
      if ((*got)[i] == expected[i] || wide_nan) continue;
      if (++*different <= 20) {
        std::printf("DIFFERENT %s sm_%d k %ld draw %d output %zu: CPU %lx GPU %lx\n", ToText(hidden.desc).c_str(), hidden.sm,
                    static_cast<long>(p.k), draw, i, static_cast<unsigned long>(expected[i]), static_cast<unsigned long>((*got)[i]));
      }
    }
    return absl::OkStatus();
  }

  struct Case {
    const char* name;
    const char* desc;
    int64_t side, k;
  };

  absl::Status Ratio() {
    const Case cases[] = {
        {"f16, wgmma, one chain", "gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16", 1024, 4096},
        {"bf16, wgmma, split in 4", "gemm/1 types=bf16,bf16,f32,bf16 family=split_k instruction=wgmma:16 cuts=contiguous:1024x4:ascending", 1024, 4096},
        {"e4m3, wgmma, promotion every 128", "gemm/1 types=e4m3,e4m3,f32,bf16 instruction=wgmma:32 fast_accum=no:128", 1024, 4096},
        {"bf16, fma, 256 lanes", "gemm/1 types=bf16,bf16,f32,f32 family=gemv instruction=fma cuts=strided:16x16:ascending,strided:1x16:ascending", 1024, 4096}};
    std::vector<std::string> rows;
    for (const Case& c : cases) {
      const absl::StatusOr<std::string> row = RatioOf(c);
      if (!row.ok()) return row.status();
      rows.push_back(absl::StrCat("\n  \"", c.name, "\": ", *row));
    }
    Field("speed", absl::StrCat("{", absl::StrJoin(rows, ","), "\n }"));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> RatioOf(const Case& c) {
    const auto desc = gemm::ParseGemmDesc(c.desc);
    if (!desc.ok()) return desc.status();
    const auto plan = gemm::Compile(*desc, c.k, 90);
    if (!plan.ok()) return plan.status();
    GemmProblem p;
    p.a_type = desc->a_type, p.b_type = desc->b_type, p.accumulate_type = desc->accumulate_type, p.output_type = desc->output_type;
    const std::vector<uint64_t> a = gemm::DrawPatterns(p.a_type, c.side * c.k, 1, 1), b = gemm::DrawPatterns(p.b_type, c.side * c.k, 2, 1);
    std::vector<gemm::Output> places;
    for (int64_t i = 0; i < c.side * c.side; ++i) places.push_back({i / c.side, i % c.side});
    const bool scalar = !plan->arithmetic.unit.has_value();
    const gemm::Operand x(p.a_type, c.side, c.k, a, scalar), y(p.b_type, c.side, c.k, b, scalar);
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    const Clock::time_point begin = Clock::now();
    const std::vector<uint64_t> expected = gemm::Accumulate(*plan, x, y, places, threads);
    const double cpu = SecondsSince(begin) * 1000;
    if (const auto warm = emulator_->Accumulate(*plan, p, a, b, places); !warm.ok()) return warm.status();  // compiles
    const Clock::time_point whole = Clock::now();
    const auto got = emulator_->Accumulate(*plan, p, a, b, places);
    const double gpu = SecondsSince(whole) * 1000;
    if (!got.ok()) return got.status();
    differs_ = differs_ || *got != expected;
    const double products = static_cast<double>(c.side) * static_cast<double>(c.side) * static_cast<double>(c.k);
    return absl::StrFormat(
        "{\"outputs\": %d, \"k\": %d, \"equal\": %s, \"CPU threads\": %d, \"CPU ms\": %.0f, \"GPU kernel ms\": %.1f, "
        "\"GPU with transfers ms\": %.1f, \"CPU over GPU kernel\": %.1f, \"products a second, GPU\": %.3g}",
        places.size(), c.k, *got == expected ? "true" : "false", threads, cpu, emulator_->kernel_millis(), gpu,
        cpu / emulator_->kernel_millis(), products / emulator_->kernel_millis() * 1000);
  }

  struct Shape {
    GemmProblem problem;
    gemm::ShapeDescription description;
  };

  absl::StatusOr<std::vector<Shape>> ShapesOf(const gemm::ArchProfile& profile, int64_t* left_out) const {
    std::vector<Shape> shapes;
    for (const auto& [kind, section] : profile.sections) {
      for (const gemm::ProfileShape& s : section.shapes) {
        if (!s.explained) continue;
        const GemmProblem p = kind.At(s.m, s.n, s.k);
        const auto description = gemm::Describe(profile, p);
        const double products = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        if (!description.ok() || products > flags_.most) {
          ++*left_out;
          continue;
        }
        shapes.push_back({p, *description});
      }
    }
    std::mt19937_64 random(flags_.seed);
    for (size_t i = shapes.size(); i > 1; --i) std::swap(shapes[i - 1], shapes[random() % i]);
    return shapes;
  }

  absl::Status Profile() {
    std::ifstream in(flags_.profile);
    std::stringstream text;
    text << in.rdbuf();
    const auto profile = gemm::ParseArchProfile(text.str());
    if (!profile.ok()) return profile.status();
    int64_t left_out = 0;
    const auto shapes = ShapesOf(*profile, &left_out);
    if (!shapes.ok()) return shapes.status();
    auto library = workers::CublasLtLibrary::Open({0, flags_.workspace});
    if (!library.ok()) return library.status();
    int64_t done = 0, equal = 0, outputs = 0, different = 0, defects = 0;
    double products = 0, kernel_millis = 0;
    const Clock::time_point begin = Clock::now();
    for (const Shape& shape : *shapes) {
      if (SecondsSince(begin) > flags_.seconds) break;
      int64_t own = 0;
      for (int draw : {3, 1}) {
        const auto found = CheckShape(library->get(), shape, draw);
        if (!found.ok()) return found.status();
        outputs += found->outputs;
        own += found->different;
        kernel_millis += emulator_->kernel_millis();
        products += static_cast<double>(found->outputs) * static_cast<double>(shape.problem.k);
      }
      ++done;
      defects += shape.description.summed_k != shape.problem.k;
      different += own;
      equal += own == 0;
    }
    Field("against cuBLASLt, every output",
          absl::StrFormat("{\"shapes of the profile\": %d, \"larger than the limit\": %d, \"studied\": %d, \"equal\": %d, \"with a dropped tail\": %d, "
                          "\"draws a shape\": 2, \"outputs\": %d, \"different outputs\": %d, \"products\": %.4g, \"kernel seconds\": %.1f, "
                          "\"seconds\": %.0f, \"cuBLASLt\": %d, \"seed\": %d}",
                          shapes->size() + left_out, left_out, done, equal, defects, outputs, different, products, kernel_millis / 1000,
                          SecondsSince(begin), (*library)->version(), flags_.seed));
    differs_ = differs_ || different > 0;
    return absl::OkStatus();
  }

  absl::StatusOr<GpuEmulator::Differences> CheckShape(workers::CublasLtLibrary* library, const Shape& shape, int draw) {
    const GemmProblem& p = shape.problem;
    const auto plan = gemm::CompileDefective(shape.description.desc, p.k, shape.description.summed_k, emulator_->sm());
    if (!plan.ok()) return plan.status();
    const auto product = library->MultiplyWhole(p, [&](void* a, void* b) {
      return emulator_->Fill(p, flags_.seed * 7919 + static_cast<uint64_t>(p.m * 31 + p.n * 17 + p.k), draw, a, b);
    });
    if (!product.ok()) return product.status();
    const auto found = emulator_->Check(*plan, p, product->a, product->b, product->d);
    if (found.ok() && found->different > 0 && printed_++ < 40) {
      std::printf("DIFFERENT %s %s %ld x %ld x %ld draw %d: %ld of %ld, first (%ld, %ld)\n  %s\n", TypesText(p).c_str(),
                  ToText(p.layout).c_str(), long{p.m}, long{p.n}, long{p.k}, draw, long{found->different}, long{found->outputs},
                  long{found->first.row}, long{found->first.column}, ToText(shape.description.desc).c_str());
    }
    return found;
  }

  const Flags flags_;
  std::unique_ptr<GpuEmulator> emulator_;
  std::vector<std::string> fields_;
  bool differs_ = false;
  int printed_ = 0;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--ratio") {
      flags->ratio = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--out") {
      flags->out = value;
    } else if (name == "--profile") {
      flags->profile = value;
    } else if (name == "--hidden") {
      flags->hidden = std::atoll(value);
    } else if (name == "--workspace") {
      flags->workspace = std::atoll(value);
    } else if (name == "--seconds") {
      flags->seconds = std::atof(value);
    } else if (name == "--most") {
      flags->most = std::atof(value);
    } else if (name == "--seed") {
      flags->seed = std::strtoull(value, nullptr, 10);
    } else {
      return false;
    }
  }
  return !flags->out.empty();
}

}  // namespace
}  // namespace samebits::device_test

int main(int argc, char** argv) {
  samebits::device_test::Flags flags;
  if (!samebits::device_test::ParseFlags(argc, argv, &flags)) {
    std::fprintf(stderr, "usage: see the head of gemm_emulator_main.cc\n");
    return 2;
  }
  samebits::device_test::Program program(flags);
  if (const absl::Status status = program.Run(); !status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 2;
  }
  return program.differs() ? 1 : 0;
}
