#include "workers/cuda/cublaslt_library.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/gemm/operand.h"

namespace samebits::workers {
namespace {

using gemm::GemmProblem;
using softfloat::FormatId;

absl::StatusOr<void*> OpenLibrary(const char* variable, std::vector<const char*> names) {
  if (const char* named = std::getenv(variable); named != nullptr) names = {named};
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL); library != nullptr) return library;
  }
  return absl::UnavailableError(absl::StrCat(names[0], " is not found; ", variable, " may name it"));
}

// The functions used, by name.
struct Api {
#define SAMEBITS_CUDA_FUNCTIONS(X)                                                                                   \
  X(cudaSetDevice) X(cudaDeviceGetAttribute) X(cudaMalloc) X(cudaFree) X(cudaMemcpy) X(cudaMemset)                  \
  X(cudaDeviceSynchronize) X(cudaGetErrorString)
#define SAMEBITS_BLAS_FUNCTIONS(X)                                                                                   \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetVersion) X(cublasLtMatmul) X(cublasLtMatmulDescCreate)          \
  X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate)                      \
  X(cublasLtMatrixLayoutDestroy) X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)               \
  X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmulAlgoConfigGetAttribute)
#define SAMEBITS_DECLARE(name) decltype(&::name) name = nullptr;
  SAMEBITS_CUDA_FUNCTIONS(SAMEBITS_DECLARE)
  SAMEBITS_BLAS_FUNCTIONS(SAMEBITS_DECLARE)
#undef SAMEBITS_DECLARE

  absl::Status Load() {
    const absl::StatusOr<void*> cuda = OpenLibrary("SAMEBITS_CUDART", {"libcudart.so.13", "libcudart.so.12", "libcudart.so"});
    if (!cuda.ok()) return cuda.status();
    const absl::StatusOr<void*> blas =
        OpenLibrary("SAMEBITS_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
    if (!blas.ok()) return blas.status();
    const char* missing = nullptr;
#define SAMEBITS_FIND(library, function)                                            \
  function = reinterpret_cast<decltype(function)>(dlsym(library, #function));       \
  if (function == nullptr) missing = #function;
#define SAMEBITS_FIND_CUDA(name) SAMEBITS_FIND(*cuda, name)
#define SAMEBITS_FIND_BLAS(name) SAMEBITS_FIND(*blas, name)
    SAMEBITS_CUDA_FUNCTIONS(SAMEBITS_FIND_CUDA)
    SAMEBITS_BLAS_FUNCTIONS(SAMEBITS_FIND_BLAS)
    return missing == nullptr ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(missing, " is not found"));
  }

  absl::Status Cuda(cudaError_t error, const char* what) const {
    if (error == cudaSuccess) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(what, ": ", cudaGetErrorString(error)));
  }
  static absl::Status Blas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
      return absl::UnimplementedError(absl::StrCat(what, ": not supported by the library (", status, ")"));
    }
    return absl::InternalError(absl::StrCat(what, ": status ", status));
  }
};

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

bool Same(const GemmProblem& x, const GemmProblem& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.a_type == y.a_type && x.b_type == y.b_type &&
         x.accumulate_type == y.accumulate_type && x.output_type == y.output_type;
}

}  // namespace

std::string CublasLtAlgorithm::ToString() const {
  return absl::StrCat("algorithm ", id, " tile ", tile, " stages ", stages, " split_k ", split_k, " reduction ",
                      reduction, " swizzle ", swizzle, " custom ", custom, " inner ", inner, " cluster ", cluster);
}

#define SAMEBITS_RETURN_IF(expression) \
  if (absl::Status status_ = (expression); !status_.ok()) return status_

class CublasLtLibrary::Impl {
 public:
  absl::Status Open(const CublasLtOptions& options) {
    workspace_bytes_ = options.workspace_bytes;
    SAMEBITS_RETURN_IF(api_.Load());
    if (api_.cudaSetDevice(options.device) != cudaSuccess) return absl::UnavailableError("no such CUDA device");
    int major = 0, minor = 0;
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMajor, options.device, &major));
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrComputeCapabilityMinor, options.device, &minor));
    SAMEBITS_RETURN_IF(Attribute(cudaDevAttrMultiProcessorCount, options.device, &multiprocessors_));
    sm_ = 10 * major + minor;
    SAMEBITS_RETURN_IF(Api::Blas(api_.cublasLtCreate(&handle_), "cublasLtCreate"));
    return Allocate(&workspace_, workspace_bytes_);
  }

  ~Impl() {
    Forget();
    if (workspace_ != nullptr) api_.cudaFree(workspace_);
    if (handle_ != nullptr) api_.cublasLtDestroy(handle_);
  }

  int sm() const { return sm_; }
  int multiprocessors() const { return multiprocessors_; }
  int64_t version() const { return static_cast<int64_t>(api_.cublasLtGetVersion()); }
  const CublasLtAlgorithm& algorithm() const { return algorithm_; }

  // Makes `problem` the current one: descriptors, the cost model's answer.
  absl::Status Choose(const GemmProblem& problem) {
    if (problem_ && Same(*problem_, problem)) return absl::OkStatus();
    Forget();
    SAMEBITS_RETURN_IF(Describe(problem));
    problem_ = problem;
    return absl::OkStatus();
  }

  absl::Status PrepareBuffers() {
    if (a_ != nullptr) return absl::OkStatus();
    const GemmProblem& p = *problem_;
    SAMEBITS_RETURN_IF(AllocateZero(&a_, p.m * p.k * gemm::BytesOf(p.a_type)));
    SAMEBITS_RETURN_IF(AllocateZero(&b_, p.n * p.k * gemm::BytesOf(p.b_type)));
    return AllocateZero(&d_, p.m * p.n * gemm::BytesOf(p.output_type));
  }

  absl::Status Upload(void* base, FormatId type, const gemm::SparseRows& rows, bool clear) {
    const int64_t k = problem_->k, width = gemm::BytesOf(type);
    std::vector<uint8_t> bytes(k * width);
    for (size_t r = 0; r < rows.index.size(); ++r) {
      for (int64_t i = 0; i < k; ++i) gemm::StoreElement(bytes, type, i, clear ? 0 : rows.patterns[r * k + i]);
      uint8_t* target = static_cast<uint8_t*>(base) + rows.index[r] * k * width;
      SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaMemcpy(target, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "upload"));
    }
    return absl::OkStatus();
  }

  absl::Status Run() {
    const GemmProblem& p = *problem_;
    const float one = 1, zero = 0;
    const double one64 = 1, zero64 = 0;
    const uint16_t one16 = 0x3c00, zero16 = 0;
    const void *alpha = &one, *beta = &zero;
    if (p.accumulate_type == FormatId::kF64) alpha = &one64, beta = &zero64;
    if (p.accumulate_type == FormatId::kF16) alpha = &one16, beta = &zero16;
    // what is not written shows as NaN
    SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaMemset(d_, 0xff, p.m * p.n * gemm::BytesOf(p.output_type)), "cudaMemset"));
    // column-major: D^T (n x m) = B^T' * A^T
    SAMEBITS_RETURN_IF(Api::Blas(api_.cublasLtMatmul(handle_, operation_, alpha, b_, layout_b_, a_, layout_a_, beta, d_,
                                                     layout_d_, d_, layout_d_, &chosen_, workspace_, workspace_bytes_,
                                                     nullptr),
                                 "cublasLtMatmul"));
    return api_.Cuda(api_.cudaDeviceSynchronize(), "cublasLtMatmul");
  }

  absl::StatusOr<std::vector<uint64_t>> Download(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) {
    const int64_t width = gemm::BytesOf(problem_->output_type), n = problem_->n;
    std::vector<uint64_t> patterns(outputs.size());
    std::vector<uint8_t> row(n * width);
    int64_t loaded = -1;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int64_t r = a.index[outputs[i].row], c = b.index[outputs[i].column];
      if (r != loaded) {
        const uint8_t* source = static_cast<const uint8_t*>(d_) + r * n * width;
        SAMEBITS_RETURN_IF(api_.Cuda(api_.cudaMemcpy(row.data(), source, row.size(), cudaMemcpyDeviceToHost), "download"));
        loaded = r;
      }
      patterns[i] = gemm::LoadElement(row, problem_->output_type, c);
    }
    return patterns;
  }

  void* a() const { return a_; }
  void* b() const { return b_; }

 private:
  absl::Status Attribute(cudaDeviceAttr attribute, int device, int* value) {
    return api_.Cuda(api_.cudaDeviceGetAttribute(value, attribute, device), "cudaDeviceGetAttribute");
  }
  absl::Status Allocate(void** memory, int64_t bytes) {
    return api_.Cuda(api_.cudaMalloc(memory, std::max<int64_t>(bytes, 256)), "cudaMalloc");
  }
  absl::Status AllocateZero(void** memory, int64_t bytes) {
    SAMEBITS_RETURN_IF(Allocate(memory, bytes));
    return api_.Cuda(api_.cudaMemset(*memory, 0, bytes), "cudaMemset");
  }

  absl::Status Describe(const GemmProblem& p) {
    const auto a = DataType(p.a_type), b = DataType(p.b_type), d = DataType(p.output_type);
    if (!a || !b || !d) return absl::UnimplementedError("a type that cuBLASLt does not have");
    SAMEBITS_RETURN_IF(Api::Blas(api_.cublasLtMatmulDescCreate(&operation_, ComputeType(p), ScaleType(p)), "describe"));
    const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSA, transposed));
    SAMEBITS_RETURN_IF(SetOperation(CUBLASLT_MATMUL_DESC_TRANSB, plain));
    SAMEBITS_RETURN_IF(Layout(&layout_b_, *b, p.k, p.n));
    SAMEBITS_RETURN_IF(Layout(&layout_a_, *a, p.k, p.m));
    SAMEBITS_RETURN_IF(Layout(&layout_d_, *d, p.n, p.m));
    return AskCostModel();
  }
  absl::Status SetOperation(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t operation) {
    return Api::Blas(api_.cublasLtMatmulDescSetAttribute(operation_, attribute, &operation, sizeof(operation)), "describe");
  }
  absl::Status Layout(cublasLtMatrixLayout_t* layout, cudaDataType_t type, int64_t rows, int64_t columns) {
    return Api::Blas(api_.cublasLtMatrixLayoutCreate(layout, type, rows, columns, rows), "layout");
  }

  absl::Status AskCostModel() {
    cublasLtMatmulPreference_t preference = nullptr;
    SAMEBITS_RETURN_IF(Api::Blas(api_.cublasLtMatmulPreferenceCreate(&preference), "preference"));
    const uint64_t most = workspace_bytes_;
    absl::Status status = Api::Blas(api_.cublasLtMatmulPreferenceSetAttribute(
                                        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)),
                                    "preference");
    cublasLtMatmulHeuristicResult_t answer{};
    int answers = 0;
    if (status.ok()) {
      status = Api::Blas(api_.cublasLtMatmulAlgoGetHeuristic(handle_, operation_, layout_b_, layout_a_, layout_d_,
                                                             layout_d_, preference, 1, &answer, &answers),
                         "cost model");
    }
    api_.cublasLtMatmulPreferenceDestroy(preference);
    SAMEBITS_RETURN_IF(status);
    if (answers == 0) return absl::UnimplementedError("the cost model has no answer for this problem");
    chosen_ = answer.algo;
    algorithm_ = {};
    algorithm_.workspace_bytes = static_cast<int64_t>(answer.workspaceSize);
    for (const auto& [attribute, value] :
         {std::pair{CUBLASLT_ALGO_CONFIG_ID, &algorithm_.id}, {CUBLASLT_ALGO_CONFIG_TILE_ID, &algorithm_.tile},
          {CUBLASLT_ALGO_CONFIG_STAGES_ID, &algorithm_.stages}, {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &algorithm_.split_k},
          {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &algorithm_.reduction},
          {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &algorithm_.swizzle},
          {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &algorithm_.custom}}) {
      size_t written = 0;
      api_.cublasLtMatmulAlgoConfigGetAttribute(&chosen_, attribute, value, sizeof(*value), &written);
    }
    uint16_t narrow = 0;
    size_t written = 0;
    api_.cublasLtMatmulAlgoConfigGetAttribute(&chosen_, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &narrow, sizeof(narrow), &written);
    algorithm_.inner = narrow;
    narrow = 0;
    api_.cublasLtMatmulAlgoConfigGetAttribute(&chosen_, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &narrow, sizeof(narrow), &written);
    algorithm_.cluster = narrow;
    return absl::OkStatus();
  }

  void Forget() {
    problem_.reset();
    for (void** memory : {&a_, &b_, &d_}) {
      if (*memory != nullptr) api_.cudaFree(*memory);
      *memory = nullptr;
    }
    for (cublasLtMatrixLayout_t* layout : {&layout_a_, &layout_b_, &layout_d_}) {
      if (*layout != nullptr) api_.cublasLtMatrixLayoutDestroy(*layout);
      *layout = nullptr;
    }
    if (operation_ != nullptr) api_.cublasLtMatmulDescDestroy(operation_);
    operation_ = nullptr;
  }

  Api api_;
  int sm_ = 0, multiprocessors_ = 0;
  int64_t workspace_bytes_ = 0;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::optional<GemmProblem> problem_;
  CublasLtAlgorithm algorithm_;
  cublasLtMatmulAlgo_t chosen_{};
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_d_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *d_ = nullptr;
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

absl::StatusOr<CublasLtAlgorithm> CublasLtLibrary::Algorithm(const gemm::GemmProblem& problem) {
  SAMEBITS_RETURN_IF(impl_->Choose(problem));
  return impl_->algorithm();
}

absl::StatusOr<gemm::CallProfile> CublasLtLibrary::Profile(const gemm::GemmProblem& problem) {
  const absl::StatusOr<CublasLtAlgorithm> algorithm = Algorithm(problem);
  if (!algorithm.ok()) return algorithm.status();
  gemm::CallProfile profile;
  profile.kernel = algorithm->ToString();
  profile.kernels = algorithm->split_k > 1 ? 2 : 1;
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
  SAMEBITS_RETURN_IF(impl_->PrepareBuffers());
  SAMEBITS_RETURN_IF(impl_->Upload(impl_->a(), problem.a_type, a, false));
  SAMEBITS_RETURN_IF(impl_->Upload(impl_->b(), problem.b_type, b, false));
  SAMEBITS_RETURN_IF(impl_->Run());
  absl::StatusOr<std::vector<uint64_t>> results = impl_->Download(a, b, outputs);
  SAMEBITS_RETURN_IF(results.status());
  SAMEBITS_RETURN_IF(impl_->Upload(impl_->a(), problem.a_type, a, true));
  SAMEBITS_RETURN_IF(impl_->Upload(impl_->b(), problem.b_type, b, true));
  return results;
}

}  // namespace samebits::workers
