#include "workers/cuda/cublaslt_library.h"

#include <memory>
#include <optional>
#include <utility>

#include "workers/cuda/api.h"
#include "workers/cuda/gemm_buffers.h"
#include "workers/cuda/gemm_call.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using gemm::GemmProblem;

class CublasLtLibrary::Impl {
 public:
  explicit Impl(std::unique_ptr<GemmBuffers> buffers) : buffers_(std::move(buffers)) {}
  absl::Status Start() { return CudaApi::Blas(api_.cublasLtCreate(&handle_), "cublasLtCreate"); }

  ~Impl() {
    Forget();
    if (handle_ != nullptr) api_.cublasLtDestroy(handle_);
  }

  int sm() const { return buffers_->sm(); }
  int multiprocessors() const { return buffers_->multiprocessors(); }
  int64_t version() const { return static_cast<int64_t>(api_.cublasLtGetVersion()); }
  const gemm::Algorithm& algorithm() const { return algorithm_; }

  // Makes `problem` the current one: descriptors, the cost model's answer.
  absl::Status Choose(const GemmProblem& problem) {
    if (problem_ && *problem_ == problem) return absl::OkStatus();
    Forget();
    SAMEBITS_RETURN_IF(buffers_->SelectDevice());
    SAMEBITS_RETURN_IF(Describe(problem));
    problem_ = problem;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) {
    return buffers_->Multiply(*problem_, a, b, outputs, [this] { return Launch(); });
  }

  absl::StatusOr<WholeProduct> MultiplyWhole(const std::function<absl::Status(void* a, void* b)>& fill) {
    SAMEBITS_RETURN_IF(buffers_->MultiplyWhole(*problem_, fill, [this] { return Launch(); }));
    return WholeProduct{buffers_->a(), buffers_->b(), buffers_->d()};
  }

 private:
  absl::Status Launch() {
    return CudaApi::Blas(api_.cublasLtMatmul(handle_, operation_, call_.one, buffers_->b(), layout_b_, buffers_->a(), layout_a_,
                                             call_.zero, buffers_->d(), layout_d_, buffers_->d(), layout_d_, &chosen_,
                                             buffers_->workspace(), buffers_->workspace_bytes(), buffers_->stream()),
                         "cublasLtMatmul");
  }
  absl::Status Describe(const GemmProblem& p) {
    const absl::StatusOr<GemmCall> call = CallOf(p);
    if (!call.ok()) return call.status();
    call_ = *call;
    SAMEBITS_RETURN_IF(CudaApi::Blas(api_.cublasLtMatmulDescCreate(&operation_, call_.compute, call_.scale_type), "describe"));
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSA, call_.b_operation));
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSB, call_.a_operation));
    SAMEBITS_RETURN_IF(Matrix(&layout_b_, call_.b));
    SAMEBITS_RETURN_IF(Matrix(&layout_a_, call_.a));
    SAMEBITS_RETURN_IF(Matrix(&layout_d_, call_.d));
    return AskCostModel();
  }
  absl::Status SetOperation(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t operation) {
    return CudaApi::Blas(api_.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)), "describe");
  }
  absl::Status Matrix(cublasLtMatrixLayout_t* layout, const GemmMatrix& matrix) {
    return CudaApi::Blas(
        api_.cublasLtMatrixLayoutCreate(layout, matrix.type, matrix.rows, matrix.columns, matrix.rows), "layout");
  }

  absl::Status AskCostModel() {
    cublasLtMatmulPreference_t preference = nullptr;
    SAMEBITS_RETURN_IF(CudaApi::Blas(api_.cublasLtMatmulPreferenceCreate(&preference), "preference"));
    const uint64_t most = buffers_->workspace_bytes();
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
    for (cublasLtMatrixLayout_t* layout : {&layout_a_, &layout_b_, &layout_d_}) {
      if (*layout != nullptr) api_.cublasLtMatrixLayoutDestroy(*layout);
      *layout = nullptr;
    }
    if (operation_ != nullptr) api_.cublasLtMatmulDescDestroy(operation_);
    operation_ = nullptr;
  }

  const std::unique_ptr<GemmBuffers> buffers_;
  const CudaApi& api_ = buffers_->api();
  cublasLtHandle_t handle_ = nullptr;
  std::optional<GemmProblem> problem_;
  GemmCall call_;
  gemm::Algorithm algorithm_;
  cublasLtMatmulAlgo_t chosen_{};
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_d_ = nullptr;
};

CublasLtLibrary::CublasLtLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLtLibrary::~CublasLtLibrary() = default;

absl::StatusOr<std::unique_ptr<CublasLtLibrary>> CublasLtLibrary::Open(const CublasLtOptions& options) {
  absl::StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::Load();
  if (!api.ok()) return api.status();
  auto buffers = GemmBuffers::Open(*std::move(api), options.device, options.workspace_bytes);
  if (!buffers.ok()) return buffers.status();
  auto impl = std::make_unique<Impl>(*std::move(buffers));
  SAMEBITS_RETURN_IF(impl->Start());
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
  gemm::CallProfile profile = UnseenProfile(problem, sm());
  profile.kernel = gemm::ToText(*algorithm);
  profile.kernels = algorithm->splits > 1 ? 2 : 1;
  profile.workspace_bytes = algorithm->workspace_bytes;
  return profile;
}

absl::StatusOr<std::vector<uint64_t>> CublasLtLibrary::Multiply(const gemm::GemmProblem& problem,
                                                                const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                                std::span<const gemm::Output> outputs) {
  SAMEBITS_RETURN_IF(impl_->Choose(problem));
  return impl_->Multiply(a, b, outputs);
}

absl::StatusOr<CublasLtLibrary::WholeProduct> CublasLtLibrary::MultiplyWhole(
    const gemm::GemmProblem& problem, const std::function<absl::Status(void* a, void* b)>& fill) {
  SAMEBITS_RETURN_IF(impl_->Choose(problem));
  return impl_->MultiplyWhole(fill);
}

}  // namespace samebits::workers
