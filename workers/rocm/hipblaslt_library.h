#ifndef SAMEBITS_WORKERS_ROCM_HIPBLASLT_LIBRARY_H_
#define SAMEBITS_WORKERS_ROCM_HIPBLASLT_LIBRARY_H_

// hipBLASLt as a black box. Compiles and runs against stand-ins for the two libraries; on a GPU of AMD it was never
// executed.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/gemm/black_box.h"
#include "workers/rocm/hip_api.h"

namespace samebits::workers {

struct HipblasLtOptions {
  int device = 0;
  int64_t workspace_bytes = 32 << 20;
};

// Not thread-safe; several may be used at once. Alpha is 1 and beta 0; leading dimensions are without padding. Works on
// the default stream, and places rows by copies. 8-bit types are those of the OCP.
class HipblasLtLibrary : public gemm::BlackBox {
 public:
  // UNAVAILABLE where a library or a device is missing.
  static absl::StatusOr<std::unique_ptr<HipblasLtLibrary>> Open(const HipblasLtOptions& options);
  ~HipblasLtLibrary() override;

  int sm() const override { return 0; }
  const std::string& device_name() const { return device_name_; }
  int compute_units() const { return compute_units_; }
  int64_t version() const { return version_; }  // the library's own number

  // The library's description is opaque: its four 32-bit words are id, custom, inner and cluster.
  absl::StatusOr<gemm::Algorithm> Choose(const gemm::GemmProblem& problem) override;
  absl::StatusOr<gemm::CallProfile> Profile(const gemm::GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::GemmProblem& problem, const gemm::SparseRows& a,
                                                 const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) override;

 private:
  explicit HipblasLtLibrary(std::shared_ptr<const HipApi> api) : api_(std::move(api)) {}
  absl::Status Start(const HipblasLtOptions& options);
  absl::Status SelectDevice() const;
  // Makes `problem` the current one: descriptors, the cost model's answer.
  absl::Status Describe(const gemm::GemmProblem& problem);
  absl::Status AskCostModel();
  void Forget();
  absl::Status Prepare();
  absl::Status PlaceRows(const gemm::SparseRows& rows, gemm::FormatId type, bool contiguous, int64_t side, uint8_t* to);
  absl::StatusOr<std::vector<uint64_t>> Gather(const gemm::SparseRows& a, const gemm::SparseRows& b,
                                               std::span<const gemm::Output> outputs);

  const std::shared_ptr<const HipApi> api_;
  int device_ = 0, compute_units_ = 0, version_ = 0;
  std::string device_name_;
  int64_t workspace_bytes_ = 0;
  hip::Handle handle_ = nullptr;
  std::optional<gemm::GemmProblem> problem_;
  hip::HeuristicResult chosen_;
  hip::Descriptor operation_ = nullptr, layout_a_ = nullptr, layout_b_ = nullptr, layout_d_ = nullptr;
  int64_t a_bytes_ = 0, b_bytes_ = 0, d_bytes_ = 0;
  HipBuffer workspace_{api_.get()}, a_{api_.get()}, b_{api_.get()}, d_{api_.get()};
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_ROCM_HIPBLASLT_LIBRARY_H_
