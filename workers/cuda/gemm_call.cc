#include "workers/cuda/gemm_call.h"

#include <optional>

#include "absl/strings/str_cat.h"

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

void SetArithmetic(const GemmProblem& p, GemmCall* call) {
  static constexpr float kOne = 1, kZero = 0;
  static constexpr double kOne64 = 1, kZero64 = 0;
  static constexpr uint16_t kOne16 = 0x3c00, kZero16 = 0;
  switch (p.accumulate_type) {
    case FormatId::kF64:
      call->compute = CUBLAS_COMPUTE_64F, call->scale_type = CUDA_R_64F;
      call->one = &kOne64, call->zero = &kZero64;
      return;
    case FormatId::kF16:
      call->compute = CUBLAS_COMPUTE_16F, call->scale_type = CUDA_R_16F;
      call->one = &kOne16, call->zero = &kZero16;
      return;
    default:
      call->compute = p.a_type == FormatId::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
      call->one = &kOne, call->zero = &kZero;
  }
}

}  // namespace

absl::StatusOr<GemmCall> CallOf(const GemmProblem& p) {
  const auto a = DataType(p.a_type), b = DataType(p.b_type), d = DataType(p.output_type);
  if (!a || !b || !d) return absl::UnimplementedError(absl::StrCat("cuBLAS has no name for a type of ", TypesText(p)));
  GemmCall call;
  call.b = p.b_contiguous() ? GemmMatrix{*b, p.k, p.n} : GemmMatrix{*b, p.n, p.k};
  call.a = p.a_contiguous() ? GemmMatrix{*a, p.k, p.m} : GemmMatrix{*a, p.m, p.k};
  call.d = {*d, p.n, p.m};
  call.b_operation = p.b_contiguous() ? CUBLAS_OP_T : CUBLAS_OP_N;
  call.a_operation = p.a_contiguous() ? CUBLAS_OP_N : CUBLAS_OP_T;
  SetArithmetic(p, &call);
  return call;
}

gemm::CallProfile UnseenProfile(const GemmProblem& problem, int sm) {
  gemm::CallProfile profile;
  profile.kernels = 0;
  profile.instruction = sm == 90 ? gemm::Instruction::kWgmma : sm >= 100 ? gemm::Instruction::kTcgen05 : gemm::Instruction::kMma;
  profile.scalar = problem.a_type == FormatId::kF32;
  return profile;
}

}  // namespace samebits::workers
