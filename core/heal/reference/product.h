#ifndef SAMEBITS_CORE_HEAL_REFERENCE_PRODUCT_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_PRODUCT_H_

// Matrix products whose sums are FP64. Products of inputs of up to 24 bits are exact there, so the only roundings are
// those of the sum (relative 2^-53 a step, in a fixed order) and the last one to FP32.

#include <cstdint>
#include <span>
#include <vector>

#include "core/heal/numerics/configuration.h"
#include "core/heal/reference/worker_threads.h"

namespace samebits::heal {

// The sum of a[i] * b[i]: eight partial sums (of the indices equal modulo 8), then ((0+4)+(2+6)) + ((1+5)+(3+7)).
double Dot(const double* a, const double* b, int64_t count);

// What a product reads for `x`, exact in FP64. FP16 saturates; infinities and NaN stay.
double InputValue(GemmInput input, float x);

// What it reads for a weight: itself, but FP16 with the matrix's scale 2^exponent holds the smallest ones less finely.
void WeightRow(GemmInput input, int exponent, const uint16_t* bf16, std::span<double> row);

struct WeightMatrix {
  std::span<const uint16_t> values;  // outputs x inputs, BF16
  int64_t outputs = 0, inputs = 0;
  int exponent = 0;                // of WeightScaleExponent; used by FP16 only
  std::span<const uint16_t> bias;  // outputs, BF16; may be empty
};

// y (rows x outputs) = FP32(sum) + bias for x (rows x inputs), not yet rounded to a boundary.
void Multiply(GemmInput input, const WeightMatrix& weights, std::span<const float> x, int64_t rows,
              WorkerThreads& threads, std::span<float> y);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_PRODUCT_H_
