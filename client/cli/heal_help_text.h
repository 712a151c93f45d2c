#ifndef SAMEBITS_CLIENT_CLI_HEAL_HELP_TEXT_H_
#define SAMEBITS_CLIENT_CLI_HEAL_HELP_TEXT_H_

// Footers of the help pages of `heal ...`.

namespace samebits::cli {

inline constexpr char kHealHelp[] =
    R"(Try it, without a server, model or GPU:
  samebits heal evaluate --local --model synthetic:tiny:7 --synthetic-prompts 4x16 --max-new-tokens 8

Configurations say where a forward pass rounds: bf16, fp16, tf32, fp32, heal-base, heal+, heal++:K, heal-full, trunc:K.
Reference: docs/numerics.md.)";

inline constexpr char kHealRunHelp[] =
    R"(With --local the job runs in this process; else on a worker of the server (samebits fleet), and goes on elsewhere
where the worker dies. Models of workers are those that their operators named (samebits-worker --model NAME=PATH).
--local --resume FILE goes on from FILE after it was stopped, and gives the same numbers.
Exit codes: 0 done; 2 usage or input error; 4 failure of the server, the worker or the device.)";

inline constexpr char kHealEvaluateHelp[] =
    R"(Examples:
  samebits heal evaluate --local --model synthetic:tiny:7 --synthetic-prompts 4x16 --configurations bf16,heal+
  samebits heal evaluate --model smollm2 --prompts mcr.jsonl --max-new-tokens 256 --output evaluation

For each configuration: the mean squared error of the final hidden states against the anchor on the anchor's tokens, and
how many answers and sequences are others than the anchor's, under three schedules of batching.)";

inline constexpr char kHealAttributeHelp[] =
    R"(Example:
  samebits heal attribute --model smollm2 --prompts mcr.jsonl --configurations bf16 --output attribution

Each layer's contributions to the final error: attention, KV cache, MLP. All of them and the remainder sum to 1.)";

inline constexpr char kHealDecomposeHelp[] =
    R"(Example:
  samebits heal decompose --local --model synthetic:tiny:7 --synthetic-prompts 2x16 --max-new-tokens 8

For each operator on the same inputs: the share of its error that arithmetic has; the rest is truncation.)";

inline constexpr char kHealSweepHelp[] =
    R"(Example:
  samebits heal sweep --model smollm2 --prompts mcr.jsonl --least-bits 5 --most-bits 16 --output sweep

An FP32 pipeline that keeps so many significand bits at each boundary: error and flip rate, and the fewest bits from which
on answers are as stable as the anchor's.)";

inline constexpr char kHealQkvHelp[] =
    R"(Example:
  samebits heal qkv --model smollm2 --prompts mcr.jsonl --max-new-tokens 64 --output qkv

AbsMax over sigma of Q, K and V, and the predicted and measured error of INT16 and of FP16 storage.)";

inline constexpr char kHealPolicyHelp[] =
    R"(Example:
  samebits heal policy --model smollm2 --prompts mcr.jsonl --variant heal-full

Skips the protection of ever more layers, in the order of their contributions and from the first on; the most that stays
within the budget is the policy.)";

inline constexpr char kHealServeCostHelp[] =
    R"(Example:
  samebits heal serve-cost --local --device cuda:0 --model synthetic:qwen3-8b --batches 1,16,64 --contexts 2048

Times decode steps of every configuration in turn. On the CPU they are the
reference's times, which say nothing about serving.)";

inline constexpr char kHealInstructionMixHelp[] =
    R"(Examples:
  samebits heal instruction-mix kernel.cubin
  samebits heal instruction-mix libcublasLt.so --target sm_90 --match 'gemm.*f16' --group '^[a-z0-9]+' --json
  samebits heal instruction-mix --engine bf16,heal+ --shape qwen3-8b --arch sm_90
  samebits heal instruction-mix --server 127.0.0.1:7433 kernel.cubin --output mix

Counts the instructions of each kernel as they stand in its code: tensor, half, single, special, double, conversions. A
file is a cubin, fatbin, library, AMD code object, or what cuobjdump -sass, nvdisasm or llvm-objdump -d printed; machine
code needs these programs, and --engine NVRTC and nvdisasm. Runs in this process, whatever SAMEBITS_SERVER says; with
--server on a worker that has the programs (samebits fleet), which goes on elsewhere where the worker dies.
Exit codes: 0 done; 2 usage or input error, no such program, or nothing matches; 4 failure of the server or the worker.)";

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HEAL_HELP_TEXT_H_
