#include "core/heal/model/mark_of_weights.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

namespace samebits::heal {
namespace {

// Weights of a synthetic model as a file's, one tensor of which may be another.
class FileCheckpoint : public Checkpoint {
 public:
  explicit FileCheckpoint(uint64_t seed, int changed_layer = -1)
      : own_(*OpenCheckpoint("synthetic:tiny:" + std::to_string(seed))), other_(*OpenCheckpoint("synthetic:tiny:99")),
        changed_layer_(changed_layer) {}
  const ModelShape& shape() const override { return own_->shape(); }
  std::span<const uint16_t> Tensor(int layer, TensorId id) const override {
    return (layer == changed_layer_ && id == TensorId::kDown ? other_ : own_)->Tensor(layer, id);
  }

 private:
  std::shared_ptr<const Checkpoint> own_, other_;
  int changed_layer_;
};

TEST(MarkOfWeightsTest, AnyOtherTensorHasAnotherMark) {
  const std::string mark = MarkOfWeights(FileCheckpoint(1));
  EXPECT_EQ(mark, MarkOfWeights(FileCheckpoint(1)));
  EXPECT_NE(mark, MarkOfWeights(FileCheckpoint(2)));
  EXPECT_NE(mark, MarkOfWeights(FileCheckpoint(1, 0)));
  EXPECT_NE(mark, MarkOfWeights(FileCheckpoint(1, 1)));
  EXPECT_EQ(MarkOfWeights(**OpenCheckpoint("synthetic:tiny:1")), "");
}

}  // namespace
}  // namespace samebits::heal
