#include "workers/cuda/heal/products.h"

#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

absl::StatusOr<std::unique_ptr<Products>> Products::Create(const CudaApi* api) {
  std::unique_ptr<Products> products(new Products(api));
  SAMEBITS_RETURN_IF(CudaApi::Blas(api->cublasLtCreate(&products->handle_), "cublasLtCreate"));
  SAMEBITS_RETURN_IF(products->workspace_.Reserve(kWorkspace));
  return products;
}

Products::~Products() {
  for (auto& [shape, plan] : plans_) {
    for (cublasLtMatrixLayout_t layout : {plan.weights, plan.x, plan.y}) {
      if (layout != nullptr) api_->cublasLtMatrixLayoutDestroy(layout);
    }
    if (plan.operation != nullptr) api_->cublasLtMatmulDescDestroy(plan.operation);
  }
  if (handle_ != nullptr) api_->cublasLtDestroy(handle_);
}

// Column-major for the library: Y^T (outputs x rows) = op(W) * X^T.
absl::Status Products::Describe(const ProductShape& shape, Plan* plan) {
  const cublasComputeType_t compute = shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasLtMatmulDescCreate(&plan->operation, compute, CUDA_R_32F), "describe"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                                        &transposed, sizeof(transposed)),
                                   "describe"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(
      api_->cublasLtMatrixLayoutCreate(&plan->weights, shape.operand, shape.inputs, shape.outputs, shape.inputs), "layout"));
  SAMEBITS_RETURN_IF(CudaApi::Blas(
      api_->cublasLtMatrixLayoutCreate(&plan->x, shape.operand, shape.inputs, shape.rows, shape.inputs), "layout"));
  return CudaApi::Blas(
      api_->cublasLtMatrixLayoutCreate(&plan->y, shape.result, shape.outputs, shape.rows, shape.outputs), "layout");
}

absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> Products::Answers(const Plan& plan, int most) {
  cublasLtMatmulPreference_t preference = nullptr;
  SAMEBITS_RETURN_IF(CudaApi::Blas(api_->cublasLtMatmulPreferenceCreate(&preference), "preference"));
  const uint64_t bytes = kWorkspace;
  absl::Status status = CudaApi::Blas(
      api_->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
      "preference");
  std::vector<cublasLtMatmulHeuristicResult_t> answers(most);
  int count = 0;
  if (status.ok()) {
    status = CudaApi::Blas(api_->cublasLtMatmulAlgoGetHeuristic(handle_, plan.operation, plan.weights, plan.x, plan.y,
                                                                plan.y, preference, most, answers.data(), &count),
                           "cost model");
  }
  api_->cublasLtMatmulPreferenceDestroy(preference);
  SAMEBITS_RETURN_IF(status);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    if (answers[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(answers[i].algo);
  }
  if (algorithms.empty()) return absl::UnimplementedError("the cost model has no answer for this product");
  return algorithms;
}

absl::StatusOr<Products::Plan*> Products::PlanFor(const ProductShape& shape) {
  if (const auto found = plans_.find(shape); found != plans_.end()) return &found->second;
  Plan& plan = plans_[shape];
  absl::Status status = Describe(shape, &plan);
  if (status.ok()) {
    absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> answers = Answers(plan, 1);
    if (answers.ok()) {
      plan.algorithm = answers->front();
      return &plan;
    }
    status = answers.status();
  }
  return absl::Status(status.code(), absl::StrCat(status.message(), " (", shape.rows, " x ", shape.outputs, " x ",
                                                  shape.inputs, ")"));
}

absl::Status Products::RunPlan(const Plan& plan, const void* weights, const void* x, void* y, float factor,
                               cudaStream_t stream) {
  const float zero = 0;
  return CudaApi::Blas(api_->cublasLtMatmul(handle_, plan.operation, &factor, weights, plan.weights, x, plan.x, &zero, y,
                                            plan.y, y, plan.y, &plan.algorithm, workspace_.data(), kWorkspace, stream),
                       "cublasLtMatmul");
}

absl::Status Products::Run(const ProductShape& shape, const void* weights, const void* x, void* y, float factor,
                           cudaStream_t stream) {
  if (const auto found = tuned_.find(shape); found != tuned_.end()) {
    return RunPlan(found->second, weights, x, y, factor, stream);
  }
  const absl::StatusOr<Plan*> plan = PlanFor(shape);
  return plan.ok() ? RunPlan(**plan, weights, x, y, factor, stream) : plan.status();
}

absl::StatusOr<float> Products::TimePlan(const Plan& plan, std::span<const void* const> weights, const void* x, void* y,
                                         float factor, cudaStream_t stream) {
  SAMEBITS_RETURN_IF(RunPlan(plan, weights[0], x, y, factor, stream));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamSynchronize(stream), "product"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture"));
  absl::Status status;
  for (const void* matrix : weights) {
    if (status.ok()) status = RunPlan(plan, matrix, x, y, factor, stream);
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = api_->cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t executable = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  const auto drop = absl::MakeCleanup([&] {
    if (begin != nullptr) api_->cudaEventDestroy(begin);
    if (end != nullptr) api_->cudaEventDestroy(end);
    if (executable != nullptr) api_->cudaGraphExecDestroy(executable);
    if (graph != nullptr) api_->cudaGraphDestroy(graph);
  });
  SAMEBITS_RETURN_IF(status);
  SAMEBITS_RETURN_IF(api_->Cuda(ended, "capture"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaGraphInstantiate(&executable, graph, 0), "graph"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventCreateWithFlags(&begin, cudaEventDefault), "event"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventCreateWithFlags(&end, cudaEventDefault), "event"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaGraphLaunch(executable, stream), "product"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventRecord(begin, stream), "event"));
  for (int round = 0; round < 2; ++round) {
    SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaGraphLaunch(executable, stream), "product"));
  }
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventRecord(end, stream), "event"));
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventSynchronize(end), "timing"));
  float milliseconds = 0;
  SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaEventElapsedTime(&milliseconds, begin, end), "timing"));
  return milliseconds / 2;
}

absl::Status Products::Tune(const ProductShape& shape, int64_t most_rows, std::span<const void* const> weights,
                            const void* x, void* y, float factor, cudaStream_t stream) {
  if (tuned_.count(shape) > 0) return absl::OkStatus();
  constexpr int kMostAnswers = 16;
  float best = std::numeric_limits<float>::infinity();
  for (const int64_t rows : {shape.rows, int64_t{16}, int64_t{32}, int64_t{64}}) {
    if (rows != shape.rows && (rows < shape.rows || rows > most_rows)) continue;
    ProductShape padded = shape;
    padded.rows = rows;
    const absl::StatusOr<Plan*> plan = PlanFor(padded);
    SAMEBITS_RETURN_IF(plan.status());
    const absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> answers = Answers(**plan, kMostAnswers);
    SAMEBITS_RETURN_IF(answers.status());
    Plan trial = **plan;
    for (const cublasLtMatmulAlgo_t& algorithm : *answers) {
      trial.algorithm = algorithm;
      const absl::StatusOr<float> time = TimePlan(trial, weights, x, y, factor, stream);
      if (!time.ok()) continue;  // an answer that does not run is no candidate
      if (*time < best) best = *time, tuned_[shape] = trial;
    }
  }
  return absl::OkStatus();
}

}  // namespace samebits::workers
