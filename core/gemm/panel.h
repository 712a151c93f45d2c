#ifndef SAMEBITS_CORE_GEMM_PANEL_H_
#define SAMEBITS_CORE_GEMM_PANEL_H_

// Sixteen outputs at a time, side by side in vector registers. Private to this folder.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/gemm/emulator.h"

namespace samebits::gemm {

inline constexpr int kLanes = 16;

// The products of kLanes outputs, index by index of the contracted axis. Lanes beyond the outputs given hold zeros.
class Panel {
 public:
  Panel(const Plan& plan, const Operand& a, const Operand& b, std::span<const Output> outputs);

  // Runs the plan. Lanes whose bit is set in the return value met values outside the fast path (specials, results that
  // are subnormal or overflow): theirs must be computed by the reference.
  uint32_t Run(const Plan& plan, std::array<uint64_t, kLanes>* results) const;

 private:
  void FillMatrix(const Operand& a, const Operand& b, Output output, size_t lane, int64_t begin, int64_t end);
  template <typename Real>
  void FillScalar(const Operand& a, const Operand& b, Output output, size_t lane, int64_t begin, int64_t end,
                  std::vector<Real>* x, std::vector<Real>* y);

  uint32_t special_ = 0;
  int product_fraction_bits_ = 0;
  // matrix: significand of the product, and its exponent (a zero product's is the unit's zero_exponent)
  std::vector<int32_t> significands_;
  std::vector<int16_t> exponents_;
  std::vector<float> a32_, b32_;   // scalar, f32
  std::vector<double> a64_, b64_;  // scalar, f64
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PANEL_H_
