#ifndef SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_BACKEND_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_BACKEND_H_

// The forward pass of engine.h on the CPU, exact about where each rounding falls. A row's bits depend on its own slot's
// tokens and the configuration only: not on the number of threads, on which rows share a call, or on the calls before.
//
// Q(x) is x rounded to the boundary. Sums of products, squares and probabilities accumulate in FP64 in a fixed order
// and are rounded to FP32 once; exp, sin and cos are computed in FP64 and rounded to FP32. Everything else is FP32, one
// rounding an operation.
//
// Embedding: H_0 = Q(row of the matrix).
//
// Norm: Q(x * r * weight) with r = FP32(1 / sqrt(mean of squares of x + epsilon)), multiplied from left to right. x is
// the residual, or (norm_of_unrounded) the sum that it was before Q.
//
// Product: Q(FP32(sum) + bias). Inputs are rounded as GemmInput says; compensated ones count as hi + lo / 2^10 in the
// same sum. FP16 inputs saturate: finite values beyond 65504 count as that.
//
// Rotation: QK-norm where the model has it, without Q; then x1 * cos - x2 * sin and x2 * cos + x1 * sin, with angles
// FP32(position * frequency); then Q.
//
// Attention: Q, K and V rounded to the attention's type (INT16: a scale for each row and head). Score = FP32(sum) *
// FP32(1 / sqrt(head_dim)), p = exp(score - largest score), l = FP32(sum of p). p is rounded to BF16 or FP16 in those
// modes and stays FP32 in the others; the output is Q(FP32(sum of p * V) / l).
//
// SwiGLU: Q(FP32(gate / (1 + exp(-gate))) * up).
//
// Residual: Q(H + output); the output was rounded by its product already.
//
// Head: logits are a product's outputs, Q included.

#include <memory>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/model/checkpoint.h"

namespace samebits::heal {

// `threads`: per engine, 0 for one per core. Engines may outlive the backend. INVALID_ARGUMENT where the shape is not
// valid. Open: RESOURCE_EXHAUSTED where a full cache would not fit the machine's memory.
absl::StatusOr<std::unique_ptr<Backend>> OpenReferenceBackend(std::shared_ptr<const Checkpoint> checkpoint,
                                                              int threads);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_BACKEND_H_
