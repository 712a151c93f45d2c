#include "workers/cuda/cublas_library.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "workers/cuda/gemm_call.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {
namespace {

bool IsFp8(softfloat::FormatId type) { return type == softfloat::FormatId::kE4m3 || type == softfloat::FormatId::kE5m2; }

}  // namespace

absl::StatusOr<std::unique_ptr<CublasLibrary>> CublasLibrary::Open(const CublasOptions& options) {
  absl::StatusOr<std::shared_ptr<const CudaApi>> cuda = CudaApi::Load();
  if (!cuda.ok()) return cuda.status();
  absl::StatusOr<std::shared_ptr<const CublasApi>> api = CublasApi::Load();
  if (!api.ok()) return api.status();
  auto buffers = GemmBuffers::Open(*std::move(cuda), options.device, options.workspace_bytes);
  if (!buffers.ok()) return buffers.status();
  std::unique_ptr<CublasLibrary> library(new CublasLibrary(*std::move(buffers), *std::move(api)));
  SAMEBITS_RETURN_IF(library->Start());
  return library;
}

// The stream comes first: to set it takes the workspace away.
absl::Status CublasLibrary::Start() {
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasCreate_v2(&handle_), "cublasCreate"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasGetVersion_v2(handle_, &version_), "cublasGetVersion"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasSetStream_v2(handle_, buffers_->stream()), "cublasSetStream"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(
      api_->cublasSetWorkspace_v2(handle_, buffers_->workspace(), buffers_->workspace_bytes()), "cublasSetWorkspace"));
  return CudaApi::Blas(api_->cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
}

CublasLibrary::~CublasLibrary() {
  if (handle_ != nullptr) api_->cublasDestroy_v2(handle_);
}

absl::StatusOr<gemm::CallProfile> CublasLibrary::Profile(const gemm::GemmProblem& problem) {
  const absl::StatusOr<GemmCall> call = CallOf(problem);
  if (!call.ok()) return call.status();
  gemm::CallProfile profile = UnseenProfile(problem, sm());
  profile.kernel = "cublasGemmEx, default algorithm";
  return profile;
}

absl::StatusOr<std::vector<uint64_t>> CublasLibrary::Multiply(const gemm::GemmProblem& p, const gemm::SparseRows& a,
                                                              const gemm::SparseRows& b,
                                                              std::span<const gemm::Output> outputs) {
  // On an H200 a call with such types has spoilt the process's context.
  if (IsFp8(p.a_type) || IsFp8(p.b_type)) return absl::UnimplementedError("cublasGemmEx: not supported: it has no FP8 types");
  const absl::StatusOr<GemmCall> call = CallOf(p);
  if (!call.ok()) return call.status();
  const bool large = std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max();
  if (large && api_->cublasGemmEx_64 == nullptr) {
    return absl::UnimplementedError("sides above 2^31 - 1 need cublasGemmEx_64, of cuBLAS 12 and later");
  }
  const auto multiply = [&](auto function, auto n, auto m, auto k) {
    using Side = decltype(n);
    return function(handle_, call->b_operation, call->a_operation, n, m, k, call->one, buffers_->b(), call->b.type,
                    static_cast<Side>(call->b.rows), buffers_->a(), call->a.type, static_cast<Side>(call->a.rows),
                    call->zero, buffers_->d(), call->d.type, static_cast<Side>(call->d.rows), call->compute,
                    CUBLAS_GEMM_DEFAULT);
  };
  return buffers_->Multiply(p, a, b, outputs, [&] {
    const cublasStatus_t status =
        large ? multiply(api_->cublasGemmEx_64, p.n, p.m, p.k)
              : multiply(api_->cublasGemmEx, static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k));
    return CudaApi::Blas(status, "cublasGemmEx");
  });
}

}  // namespace samebits::workers
