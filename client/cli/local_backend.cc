#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/backend.h"
#include "core/checker/memo.h"

namespace samebits::cli {
namespace {

absl::Status NeedsServer(const std::string& kernel_name) {
  return absl::InvalidArgumentError(
      absl::StrCat(kernel_name, ": a registered kernel lives in a server; drop --local or name a file"));
}

class LocalBackend : public Backend {
 public:
  LocalBackend(const checker::Options& options, int jobs) : options_(options), jobs_(jobs) {}

  absl::StatusOr<checker::Comparison> Compare(const Kernel& a, const Kernel& b) override {
    absl::StatusOr<checker::Signature> signature_a = Compute(a), signature_b = Compute(b);
    if (!signature_a.ok()) return signature_a.status();
    if (!signature_b.ok()) return signature_b.status();
    return checker::CompareSignatures(*signature_a, *signature_b);
  }

  absl::StatusOr<checker::Comparison> Explain(const Kernel& a, const Kernel& b) override {
    for (const Kernel* kernel : {&a, &b})
      if (!kernel->kernel_name.empty()) return NeedsServer(kernel->kernel_name);
    absl::StatusOr<checker::Comparison> explained =
        checker::Explain(a.text, a.launch.launch, b.text, b.launch.launch, options_);
    if (explained.ok()) return explained;
    const absl::StatusOr<checker::Comparison> plain = Compare(a, b);  // its error names the kernel
    return plain.ok() ? explained.status() : plain.status();
  }

  absl::StatusOr<checker::TextInfo> Describe(const std::string& kernel_name) override {
    return NeedsServer(kernel_name);
  }

  absl::StatusOr<std::string> FetchText(const std::string& kernel_name) override { return NeedsServer(kernel_name); }

  absl::StatusOr<Registered> Register(const std::string&) override {
    return absl::InvalidArgumentError("register stores kernels in a server; drop --local");
  }

  absl::Status ComputeSignatures(const std::vector<KernelSource>& sources, const OnSignature& on_signature) override {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    const auto work = [&] {
      for (size_t i = next++; i < sources.size(); i = next++) {
        absl::StatusOr<checker::Signature> signature = LoadAndCompute(sources[i]);
        const std::lock_guard<std::mutex> lock(mutex);
        on_signature(i, std::move(signature));
      }
    };
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t threads = std::min<size_t>(jobs_ > 0 ? jobs_ : cores, sources.size());
    std::vector<std::thread> pool;
    for (size_t i = 1; i < threads; ++i) pool.emplace_back(work);
    work();
    for (std::thread& thread : pool) thread.join();
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<checker::Signature> Compute(const Kernel& kernel) {
    if (!kernel.kernel_name.empty()) return NeedsServer(kernel.kernel_name);
    absl::StatusOr<checker::Signature> signature =
        checker::ComputeSignature(kernel.text, kernel.launch.launch, options_, &memo_);
    if (!signature.ok()) return PrefixStatus(signature.status(), kernel.id);
    return signature;
  }

  absl::StatusOr<checker::Signature> LoadAndCompute(const KernelSource& source) {
    absl::StatusOr<Kernel> kernel = LoadKernel(source, NeedsServer);
    if (!kernel.ok()) return kernel.status();
    return Compute(*kernel);
  }

  const checker::Options options_;
  const int jobs_;
  checker::SignatureMemo memo_;
};

}  // namespace

std::unique_ptr<Backend> MakeLocalBackend(const checker::Options& options, int jobs) {
  return std::make_unique<LocalBackend>(options, jobs);
}

}  // namespace samebits::cli
