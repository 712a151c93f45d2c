#ifndef SAMEBITS_WORKERS_CUDA_HEAL_WEIGHTS_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_WEIGHTS_H_

#include <map>
#include <memory>
#include <utility>

#include "core/heal/model/checkpoint.h"
#include "workers/cuda/api.h"
#include "workers/cuda/heal/program.h"

namespace samebits::workers {

// A checkpoint on the device: BF16 as it is, and, made when first needed, FP16 times a power of two per matrix. Not
// thread-safe.
class Weights {
 public:
  static absl::StatusOr<std::unique_ptr<Weights>> Upload(const CudaApi* api,
                                                         std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                         Program* setup, cudaStream_t stream);

  const heal::ModelShape& shape() const { return checkpoint_->shape(); }
  const heal::Checkpoint& checkpoint() const { return *checkpoint_; }

  // BF16; null where the model does not have it. A tied head is the embedding.
  const uint16_t* Bf16(int layer, heal::TensorId id) const;

  // INTERNAL, RESOURCE_EXHAUSTED. Does nothing the second time.
  absl::Status MakeHalf(Program* setup, cudaStream_t stream);
  struct Half {
    const uint16_t* data = nullptr;
    float undo = 1;  // the factor of products
  };
  Half F16(int layer, heal::TensorId id) const;  // after MakeHalf

 private:
  using Key = std::pair<int, heal::TensorId>;

  Weights(const CudaApi* api, std::shared_ptr<const heal::Checkpoint> checkpoint)
      : api_(api), checkpoint_(std::move(checkpoint)) {}
  Key KeyOf(int layer, heal::TensorId id) const;
  absl::Status UploadTensor(int layer, heal::TensorId id, Program* setup, cudaStream_t stream);

  const CudaApi* const api_;
  const std::shared_ptr<const heal::Checkpoint> checkpoint_;
  struct HalfMatrix {
    CudaBuffer data;
    float undo = 1;
  };
  std::map<Key, CudaBuffer> bf16_;
  std::map<Key, HalfMatrix> half_;
};

bool IsMatrixOfProducts(heal::TensorId id);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_WEIGHTS_H_
