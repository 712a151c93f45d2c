#ifndef SAMEBITS_CORE_SOFTFLOAT_APPROXIMATE_H_
#define SAMEBITS_CORE_SOFTFLOAT_APPROXIMATE_H_

// Stand-ins for PTX's approximate instructions, whose results are hardware tables that the ISA bounds but does not
// define. A stand-in is a deterministic function with the ISA's special cases that is close to the true value; it is
// NOT what the hardware returns. `exact` says whether the ISA fixes this very result (special operands); callers
// that claim bits must refuse a result that is not exact.

#include <cstdint>

#include "core/softfloat/format.h"

namespace samebits::softfloat {

struct ModelResult {
  uint64_t bits = 0;
  bool exact = false;
};

enum class ApproxOp : uint8_t { kEx2, kLg2, kSin, kCos, kTanh, kRcp, kRsqrt, kSqrt };

// ex2, lg2, sin, cos, tanh, rcp, rsqrt and sqrt with `.approx`, for f32 (all), f64 (rcp, rsqrt), f16 and bf16 (ex2,
// tanh). ex2 without `.ftz` keeps subnormals; with it they are flushed on both sides.
ModelResult ModelApprox(ApproxOp op, const Format& format, uint64_t a, bool ftz);

// div.full.f32 and div.approx.f32: the stand-in is the correctly rounded quotient; `approx` adds the ISA's zero
// results for divisors beyond 2^126.
ModelResult ModelDivide(uint64_t a, uint64_t b, bool approx, bool ftz);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_APPROXIMATE_H_
