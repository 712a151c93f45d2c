#ifndef SAMEBITS_WORKERS_ROCM_HIPBLASLT_DECLARATIONS_H_
#define SAMEBITS_WORKERS_ROCM_HIPBLASLT_DECLARATIONS_H_

// The few parts of hipBLASLt's C interface that are called, as AMD documents them for ROCm 6 and 7, so that no header of ROCm
// is needed to build. Enumerations are passed as int, handles as pointers.

#include <cstddef>
#include <cstdint>

#include "workers/rocm/runtime/hip_declarations.h"

namespace samebits::workers::hip {

using Handle = void*;       // of hipBLASLt
using Descriptor = void*;   // of an operation, a layout or a preference

inline constexpr int kStatusAllocFailed = 2;  // hipblasStatus_t
inline constexpr int kStatusInvalidValue = 3;
inline constexpr int kStatusNotSupported = 7;
inline constexpr int kStatusArchMismatch = 8;

inline constexpr int kR32F = 0;  // hipDataType
inline constexpr int kR64F = 1;
inline constexpr int kR16F = 2;
inline constexpr int kR16BF = 14;
inline constexpr int kR8FE4M3 = 28;  // of the OCP, not of AMD's FNUZ variety
inline constexpr int kR8FE5M2 = 29;

inline constexpr int kOpN = 111;  // hipblasOperation_t
inline constexpr int kOpT = 112;

inline constexpr int kCompute16F = 0;  // hipblasComputeType_t
inline constexpr int kCompute32F = 2;
inline constexpr int kCompute32FFastTf32 = 6;
inline constexpr int kCompute64F = 7;

inline constexpr int kDescTransA = 0;  // hipblasLtMatmulDescAttributes_t; int32_t
inline constexpr int kDescTransB = 1;
inline constexpr int kPreferenceMaxWorkspaceBytes = 1;  // uint64_t

// hipblasLtMatmulAlgo_t
struct Algo {
  uint8_t data[16] = {};  // opaque; names the algorithm within a version of the library
  size_t max_workspace_bytes = 0;
};

// hipblasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algo algo;
  size_t workspace_size = 0;
  int state = kSuccess;  // the rest counts only with this
  float waves_count = 1;
  int reserved[4] = {};
};
static_assert(sizeof(Algo) == 24 && sizeof(HeuristicResult) == 56);

}  // namespace samebits::workers::hip

#endif  // SAMEBITS_WORKERS_ROCM_HIPBLASLT_DECLARATIONS_H_
