#ifndef SAMEBITS_CORE_GEMM_HARDWARE_VECTORS_H_
#define SAMEBITS_CORE_GEMM_HARDWARE_VECTORS_H_

// Published results of matrix units, replayed on the models of core/softfloat/matrix_unit.h.
//
// A folder holds, at any depth, folders with files a_GPU_TYPE.txt and b_GPU_TYPE.txt (a row of operands a line, hex of
// the value widened to f32), c_GPU_fp32.txt (the accumulator, 32 binary digits a line) and d_GPU_RESULT.txt (the
// result widened to f32, 32 binary digits a line). GPU is V100, A100, L40S, Ada, H100, H200 or B200, TYPE is fp16,
// bf16, tf32, E4M3 or E5M2, RESULT is fp32 or fp16.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace samebits::gemm {

struct VectorCheck {
  std::string gpu, type, result;
  std::string unit;  // the model: "sm_90 wgmma"; empty where there is none
  bool claimed = false;
  int64_t rows = 0, mismatches = 0;  // mismatches: of the claimed model; 0 where none is claimed
};

// One entry per d file, ordered by GPU, type and result. NOT_FOUND where the folder holds none; INVALID_ARGUMENT with
// file and line where a file is unreadable or malformed, or where files of one folder differ in length.
absl::StatusOr<std::vector<VectorCheck>> CheckVectors(const std::string& folder);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_HARDWARE_VECTORS_H_
