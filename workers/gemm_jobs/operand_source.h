#ifndef SAMEBITS_WORKERS_GEMM_JOBS_OPERAND_SOURCE_H_
#define SAMEBITS_WORKERS_GEMM_JOBS_OPERAND_SOURCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/operand.h"
#include "core/inputs/inputs.h"
#include "samebits/v1/gemm_jobs.pb.h"

namespace samebits::workers {

// Elements of a matrix of a request, given or generated. Matrices of moderate size are made once. Not thread-safe.
class OperandSource {
 public:
  // `name`: of the buffer where the request names none. `operand` outlives it. INVALID_ARGUMENT, which names the operand,
  // for other numbers of bytes than elements need, unknown distributions, and types that are not generated.
  static absl::StatusOr<OperandSource> Make(const v1::GemmOperand& operand, const std::string& name, gemm::FormatId type,
                                            int64_t elements);

  // Patterns of elements [first, first + count), which lie within the matrix, appended to *out.
  absl::Status Append(int64_t first, int64_t count, std::vector<uint64_t>* out);

 private:
  OperandSource(const v1::GemmOperand& operand, gemm::FormatId type, int64_t elements) : operand_(operand), type_(type), elements_(elements) {}
  absl::StatusOr<std::vector<uint8_t>> Generate(int64_t first, int64_t count) const;

  const v1::GemmOperand& operand_;
  gemm::FormatId type_;
  int64_t elements_;
  inputs::BufferSpec buffer_;
  inputs::Distribution distribution_ = inputs::Distribution::kUniform;
  std::vector<uint8_t> whole_;  // where it was made
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_GEMM_JOBS_OPERAND_SOURCE_H_
