#include "core/heal/reference/reference_backend.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/heal/reference/reference_engine.h"

namespace samebits::heal {
namespace {

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend(std::shared_ptr<const Checkpoint> checkpoint, int threads)
      : model_(std::make_shared<ReferenceModel>(std::move(checkpoint))), threads_(threads) {}

  const ModelShape& shape() const override { return model_->shape; }
  std::string Describe() const override { return "CPU reference"; }

  absl::StatusOr<std::unique_ptr<Engine>> Open(const Configuration& configuration, const Capacity& capacity) override {
    if (const absl::Status status = Validate(configuration, shape().layers); !status.ok()) return status;
    if (capacity.slots < 1 || capacity.context < 1 || capacity.rows < 1) {
      return absl::InvalidArgumentError("an engine's slots, context and rows must be positive");
    }
    const double needed =
        static_cast<double>(ReferenceEngine::CacheBytesPerToken(shape())) * capacity.slots * capacity.context;
    const double present = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    if (needed > present) {
      return absl::ResourceExhaustedError(absl::StrCat("a cache of ", capacity.slots, " slots and context ",
                                                       capacity.context, " takes ", needed / 1e9,
                                                       " GB; the machine has ", present / 1e9));
    }
    return std::make_unique<ReferenceEngine>(model_, configuration, capacity, threads_);
  }

  absl::StatusOr<double> CopyBandwidth() override {
    std::vector<char> from(size_t{1} << 27, 1), to(from.size());
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      std::memcpy(to.data(), from.data(), from.size());
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      best = std::max(best, 2 * static_cast<double>(from.size()) / taken.count());
    }
    return best;
  }

 private:
  const std::shared_ptr<const ReferenceModel> model_;
  const int threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenReferenceBackend(std::shared_ptr<const Checkpoint> checkpoint,
                                                              int threads) {
  if (const absl::Status status = Validate(checkpoint->shape()); !status.ok()) return status;
  if (threads < 0 || threads > 1024) return absl::InvalidArgumentError("threads must be 0 (one per core) to 1024");
  return std::make_unique<ReferenceBackend>(std::move(checkpoint), threads);
}

}  // namespace samebits::heal
