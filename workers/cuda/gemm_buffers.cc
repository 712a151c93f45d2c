#include "workers/cuda/gemm_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"
#include "workers/cuda/kernels/place_rows.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {
namespace {

using gemm::GemmProblem;
using softfloat::FormatId;

int WidthIndex(FormatId type) {
  const int64_t bytes = gemm::BytesOf(type);
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

template <typename Element>
void Pack(const std::vector<uint64_t>& patterns, uint8_t* to) {
  Element* out = reinterpret_cast<Element*>(to);
  for (size_t i = 0; i < patterns.size(); ++i) out[i] = static_cast<Element>(patterns[i]);
}

void PackRows(const gemm::SparseRows& rows, FormatId type, uint8_t* to) {
  static constexpr void (*kPack[])(const std::vector<uint64_t>&, uint8_t*) = {Pack<uint8_t>, Pack<uint16_t>,
                                                                              Pack<uint32_t>, Pack<uint64_t>};
  kPack[WidthIndex(type)](rows.patterns, to);
}

int64_t Aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

absl::StatusOr<std::unique_ptr<GemmBuffers>> GemmBuffers::Open(std::shared_ptr<const CudaApi> api, int device,
                                                               int64_t workspace_bytes) {
  std::unique_ptr<GemmBuffers> buffers(new GemmBuffers(std::move(api)));
  SAMEBITS_RETURN_IF(buffers->Start(device, workspace_bytes));
  return buffers;
}

absl::Status GemmBuffers::Start(int device, int64_t workspace_bytes) {
  device_ = device;
  workspace_bytes_ = workspace_bytes;
  if (api_->cudaSetDevice(device_) != cudaSuccess) return absl::UnavailableError("no such CUDA device");
  int major = 0, minor = 0;
  SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMajor, &major));
  SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMinor, &minor));
  SAMEBITS_RETURN_IF(Attribute(cudaDevAttrMultiProcessorCount, &multiprocessors_));
  sm_ = 10 * major + minor;
  SAMEBITS_RETURN_IF(workspace_.Reserve(workspace_bytes_));  // makes the device's context, too
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
  return LoadKernels();
}

GemmBuffers::~GemmBuffers() {
  if (module_ != nullptr) api_->cuModuleUnload(module_);
  if (stream_ != nullptr) api_->cudaStreamDestroy(stream_);
}

absl::Status GemmBuffers::SelectDevice() const { return api_->Cuda(api_->cudaSetDevice(device_), "cudaSetDevice"); }

absl::StatusOr<std::vector<uint64_t>> GemmBuffers::Multiply(const GemmProblem& problem, const gemm::SparseRows& a,
                                                            const gemm::SparseRows& b,
                                                            std::span<const gemm::Output> outputs,
                                                            const std::function<absl::Status()>& call) {
  SAMEBITS_RETURN_IF(SelectDevice());
  SAMEBITS_RETURN_IF(Prepare(problem));
  if (absl::Status status = Compute(a, b, outputs, call); !status.ok()) {
    problem_.reset();  // rows may be left in the operands
    return status;
  }
  return gemm::LoadPatterns({results_.data(), outputs.size() * gemm::BytesOf(problem.output_type)}, problem.output_type);
}

absl::Status GemmBuffers::MultiplyWhole(const GemmProblem& problem,
                                        const std::function<absl::Status(void* a, void* b)>& fill,
                                        const std::function<absl::Status()>& call) {
  SAMEBITS_RETURN_IF(SelectDevice());
  SAMEBITS_RETURN_IF(Prepare(problem));
  problem_.reset();  // the operands will not be zero
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamSynchronize(stream_), "operands"));
  SAMEBITS_RETURN_IF(fill(a_.data(), b_.data()));
  SAMEBITS_RETURN_IF(Clear(d_, 0xff, d_bytes_));
  SAMEBITS_RETURN_IF(call());
  return api_->Cuda(api_->cudaStreamSynchronize(stream_), "product");
}

absl::Status GemmBuffers::Compute(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                  std::span<const gemm::Output> outputs, const std::function<absl::Status()>& call) {
  SAMEBITS_RETURN_IF(Stage(a, b, outputs));
  SAMEBITS_RETURN_IF(Place(a, b, true));
  SAMEBITS_RETURN_IF(Clear(d_, 0xff, d_bytes_));  // what is not written shows as NaN
  SAMEBITS_RETURN_IF(call());
  SAMEBITS_RETURN_IF(Gather(static_cast<int64_t>(outputs.size())));
  SAMEBITS_RETURN_IF(Place(a, b, false));
  return api_->Cuda(api_->cudaStreamSynchronize(stream_), "product");
}

absl::Status GemmBuffers::Attribute(cudaDeviceAttr attribute, int* value) const {
  return api_->Cuda(api_->cudaDeviceGetAttribute(value, attribute, device_), "cudaDeviceGetAttribute");
}

absl::Status GemmBuffers::LoadKernels() {
  SAMEBITS_RETURN_IF(CudaApi::Driver(api_->cuModuleLoadData(&module_, PlaceRowsPtx().c_str()), "kernels"));
  for (int i = 0; i < 4; ++i) {
    const std::string scatter = absl::StrCat("scatter_", 1 << i), gather = absl::StrCat("gather_", 1 << i);
    SAMEBITS_RETURN_IF(CudaApi::Driver(api_->cuModuleGetFunction(&scatter_[i], module_, scatter.c_str()), "kernels"));
    SAMEBITS_RETURN_IF(CudaApi::Driver(api_->cuModuleGetFunction(&gather_[i], module_, gather.c_str()), "kernels"));
  }
  return absl::OkStatus();
}

absl::Status GemmBuffers::Launch(CUfunction kernel, int64_t threads, std::vector<uint64_t> arguments) {
  std::vector<void*> pointers;
  for (uint64_t& argument : arguments) pointers.push_back(&argument);
  const unsigned blocks = static_cast<unsigned>(std::clamp<int64_t>((threads + 255) / 256, 1, 8192));
  return CudaApi::Driver(
      api_->cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream_, pointers.data(), nullptr), "launch");
}

absl::Status GemmBuffers::Clear(const CudaBuffer& buffer, int value, int64_t bytes) {
  return api_->Cuda(api_->cudaMemsetAsync(buffer.data(), value, bytes, stream_), "cudaMemset");
}

absl::Status GemmBuffers::Prepare(const GemmProblem& p) {
  if (problem_ && *problem_ == p) return absl::OkStatus();
  problem_.reset();
  const absl::StatusOr<int64_t> a_bytes = gemm::MatrixBytes(p.m, p.k, p.a_type);
  const absl::StatusOr<int64_t> b_bytes = gemm::MatrixBytes(p.n, p.k, p.b_type);
  const absl::StatusOr<int64_t> d_bytes = gemm::MatrixBytes(p.m, p.n, p.output_type);
  for (const auto* bytes : {&a_bytes, &b_bytes, &d_bytes}) SAMEBITS_RETURN_IF(bytes->status());
  d_bytes_ = *d_bytes;
  SAMEBITS_RETURN_IF(a_.Reserve(*a_bytes));
  SAMEBITS_RETURN_IF(b_.Reserve(*b_bytes));
  SAMEBITS_RETURN_IF(d_.Reserve(*d_bytes));
  SAMEBITS_RETURN_IF(Clear(a_, 0, *a_bytes));
  SAMEBITS_RETURN_IF(Clear(b_, 0, *b_bytes));
  problem_ = p;
  return absl::OkStatus();
}

// Copies to the device, one after the other: rows' numbers of A and of B, places of outputs in D, rows of A and of B.
absl::Status GemmBuffers::Stage(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                std::span<const gemm::Output> outputs) {
  const int64_t a_bytes = a.patterns.size() * gemm::BytesOf(problem_->a_type);
  const int64_t b_bytes = b.patterns.size() * gemm::BytesOf(problem_->b_type);
  a_index_at_ = 0;
  b_index_at_ = Aligned(8 * a.index.size());
  places_at_ = b_index_at_ + Aligned(8 * b.index.size());
  a_rows_at_ = places_at_ + Aligned(8 * outputs.size());
  b_rows_at_ = a_rows_at_ + Aligned(a_bytes);
  const int64_t bytes = b_rows_at_ + Aligned(b_bytes);
  SAMEBITS_RETURN_IF(host_.Reserve(bytes));
  SAMEBITS_RETURN_IF(staged_.Reserve(bytes));
  std::copy(a.index.begin(), a.index.end(), reinterpret_cast<int64_t*>(host_.data() + a_index_at_));
  std::copy(b.index.begin(), b.index.end(), reinterpret_cast<int64_t*>(host_.data() + b_index_at_));
  int64_t* places = reinterpret_cast<int64_t*>(host_.data() + places_at_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    places[i] = a.index[outputs[i].row] * problem_->n + b.index[outputs[i].column];
  }
  PackRows(a, problem_->a_type, host_.data() + a_rows_at_);
  PackRows(b, problem_->b_type, host_.data() + b_rows_at_);
  return api_->Cuda(api_->cudaMemcpyAsync(staged_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream_), "upload");
}

// Puts the staged rows in their places, or zeros there.
absl::Status GemmBuffers::Place(const gemm::SparseRows& a, const gemm::SparseRows& b, bool rows) {
  const GemmProblem& p = *problem_;
  SAMEBITS_RETURN_IF(Scatter(a_, p.a_type, rows ? staged_.data() + a_rows_at_ : nullptr, a_index_at_, a.index.size(),
                             p.a_contiguous(), p.m));
  return Scatter(b_, p.b_type, rows ? staged_.data() + b_rows_at_ : nullptr, b_index_at_, b.index.size(),
                 p.b_contiguous(), p.n);
}

absl::Status GemmBuffers::Scatter(const CudaBuffer& to, FormatId type, const uint8_t* from, int64_t index_at,
                                  int64_t rows, bool contiguous, int64_t side) {
  const int64_t k = problem_->k, count = rows * k;
  const uint64_t row_stride = contiguous ? k : 1, k_stride = contiguous ? 1 : side;
  return Launch(scatter_[WidthIndex(type)], count,
                {Address(to.data()), Address(from), Address(staged_.data() + index_at), static_cast<uint64_t>(count),
                 static_cast<uint64_t>(k), row_stride, k_stride});
}

absl::Status GemmBuffers::Gather(int64_t count) {
  const int64_t bytes = count * gemm::BytesOf(problem_->output_type);
  SAMEBITS_RETURN_IF(gathered_.Reserve(bytes));
  SAMEBITS_RETURN_IF(results_.Reserve(bytes));
  SAMEBITS_RETURN_IF(Launch(gather_[WidthIndex(problem_->output_type)], count,
                            {Address(gathered_.data()), Address(d_.data()), Address(staged_.data() + places_at_),
                             static_cast<uint64_t>(count)}));
  return api_->Cuda(
      api_->cudaMemcpyAsync(results_.data(), gathered_.data(), bytes, cudaMemcpyDeviceToHost, stream_), "download");
}

}  // namespace samebits::workers
