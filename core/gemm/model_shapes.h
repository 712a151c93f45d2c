#ifndef SAMEBITS_CORE_GEMM_MODEL_SHAPES_H_
#define SAMEBITS_CORE_GEMM_MODEL_SHAPES_H_

// The matrix products of a forward pass of some language models, by their published configurations.

#include <cstdint>
#include <span>

namespace samebits::gemm {

// D (tokens x n) = A (tokens x k) * W (n x k) transposed.
struct ModelProduct {
  const char* model;
  const char* product;  // "qkv", "o", "gate_up", "down", "head"; "q", "kv" and "gate" where weights are not joined
  int64_t n, k;
};

// Of Qwen3 0.6B, 8B, 14B and 32B, Llama 3.1 8B and DeepSeek-R1-Distill-Qwen-14B.
std::span<const ModelProduct> ModelProducts();

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_MODEL_SHAPES_H_
