#ifndef SAMEBITS_WORKERS_CUDA_HEAL_PRODUCTS_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_PRODUCTS_H_

// Matrix products by cuBLASLt: Y (rows x outputs) = factor * X (rows x inputs) * W (outputs x inputs) transposed.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/heal/numerics/configuration.h"
#include "workers/cuda/api.h"

namespace samebits::workers {

struct ProductShape {
  int64_t rows = 1, outputs = 1, inputs = 1;
  cudaDataType_t operand = CUDA_R_16BF, result = CUDA_R_32F;
  bool tf32 = false;
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};

// Not thread-safe. Without Tune, the first answer of the library's cost model is used: the same in every process.
class Products {
 public:
  static absl::StatusOr<std::unique_ptr<Products>> Create(const CudaApi* api);
  ~Products();

  absl::Status Run(const ProductShape& shape, const void* weights, const void* x, void* y, float factor,
                   cudaStream_t stream);

  // Times the cost model's answers on the matrices given, one after the other so that none stays in the cache, and keeps
  // the fastest for the shape. Rows are also padded to 16, 32 and 64 where that is more: x and y must hold `most_rows`
  // rows, what is in those beyond the shape's is ignored.
  absl::Status Tune(const ProductShape& shape, int64_t most_rows, std::span<const void* const> weights, const void* x,
                    void* y, float factor, cudaStream_t stream);

  int64_t workspace_bytes() const { return kWorkspace; }

 private:
  static constexpr int64_t kWorkspace = int64_t{64} << 20;

  struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t weights = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };

  explicit Products(const CudaApi* api) : api_(api), workspace_(api, false) {}
  absl::StatusOr<Plan*> PlanFor(const ProductShape& shape);
  absl::Status Describe(const ProductShape& shape, Plan* plan);
  absl::StatusOr<std::vector<cublasLtMatmulAlgo_t>> Answers(const Plan& plan, int most);
  absl::Status RunPlan(const Plan& plan, const void* weights, const void* x, void* y, float factor, cudaStream_t stream);
  // Milliseconds for all matrices once, as one graph.
  absl::StatusOr<float> TimePlan(const Plan& plan, std::span<const void* const> weights, const void* x, void* y,
                                 float factor, cudaStream_t stream);

  const CudaApi* const api_;
  cublasLtHandle_t handle_ = nullptr;
  CudaBuffer workspace_;
  std::map<ProductShape, Plan> plans_, tuned_;  // tuned ones share their descriptors with plans
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_PRODUCTS_H_
