#ifndef SAMEBITS_WORKERS_CUDA_GEMM_BUFFERS_H_
#define SAMEBITS_WORKERS_CUDA_GEMM_BUFFERS_H_

// The part of a black box on CUDA that no library of products has a say in: a device with a stream, operands in its
// memory that are zero but for the rows of one call, and the outputs that come back.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/gemm/black_box.h"
#include "workers/cuda/api.h"

namespace samebits::workers {

// Not thread-safe; several may be used at once. Memory of the last problem is kept.
class GemmBuffers {
 public:
  // UNAVAILABLE where the device is missing, RESOURCE_EXHAUSTED where the workspace does not fit.
  static absl::StatusOr<std::unique_ptr<GemmBuffers>> Open(std::shared_ptr<const CudaApi> api, int device,
                                                           int64_t workspace_bytes);
  ~GemmBuffers();
  GemmBuffers(const GemmBuffers&) = delete;
  GemmBuffers& operator=(const GemmBuffers&) = delete;

  const CudaApi& api() const { return *api_; }
  int sm() const { return sm_; }
  int multiprocessors() const { return multiprocessors_; }
  cudaStream_t stream() const { return stream_; }
  void* workspace() const { return workspace_.data(); }
  int64_t workspace_bytes() const { return workspace_bytes_; }

  // Makes the device that of the calling thread.
  absl::Status SelectDevice() const;

  // Where the problem's matrices lie while `call` of Multiply runs.
  const void* a() const { return a_.data(); }
  const void* b() const { return b_.data(); }
  void* d() const { return d_.data(); }

  // As BlackBox::Multiply. `call` puts the product on the stream; D holds ones in every bit before it.
  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::GemmProblem& problem, const gemm::SparseRows& a,
                                                 const gemm::SparseRows& b, std::span<const gemm::Output> outputs,
                                                 const std::function<absl::Status()>& call);

  // One product of operands that `fill` writes, in the problem's layout, before it returns. A, B and D stay until the next
  // call.
  absl::Status MultiplyWhole(const gemm::GemmProblem& problem, const std::function<absl::Status(void* a, void* b)>& fill,
                             const std::function<absl::Status()>& call);

 private:
  explicit GemmBuffers(std::shared_ptr<const CudaApi> api) : api_(std::move(api)) {}
  absl::Status Start(int device, int64_t workspace_bytes);
  absl::Status Attribute(cudaDeviceAttr attribute, int* value) const;
  absl::Status LoadKernels();
  absl::Status Launch(CUfunction kernel, int64_t threads, std::vector<uint64_t> arguments);
  absl::Status Clear(const CudaBuffer& buffer, int value, int64_t bytes);
  absl::Status Prepare(const gemm::GemmProblem& problem);
  absl::Status Compute(const gemm::SparseRows& a, const gemm::SparseRows& b, std::span<const gemm::Output> outputs,
                       const std::function<absl::Status()>& call);
  absl::Status Stage(const gemm::SparseRows& a, const gemm::SparseRows& b, std::span<const gemm::Output> outputs);
  absl::Status Place(const gemm::SparseRows& a, const gemm::SparseRows& b, bool rows);
  absl::Status Scatter(const CudaBuffer& to, gemm::FormatId type, const uint8_t* from, int64_t index_at, int64_t rows,
                       bool contiguous, int64_t side);
  absl::Status Gather(int64_t count);

  const std::shared_ptr<const CudaApi> api_;
  int device_ = 0, sm_ = 0, multiprocessors_ = 0;
  int64_t workspace_bytes_ = 0, d_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction scatter_[4] = {}, gather_[4] = {};  // by element width: 1, 2, 4, 8 bytes
  std::optional<gemm::GemmProblem> problem_;     // whose operands are zero
  CudaBuffer workspace_{api_.get(), false}, a_{api_.get(), false}, b_{api_.get(), false}, d_{api_.get(), false};
  CudaBuffer staged_{api_.get(), false}, gathered_{api_.get(), false}, host_{api_.get(), true}, results_{api_.get(), true};
  int64_t a_index_at_ = 0, b_index_at_ = 0, places_at_ = 0, a_rows_at_ = 0, b_rows_at_ = 0;  // in the staged bytes
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_GEMM_BUFFERS_H_
