#include "workers/cuda/emulator/gpu_emulator.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/gemm/operand.h"
#include "core/gemm/recovery.h"
#include "workers/cuda/emulator/kernel_texts.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {
namespace {

using gemm::FlatPlan;
using gemm::FormatId;
using gemm::GemmProblem;
using gemm::WalkArithmetic;

constexpr int64_t kFillPatterns = 1024;
constexpr int64_t kMostPatterns = int64_t{1} << 24;  // of an operand that the host brings

const char* BoolText(bool value) { return value ? "true" : "false"; }

std::vector<std::string> OptionsFor(const FlatPlan& plan, FormatId type) {
  std::vector<std::string> options = {"-std=c++17", absl::StrCat("-DELEMENT_BYTES=", gemm::BytesOf(type)),
                                      absl::StrCat("-DARITHMETIC=", static_cast<int>(plan.arithmetic))};
  if (plan.arithmetic != WalkArithmetic::kMatrix) {
    options.push_back(absl::StrCat("-DFUSED=", BoolText(plan.fused)));
    return options;
  }
  const softfloat::GroupRule& r = plan.rule;
  options.push_back(absl::StrCat("-DRULE=", r.group, ",", r.fraction_bits, ",", r.zero_exponent, ",", r.product_fraction_bits,
                                 ",{", r.accumulator.exponent_bits, ",", r.accumulator.fraction_bits, "},",
                                 r.result_fraction_bits, ",", BoolText(r.nearest)));
  return options;
}

// Low bits of a pattern that its word does not depend on.
int UnusedBits(FormatId type) { return gemm::FormatOf(type).unused_low_bits; }

// Whether words come from a table; else they are the patterns themselves.
bool HasTable(WalkArithmetic arithmetic, FormatId type) {
  return arithmetic == WalkArithmetic::kMatrix || (arithmetic == WalkArithmetic::kF32 && type != FormatId::kF32);
}

int64_t WordBytes(WalkArithmetic arithmetic) { return arithmetic == WalkArithmetic::kF64 ? 8 : 4; }

}  // namespace

absl::StatusOr<std::string> CompileEmulator(const NvrtcApi& nvrtc, int sm, const FlatPlan& plan, FormatId type) {
  std::vector<std::string> options = OptionsFor(plan, type);
  options.push_back(absl::StrCat("-arch=sm_", sm));
  return CompileCuda(nvrtc, "samebits_emulate.cu", absl::StrCat(kText_group_sum, kText_output_walk, kText_emulate), options);
}

absl::StatusOr<std::unique_ptr<GpuEmulator>> GpuEmulator::Open(int device) {
  absl::StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::Load();
  if (!api.ok()) return api.status();
  absl::StatusOr<std::shared_ptr<const NvrtcApi>> nvrtc = NvrtcApi::Load();
  if (!nvrtc.ok()) return nvrtc.status();
  std::unique_ptr<GpuEmulator> emulator(new GpuEmulator(*std::move(api), *std::move(nvrtc), device));
  SAMEBITS_RETURN_IF(emulator->Start());
  return emulator;
}

absl::Status GpuEmulator::Start() {
  if (api_->cudaSetDevice(device_) != cudaSuccess) return absl::UnavailableError("no such CUDA device");
  int major = 0, minor = 0;
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_), "device"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_), "device"));
  sm_ = 10 * major + minor;
  SAMEBITS_RETURN_IF(results_.Reserve(16));  // makes the device's context, too
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventCreateWithFlags(&begin_, cudaEventDefault), "event"));
  return api_->Cuda(api_->cudaEventCreateWithFlags(&end_, cudaEventDefault), "event");
}

GpuEmulator::~GpuEmulator() {
  if (begin_ != nullptr) api_->cudaEventDestroy(begin_);
  if (end_ != nullptr) api_->cudaEventDestroy(end_);
  if (stream_ != nullptr) api_->cudaStreamDestroy(stream_);
}

KernelModule::Grid GpuEmulator::GridFor(int64_t threads) {
  constexpr unsigned kBlock = 128;
  return {static_cast<unsigned>(std::clamp<int64_t>((threads + kBlock - 1) / kBlock, 1, 1 << 20)), 1, 1, kBlock};
}

absl::StatusOr<KernelModule*> GpuEmulator::ModuleFor(const FlatPlan& plan, FormatId type) {
  std::unique_ptr<KernelModule>& module = modules_[absl::StrJoin(OptionsFor(plan, type), " ")];
  if (module != nullptr) return module.get();
  absl::StatusOr<std::string> cubin = CompileEmulator(*nvrtc_, sm_, plan, type);
  if (!cubin.ok()) return cubin.status();
  absl::StatusOr<std::unique_ptr<KernelModule>> loaded = KernelModule::Load(*api_, *std::move(cubin));
  if (!loaded.ok()) return loaded.status();
  module = *std::move(loaded);
  return module.get();
}

absl::Status GpuEmulator::Upload(const CudaBuffer& to, const void* from, int64_t bytes) {
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream_), "upload"));
  return api_->Cuda(api_->cudaStreamSynchronize(stream_), "upload");
}

absl::StatusOr<const CudaBuffer*> GpuEmulator::TableFor(WalkArithmetic arithmetic, FormatId type) {
  const auto [at, is_new] = tables_.try_emplace({arithmetic, type}, CudaBuffer(api_.get(), false));
  if (!is_new) return &at->second;
  const int unused = UnusedBits(type);
  std::vector<uint32_t> words(size_t{1} << (gemm::FormatOf(type).bits - unused));
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(gemm::WalkWord(arithmetic, type, i << unused));
  SAMEBITS_RETURN_IF(at->second.Reserve(words.size() * 4));
  SAMEBITS_RETURN_IF(Upload(at->second, words.data(), words.size() * 4));
  return &at->second;
}

absl::Status GpuEmulator::LoadPlan(const FlatPlan& plan) {
  const auto load = [&](CudaBuffer& to, const auto& values) -> absl::Status {
    const int64_t bytes = values.size() * sizeof(values[0]);
    SAMEBITS_RETURN_IF(to.Reserve(bytes));
    return bytes == 0 ? absl::OkStatus() : Upload(to, values.data(), bytes);
  };
  SAMEBITS_RETURN_IF(load(order_, plan.order));
  SAMEBITS_RETURN_IF(load(groups_, plan.group_begin));
  return load(steps_, plan.steps);
}

absl::Status GpuEmulator::Decode(KernelModule& module, const FlatPlan& plan, int64_t k, const Side& side, CudaBuffer* words) {
  const void* table = nullptr;
  if (HasTable(plan.arithmetic, side.type)) {
    const absl::StatusOr<const CudaBuffer*> found = TableFor(plan.arithmetic, side.type);
    if (!found.ok()) return found.status();
    table = (*found)->data();
  }
  SAMEBITS_RETURN_IF(words->Reserve(side.rows * k * WordBytes(plan.arithmetic)));
  return module.Launch("decode", GridFor(side.rows * k), stream_, static_cast<void*>(words->data()), side.data, table,
                       UnusedBits(side.type), static_cast<long long>(side.rows), static_cast<long long>(k),
                       static_cast<long long>(side.row_stride), static_cast<long long>(side.k_stride));
}

absl::Status GpuEmulator::Place(std::span<const uint64_t> patterns, FormatId type, CudaBuffer* to) {
  std::vector<uint8_t> bytes(patterns.size() * gemm::BytesOf(type));
  for (size_t i = 0; i < patterns.size(); ++i) gemm::StoreElement(bytes, type, i, patterns[i]);
  SAMEBITS_RETURN_IF(to->Reserve(bytes.size()));
  return Upload(*to, bytes.data(), bytes.size());
}

absl::Status GpuEmulator::Timed(const std::function<absl::Status()>& launch) {
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventRecord(begin_, stream_), "event"));
  SAMEBITS_RETURN_IF(launch());
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventRecord(end_, stream_), "event"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventSynchronize(end_), "emulator"));
  float millis = 0;
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventElapsedTime(&millis, begin_, end_), "event"));
  kernel_millis_ = millis;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> GpuEmulator::Accumulate(const gemm::Plan& plan, const GemmProblem& p,
                                                              std::span<const uint64_t> a, std::span<const uint64_t> b,
                                                              std::span<const gemm::Output> outputs) {
  const int64_t k = plan.k;
  if (k < 1 || a.empty() || b.empty() || a.size() % k != 0 || b.size() % k != 0 || std::ssize(a) > kMostPatterns ||
      std::ssize(b) > kMostPatterns)
    return absl::InvalidArgumentError("operands must be whole rows of K elements, at most 2^24 in all");
  const int64_t m = a.size() / k, n = b.size() / k;
  std::vector<long long> places;
  for (const gemm::Output& o : outputs) {
    if (o.row < 0 || o.row >= m || o.column < 0 || o.column >= n) return absl::InvalidArgumentError("an output outside D");
    places.push_back(o.row * n + o.column);
  }
  if (places.empty()) return std::vector<uint64_t>();
  const absl::StatusOr<FlatPlan> flat = gemm::Flatten(plan, p.a_type, p.b_type);
  if (!flat.ok()) return flat.status();
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaSetDevice(device_), "cudaSetDevice"));
  const absl::StatusOr<KernelModule*> module = ModuleFor(*flat, p.a_type);
  if (!module.ok()) return module.status();
  SAMEBITS_RETURN_IF(Place(a, p.a_type, &a_));
  SAMEBITS_RETURN_IF(Place(b, p.b_type, &b_));
  SAMEBITS_RETURN_IF(LoadPlan(*flat));
  SAMEBITS_RETURN_IF(Decode(**module, *flat, k, {p.a_type, m, k, 1, a_.data()}, &a_words_));
  SAMEBITS_RETURN_IF(Decode(**module, *flat, k, {p.b_type, n, k, 1, b_.data()}, &b_words_));
  const int64_t count = std::ssize(places);
  SAMEBITS_RETURN_IF(places_.Reserve(8 * count));
  SAMEBITS_RETURN_IF(results_.Reserve(8 * count));
  SAMEBITS_RETURN_IF(Upload(places_, places.data(), 8 * count));
  SAMEBITS_RETURN_IF(Timed([&] {
    return (*module)->Launch("emulate", GridFor(count), stream_, a_words_.data(), b_words_.data(), order_.data(),
                             groups_.data(), steps_.data(), static_cast<int>(flat->steps.size()), places_.data(),
                             static_cast<long long>(count), static_cast<long long>(m), static_cast<long long>(n),
                             results_.data());
  }));
  std::vector<uint64_t> results(count);
  SAMEBITS_RETURN_IF(
      api_->Cuda(api_->cudaMemcpyAsync(results.data(), results_.data(), 8 * count, cudaMemcpyDeviceToHost, stream_), "download"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamSynchronize(stream_), "download"));
  return results;
}

absl::Status GpuEmulator::Fill(const GemmProblem& p, uint64_t seed, int draw, void* a, void* b) {
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaSetDevice(device_), "cudaSetDevice"));
  std::mt19937_64 random(seed);
  const bool cancelling = draw % 4 == 3;
  const void* pairs = nullptr;
  if (cancelling) {  // places 2 i and 2 i + 1 of a random order are a pair; a last one alone is a pair's first
    std::vector<int> order(p.k);
    pairs_.assign(p.k, 0);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = p.k - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (int64_t i = 0; i < p.k; ++i) pairs_[order[i]] = static_cast<int>(i);
    SAMEBITS_RETURN_IF(pairs_at_.Reserve(4 * p.k));
    SAMEBITS_RETURN_IF(Upload(pairs_at_, pairs_.data(), 4 * p.k));
    pairs = pairs_at_.data();
  }
  const auto side = [&](FormatId type, int64_t rows, bool contiguous, bool flips, void* to) -> absl::Status {
    FlatPlan none;  // filling needs no arithmetic
    none.arithmetic = type == FormatId::kF64 ? WalkArithmetic::kF64 : WalkArithmetic::kF32;
    const absl::StatusOr<KernelModule*> module = ModuleFor(none, type);
    if (!module.ok()) return module.status();
    SAMEBITS_RETURN_IF(Place(gemm::DrawPatterns(type, kFillPatterns, random(), cancelling ? 1 : draw % 4), type, &fills_));
    const unsigned long long flip = flips ? gemm::FormatOf(type).sign_mask() : 0;
    SAMEBITS_RETURN_IF((*module)->Launch("fill", GridFor(rows * p.k), stream_, to, fills_.data(), pairs,
                                         static_cast<unsigned long long>(random()), flip, static_cast<long long>(rows),
                                         static_cast<long long>(p.k), static_cast<long long>(contiguous ? p.k : 1),
                                         static_cast<long long>(contiguous ? 1 : rows)));
    return api_->Cuda(api_->cudaStreamSynchronize(stream_), "operands");
  };
  SAMEBITS_RETURN_IF(side(p.a_type, p.m, p.a_contiguous(), true, a));
  return side(p.b_type, p.n, p.b_contiguous(), false, b);
}

absl::StatusOr<GpuEmulator::Differences> GpuEmulator::Check(const gemm::Plan& plan, const GemmProblem& p, const void* a,
                                                            const void* b, const void* d) {
  const absl::StatusOr<FlatPlan> flat = gemm::Flatten(plan, p.a_type, p.b_type);
  if (!flat.ok()) return flat.status();
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaSetDevice(device_), "cudaSetDevice"));
  const absl::StatusOr<KernelModule*> module = ModuleFor(*flat, p.a_type);
  if (!module.ok()) return module.status();
  SAMEBITS_RETURN_IF(LoadPlan(*flat));
  const auto side = [&](FormatId type, int64_t rows, bool contiguous, const void* data, CudaBuffer* words) {
    return Decode(**module, *flat, p.k, {type, rows, contiguous ? p.k : 1, contiguous ? 1 : rows, data}, words);
  };
  SAMEBITS_RETURN_IF(side(p.a_type, p.m, p.a_contiguous(), a, &a_words_));
  SAMEBITS_RETURN_IF(side(p.b_type, p.n, p.b_contiguous(), b, &b_words_));
  uint64_t found[2] = {0, ~uint64_t{0}};
  SAMEBITS_RETURN_IF(Upload(results_, found, sizeof(found)));
  const softfloat::Format& output = gemm::FormatOf(p.output_type);
  SAMEBITS_RETURN_IF(Timed([&] {
    return (*module)->Launch("check", GridFor(p.m * p.n), stream_, a_words_.data(), b_words_.data(), order_.data(), groups_.data(),
                             steps_.data(), static_cast<int>(flat->steps.size()), flat->output_type, d,
                             static_cast<int>(gemm::BytesOf(p.output_type)),
                             static_cast<unsigned long long>(output.infinity()),
                             static_cast<unsigned long long>(output.sign_mask()), static_cast<long long>(p.m),
                             static_cast<long long>(p.n), results_.data());
  }));
  SAMEBITS_RETURN_IF(
      api_->Cuda(api_->cudaMemcpyAsync(found, results_.data(), sizeof(found), cudaMemcpyDeviceToHost, stream_), "download"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamSynchronize(stream_), "download"));
  Differences differences{p.m * p.n, static_cast<int64_t>(found[0]), {}};
  if (found[0] != 0) differences.first = {static_cast<int64_t>(found[1]) / p.n, static_cast<int64_t>(found[1]) % p.n};
  return differences;
}

}  // namespace samebits::workers
