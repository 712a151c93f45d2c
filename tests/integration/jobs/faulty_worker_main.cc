// The child side of a worker whose device computes wrong bits: of texts that contain "flip", the lowest bit of
// every buffer is inverted.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workers/executor/cpu/cpu_executor.h"
#include "workers/runner/child.h"

namespace samebits::workers {
namespace {

class FaultyExecutor : public Executor {
 public:
  const DeviceInfo& device() const override { return sound_->device(); }
  absl::Status Prepare(const KernelLaunch& launch) override {
    flips_ = launch.text.find("flip") != std::string::npos;
    return sound_->Prepare(launch);
  }
  absl::Status Run(uint32_t variant, Buffers* buffers) override {
    absl::Status status = sound_->Run(variant, buffers);
    if (!status.ok() || !flips_) return status;
    for (std::vector<uint8_t>& buffer : *buffers) buffer[0] ^= 1;
    return status;
  }

 private:
  const std::unique_ptr<Executor> sound_ = MakeCpuExecutor({}, 0);
  bool flips_ = false;
};

}  // namespace
}  // namespace samebits::workers

int main(int argc, char** argv) {
  using namespace samebits::workers;
  return ChildMain(argc, argv, [](const std::string&, const AssemblerOptions&) -> absl::StatusOr<std::unique_ptr<Executor>> {
    return std::make_unique<FaultyExecutor>();
  });
}
