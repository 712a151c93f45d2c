#include "workers/cuda/cublaslt_library.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"
#include "workers/cuda/api.h"
#include "workers/cuda/kernels/place_rows.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {
namespace {

using gemm::GemmProblem;
using softfloat::FormatId;

std::optional<cudaDataType_t> DataType(FormatId type) {
  switch (type) {
    case FormatId::kE4m3:
      return CUDA_R_8F_E4M3;
    case FormatId::kE5m2:
      return CUDA_R_8F_E5M2;
    case FormatId::kF16:
      return CUDA_R_16F;
    case FormatId::kBf16:
      return CUDA_R_16BF;
    case FormatId::kTf32:
    case FormatId::kF32:
      return CUDA_R_32F;
    case FormatId::kF64:
      return CUDA_R_64F;
    default:
      return std::nullopt;
  }
}

cublasComputeType_t ComputeType(const GemmProblem& p) {
  if (p.accumulate_type == FormatId::kF64) return CUBLAS_COMPUTE_64F;
  if (p.accumulate_type == FormatId::kF16) return CUBLAS_COMPUTE_16F;
  return p.a_type == FormatId::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cudaDataType_t ScaleType(const GemmProblem& p) {
  if (p.accumulate_type == FormatId::kF64) return CUDA_R_64F;
  return p.accumulate_type == FormatId::kF16 ? CUDA_R_16F : CUDA_R_32F;
}

}  // namespace

namespace {

int WidthIndex(int64_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3; }

template <typename Element>
void Pack(const std::vector<uint64_t>& patterns, uint8_t* to) {
  Element* out = reinterpret_cast<Element*>(to);
  for (size_t i = 0; i < patterns.size(); ++i) out[i] = static_cast<Element>(patterns[i]);
}

template <typename Element>
void Unpack(const uint8_t* from, std::vector<uint64_t>* patterns) {
  const Element* in = reinterpret_cast<const Element*>(from);
  for (size_t i = 0; i < patterns->size(); ++i) (*patterns)[i] = in[i];
}

int64_t Aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

class CublasLtLibrary::Impl {
 public:
  absl::Status Open(const CublasLtOptions& options) {
    device_ = options.device;
    workspace_bytes_ = options.workspace_bytes;
    absl::StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::Load();
    if (!api.ok()) return api.status();
    loaded_ = *std::move(api);
    api_ = *loaded_;
    if (api_.cudaSetDevice(device_) != cudaSuccess) return absl::UnavailableError("no such CUDA device");
    int major = 0, minor = 0;
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMajor, &major));
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMinor, &minor));
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrMultiProcessorCount, &multiprocessors_));
    sm_ = 10 * major + minor;
    SAMEBITS_RETURN_IF(workspace_.Reserve(workspace_bytes_));  // makes the device's context, too
    SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    SAMEBITS_RETURN_IF(CudaApi::Blas(api_.cublasLtCreate(&handle_), "cublasLtCreate"));
    return LoadKernels();
  }

  ~Impl() {
    Forget();
    if (module_ != nullptr) api_.cuModuleUnload(module_);
    if (stream_ != nullptr) api_.cudaStreamDestroy(stream_);
    if (handle_ != nullptr) api_.cublasLtDestroy(handle_);
  }

  int sm() const { return sm_; }
  int multiprocessors() const { return multiprocessors_; }
  int64_t version() const { return static_cast<int64_t>(api_.cublasLtGetVersion()); }
  const gemm::Algorithm& algorithm() const { return algorithm_; }

  // Makes `problem` the current one: descriptors, the cost model's answer.
  absl::Status Choose(const GemmProblem& problem) {
    if (problem_ && *problem_ == problem) return absl::OkStatus();
    Forget();
    SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaSetDevice(device_), "cudaSetDevice"));
    SAMEBITS_RETURN_IF(Describe(problem));
    problem_ = problem;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) {
    SAMEBITS_RETURN_IF(PrepareBuffers());
    SAMEBITS_RETURN_IF(Stage(a, b, outputs));
    SAMEBITS_RETURN_IF(Place(a, b, true));
    SAMEBITS_RETURN_IF(Run());
    SAMEBITS_RETURN_IF(Gather(outputs.size()));
    SAMEBITS_RETURN_IF(Place(a, b, false));
    SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaStreamSynchronize(stream_), "cublasLtMatmul"));
    return Collect(outputs.size());
  }

 private:
  absl::Status Attribute(cudaDeviceAttr attribute, int* value) {
    return api_.Cuda(api_.cudaDeviceGetAttribute(value, attribute, device_), "cudaDeviceGetAttribute");
  }

  absl::Status LoadKernels() {
    SAMEBITS_RETURN_IF(CudaApi::Driver(api_.cuModuleLoadData(&module_, PlaceRowsPtx().c_str()), "kernels"));
    for (int i = 0; i < 4; ++i) {
      const std::string scatter = absl::StrCat("scatter_", 1 << i), gather = absl::StrCat("gather_", 1 << i);
      SAMEBITS_RETURN_IF(CudaApi::Driver(api_.cuModuleGetFunction(&scatter_[i], module_, scatter.c_str()), "kernels"));
      SAMEBITS_RETURN_IF(CudaApi::Driver(api_.cuModuleGetFunction(&gather_[i], module_, gather.c_str()), "kernels"));
    }
    return absl::OkStatus();
  }

  absl::Status Launch(CUfunction kernel, int64_t threads, std::vector<uint64_t> arguments) {
    std::vector<void*> pointers;
    for (uint64_t& argument : arguments) pointers.push_back(&argument);
    const unsigned blocks = static_cast<unsigned>(std::clamp<int64_t>((threads + 255) / 256, 1, 8192));
    return CudaApi::Driver(api_.cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream_, pointers.data(), nullptr), "launch");
  }

  absl::Status Clear(const CudaBuffer& buffer, int value, int64_t bytes) {
    return api_.Cuda(api_.cudaMemsetAsync(buffer.data(), value, bytes, stream_), "cudaMemset");
  }

  int64_t OutputBytes() const { return problem_->m * problem_->n * gemm::BytesOf(problem_->output_type); }

  absl::Status PrepareBuffers() {
    if (prepared_) return absl::OkStatus();
    const GemmProblem& p = *problem_;
    const int64_t a_bytes = p.m * p.k * gemm::BytesOf(p.a_type), b_bytes = p.n * p.k * gemm::BytesOf(p.b_type);
    SAMEBITS_RETURN_IF(a_.Reserve(a_bytes));
    SAMEBITS_RETURN_IF(b_.Reserve(b_bytes));
    SAMEBITS_RETURN_IF(d_.Reserve(OutputBytes()));
    SAMEBITS_RETURN_IF(Clear(a_, 0, a_bytes));
    SAMEBITS_RETURN_IF(Clear(b_, 0, b_bytes));
    prepared_ = true;
    return absl::OkStatus();
  }

  // Copies to the device, one after the other: rows' numbers and rows of A and of B, places of outputs in D.
  absl::Status Stage(const gemm::SparseRows& a, const gemm::SparseRows& b, std::span<const gemm::Output> outputs) {
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
    return api_.Cuda(api_.cudaMemcpyAsync(staged_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream_), "upload");
  }

  static void PackRows(const gemm::SparseRows& rows, FormatId type, uint8_t* to) {
    static constexpr void (*kPack[])(const std::vector<uint64_t>&, uint8_t*) = {Pack<uint8_t>, Pack<uint16_t>,
                                                                                Pack<uint32_t>, Pack<uint64_t>};
    kPack[WidthIndex(gemm::BytesOf(type))](rows.patterns, to);
  }

  // Puts the staged rows in their places, or zeros there.
  absl::Status Place(const gemm::SparseRows& a, const gemm::SparseRows& b, bool rows) {
    const GemmProblem& p = *problem_;
    SAMEBITS_RETURN_IF(Scatter(a_, p.a_type, rows ? staged_.data() + a_rows_at_ : nullptr, a_index_at_, a.index.size(),
                               p.a_contiguous(), p.m));
    return Scatter(b_, p.b_type, rows ? staged_.data() + b_rows_at_ : nullptr, b_index_at_, b.index.size(),
                   p.b_contiguous(), p.n);
  }

  absl::Status Scatter(const CudaBuffer& to, FormatId type, const uint8_t* from, int64_t index_at, int64_t rows,
                       bool contiguous, int64_t side) {
    const int64_t k = problem_->k, count = rows * k;
    const uint64_t row_stride = contiguous ? k : 1, k_stride = contiguous ? 1 : side;
    return Launch(scatter_[WidthIndex(gemm::BytesOf(type))], count,
                  {Address(to.data()), Address(from), Address(staged_.data() + index_at), static_cast<uint64_t>(count),
                   static_cast<uint64_t>(k), row_stride, k_stride});
  }

  static uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

  absl::Status Run() {
    const GemmProblem& p = *problem_;
    const float one = 1, zero = 0;
    const double one64 = 1, zero64 = 0;
    const uint16_t one16 = 0x3c00, zero16 = 0;
    const void *alpha = &one, *beta = &zero;
    if (p.accumulate_type == FormatId::kF64) alpha = &one64, beta = &zero64;
    if (p.accumulate_type == FormatId::kF16) alpha = &one16, beta = &zero16;
    SAMEBITS_RETURN_IF(Clear(d_, 0xff, OutputBytes()));  // what is not written shows as NaN
    // column-major: D^T (n x m) = op(B) * op(A)
    return CudaApi::Blas(api_.cublasLtMatmul(handle_, operation_, alpha, b_.data(), layout_b_, a_.data(), layout_a_, beta,
                                         d_.data(), layout_d_, d_.data(), layout_d_, &chosen_, workspace_.data(),
                                         workspace_bytes_, stream_),
                     "cublasLtMatmul");
  }

  absl::Status Gather(int64_t count) {
    const int64_t width = gemm::BytesOf(problem_->output_type);
    SAMEBITS_RETURN_IF(gathered_.Reserve(count * width));
    SAMEBITS_RETURN_IF(results_.Reserve(count * width));
    SAMEBITS_RETURN_IF(Launch(gather_[WidthIndex(width)], count,
                              {Address(gathered_.data()), Address(d_.data()), Address(staged_.data() + places_at_),
                               static_cast<uint64_t>(count)}));
    return api_.Cuda(
        api_.cudaMemcpyAsync(results_.data(), gathered_.data(), count * width, cudaMemcpyDeviceToHost, stream_), "download");
  }

  std::vector<uint64_t> Collect(size_t count) const {
    static constexpr void (*kUnpack[])(const uint8_t*, std::vector<uint64_t>*) = {Unpack<uint8_t>, Unpack<uint16_t>,
                                                                                  Unpack<uint32_t>, Unpack<uint64_t>};
    std::vector<uint64_t> patterns(count);
    kUnpack[WidthIndex(gemm::BytesOf(problem_->output_type))](results_.data(), &patterns);
    return patterns;
  }

  absl::Status Describe(const GemmProblem& p) {
    const auto a = DataType(p.a_type), b = DataType(p.b_type), d = DataType(p.output_type);
    if (!a || !b || !d) return absl::UnimplementedError("a type that cuBLASLt does not have");
    SAMEBITS_RETURN_IF(CudaApi::Blas(api_.cublasLtMatmulDescCreate(&operation_, ComputeType(p), ScaleType(p)), "describe"));
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSA, p.b_contiguous() ? CUBLAS_OP_T : CUBLAS_OP_N));
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSB, p.a_contiguous() ? CUBLAS_OP_N : CUBLAS_OP_T));
    SAMEBITS_RETURN_IF(p.b_contiguous() ? Matrix(&layout_b_, *b, p.k, p.n) : Matrix(&layout_b_, *b, p.n, p.k));
    SAMEBITS_RETURN_IF(p.a_contiguous() ? Matrix(&layout_a_, *a, p.k, p.m) : Matrix(&layout_a_, *a, p.m, p.k));
    SAMEBITS_RETURN_IF(Matrix(&layout_d_, *d, p.n, p.m));
    return AskCostModel();
  }
  absl::Status SetOperation(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t operation) {
    return CudaApi::Blas(api_.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)), "describe");
  }
  // Column-major, without padding.
  absl::Status Matrix(cublasLtMatrixLayout_t* layout, cudaDataType_t type, int64_t rows, int64_t columns) {
    return CudaApi::Blas(api_.cublasLtMatrixLayoutCreate(layout, type, rows, columns, rows), "layout");
  }

  absl::Status AskCostModel() {
    cublasLtMatmulPreference_t preference = nullptr;
    SAMEBITS_RETURN_IF(CudaApi::Blas(api_.cublasLtMatmulPreferenceCreate(&preference), "preference"));
    const uint64_t most = workspace_bytes_;
    absl::Status status = CudaApi::Blas(api_.cublasLtMatmulPreferenceSetAttribute(
                                        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)),
                                    "preference");
    cublasLtMatmulHeuristicResult_t answer{};
    int answers = 0;
    if (status.ok()) {
      status = CudaApi::Blas(api_.cublasLtMatmulAlgoGetHeuristic(handle_, operation_, layout_b_, layout_a_, layout_d_,
                                                             layout_d_, preference, 1, &answer, &answers),
                         "cost model");
    }
    api_.cublasLtMatmulPreferenceDestroy(preference);
    SAMEBITS_RETURN_IF(status);
    if (answers == 0) return absl::UnimplementedError("the cost model has no answer for this problem");
    chosen_ = answer.algo;
    algorithm_ = {};
    algorithm_.workspace_bytes = static_cast<int64_t>(answer.workspaceSize);
    ReadAlgorithm();
    return absl::OkStatus();
  }

  template <typename Number>
  int64_t Read(cublasLtMatmulAlgoConfigAttributes_t attribute) {
    Number value = 0;
    size_t written = 0;
    api_.cublasLtMatmulAlgoConfigGetAttribute(&chosen_, attribute, &value, sizeof(value), &written);
    return static_cast<int64_t>(value);
  }
  void ReadAlgorithm() {
    algorithm_.id = Read<int32_t>(CUBLASLT_ALGO_CONFIG_ID);
    algorithm_.tile = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_TILE_ID);
    algorithm_.stages = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_STAGES_ID);
    algorithm_.splits = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
    algorithm_.reduction = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    algorithm_.swizzle = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
    algorithm_.custom = Read<uint32_t>(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
    algorithm_.inner = Read<uint16_t>(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
    algorithm_.cluster = Read<uint16_t>(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  }

  void Forget() {
    problem_.reset();
    prepared_ = false;
    for (cublasLtMatrixLayout_t* layout : {&layout_a_, &layout_b_, &layout_d_}) {
      if (*layout != nullptr) api_.cublasLtMatrixLayoutDestroy(*layout);
      *layout = nullptr;
    }
    if (operation_ != nullptr) api_.cublasLtMatmulDescDestroy(operation_);
    operation_ = nullptr;
  }

  std::shared_ptr<const CudaApi> loaded_;
  CudaApi api_;  // a copy of its table
  int device_ = 0, sm_ = 0, multiprocessors_ = 0;
  int64_t workspace_bytes_ = 0;
  cublasLtHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction scatter_[4] = {}, gather_[4] = {};  // by element width: 1, 2, 4, 8 bytes
  std::optional<GemmProblem> problem_;
  bool prepared_ = false;  // the buffers are large enough, and the operands zero
  gemm::Algorithm algorithm_;
  cublasLtMatmulAlgo_t chosen_{};
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_d_ = nullptr;
  CudaBuffer workspace_{&api_, false}, a_{&api_, false}, b_{&api_, false}, d_{&api_, false};
  CudaBuffer staged_{&api_, false}, gathered_{&api_, false}, host_{&api_, true}, results_{&api_, true};
  int64_t a_index_at_ = 0, b_index_at_ = 0, places_at_ = 0, a_rows_at_ = 0, b_rows_at_ = 0;  // in the staged bytes
};

CublasLtLibrary::CublasLtLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLtLibrary::~CublasLtLibrary() = default;

absl::StatusOr<std::unique_ptr<CublasLtLibrary>> CublasLtLibrary::Open(const CublasLtOptions& options) {
  auto impl = std::make_unique<Impl>();
  SAMEBITS_RETURN_IF(impl->Open(options));
  return std::unique_ptr<CublasLtLibrary>(new CublasLtLibrary(std::move(impl)));
}

int CublasLtLibrary::sm() const { return impl_->sm(); }
int CublasLtLibrary::multiprocessors() const { return impl_->multiprocessors(); }
int64_t CublasLtLibrary::version() const { return impl_->version(); }

absl::StatusOr<gemm::Algorithm> CublasLtLibrary::Choose(const gemm::GemmProblem& problem) {
  SAMEBITS_RETURN_IF(impl_->Choose(problem));
  return impl_->algorithm();
}

absl::StatusOr<gemm::CallProfile> CublasLtLibrary::Profile(const gemm::GemmProblem& problem) {
  const absl::StatusOr<gemm::Algorithm> algorithm = Choose(problem);
  if (!algorithm.ok()) return algorithm.status();
  gemm::CallProfile profile;
  profile.kernel = gemm::ToText(*algorithm);
  profile.kernels = algorithm->splits > 1 ? 2 : 1;
  profile.instruction = sm() == 90   ? gemm::Instruction::kWgmma
                        : sm() >= 100 ? gemm::Instruction::kTcgen05
                                      : gemm::Instruction::kMma;
  profile.scalar = problem.a_type == FormatId::kF32;
  profile.workspace_bytes = algorithm->workspace_bytes;
  return profile;
}

absl::StatusOr<std::vector<uint64_t>> CublasLtLibrary::Multiply(const gemm::GemmProblem& problem,
                                                                const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                                std::span<const gemm::Output> outputs) {
  SAMEBITS_RETURN_IF(impl_->Choose(problem));
  return impl_->Multiply(a, b, outputs);
}

}  // namespace samebits::workers
