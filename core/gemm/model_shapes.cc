#include "core/gemm/model_shapes.h"

namespace samebits::gemm {
namespace {

constexpr ModelProduct kProducts[] = {
    {"Qwen3-0.6B", "q", 2048, 1024},
    {"Qwen3-0.6B", "kv", 1024, 1024},
    {"Qwen3-0.6B", "qkv", 4096, 1024},
    {"Qwen3-0.6B", "o", 1024, 2048},
    {"Qwen3-0.6B", "gate", 3072, 1024},
    {"Qwen3-0.6B", "gate_up", 6144, 1024},
    {"Qwen3-0.6B", "down", 1024, 3072},
    {"Qwen3-0.6B", "head", 151936, 1024},
    {"Qwen3-8B", "q", 4096, 4096},
    {"Qwen3-8B", "kv", 1024, 4096},
    {"Qwen3-8B", "qkv", 6144, 4096},
    {"Qwen3-8B", "o", 4096, 4096},
    {"Qwen3-8B", "gate", 12288, 4096},
    {"Qwen3-8B", "gate_up", 24576, 4096},
    {"Qwen3-8B", "down", 4096, 12288},
    {"Qwen3-8B", "head", 151936, 4096},
    {"Qwen3-14B", "q", 5120, 5120},
    {"Qwen3-14B", "kv", 1024, 5120},
    {"Qwen3-14B", "qkv", 7168, 5120},
    {"Qwen3-14B", "o", 5120, 5120},
    {"Qwen3-14B", "gate", 17408, 5120},
    {"Qwen3-14B", "gate_up", 34816, 5120},
    {"Qwen3-14B", "down", 5120, 17408},
    {"Qwen3-14B", "head", 151936, 5120},
    {"Qwen3-32B", "q", 8192, 5120},
    {"Qwen3-32B", "kv", 1024, 5120},
    {"Qwen3-32B", "qkv", 10240, 5120},
    {"Qwen3-32B", "o", 5120, 8192},
    {"Qwen3-32B", "gate", 25600, 5120},
    {"Qwen3-32B", "gate_up", 51200, 5120},
    {"Qwen3-32B", "down", 5120, 25600},
    {"Qwen3-32B", "head", 151936, 5120},
    {"Llama-3.1-8B", "q", 4096, 4096},
    {"Llama-3.1-8B", "kv", 1024, 4096},
    {"Llama-3.1-8B", "qkv", 6144, 4096},
    {"Llama-3.1-8B", "o", 4096, 4096},
    {"Llama-3.1-8B", "gate", 14336, 4096},
    {"Llama-3.1-8B", "gate_up", 28672, 4096},
    {"Llama-3.1-8B", "down", 4096, 14336},
    {"Llama-3.1-8B", "head", 128256, 4096},
    {"DS-R1-Qwen-14B", "q", 5120, 5120},
    {"DS-R1-Qwen-14B", "kv", 1024, 5120},
    {"DS-R1-Qwen-14B", "qkv", 7168, 5120},
    {"DS-R1-Qwen-14B", "o", 5120, 5120},
    {"DS-R1-Qwen-14B", "gate", 13824, 5120},
    {"DS-R1-Qwen-14B", "gate_up", 27648, 5120},
    {"DS-R1-Qwen-14B", "down", 5120, 13824},
    {"DS-R1-Qwen-14B", "head", 152064, 5120},
};

}  // namespace

std::span<const ModelProduct> ModelProducts() { return kProducts; }

}  // namespace samebits::gemm
