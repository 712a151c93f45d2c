// Any bytes: the AMDGCN parser answers with a module or an error that has a position, and the checker with a signature
// within its limits, the same each time.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/checker/checker.h"
#include "core/isa/amdgcn/parser.h"

namespace samebits {
namespace {

void Require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

// What a short input need not spell.
constexpr char kTail[] =
    "\n\ts_endpgm\n\t.amdhsa_kernel k\n\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.amdhsa_float_denorm_mode_32 3\n"
    "\t.amdhsa_group_segment_fixed_size 1024\n\t.end_amdhsa_kernel\n\t.amdgpu_metadata\namdhsa.kernels:\n  - .args:\n"
    "      - .offset:         0\n        .size:           8\n        .value_kind:     global_buffer\n      - .offset:         8\n"
    "        .size:           8\n        .value_kind:     global_buffer\n    .name:           k\n    .wavefront_size: 64\n"
    "\t.end_amdgpu_metadata\n";
constexpr char kHead[] = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\nk:\n\ts_load_dwordx4 s[0:3], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n";

}  // namespace
}  // namespace samebits

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace samebits;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string whole = size % 2 == 0 ? text : kHead + text + kTail;
  isa::amdgcn::ParseLimits limits;
  limits.max_instructions = 10'000;
  limits.max_kernels = 16;
  const auto module = isa::amdgcn::Parse(whole, limits);
  if (!module.ok()) {
    const std::string message(module.status().message());
    Require(message.rfind("line ", 0) == 0 || absl::IsResourceExhausted(module.status()), "error without position", whole);
    return 0;
  }
  for (const isa::amdgcn::Kernel& k : module->amdgcn->kernels)
    for (const isa::amdgcn::Instruction& in : k.instructions)
      for (int i = 0; i < in.operand_count; ++i) {
        const isa::amdgcn::Operand& o = in.operands[static_cast<size_t>(i)];
        Require(o.reg + o.count <= isa::amdgcn::kRegisters || o.kind != isa::amdgcn::OperandKind::kRegister, "register", whole);
        Require(in.op == isa::amdgcn::Op::kUnknown || o.kind != isa::amdgcn::OperandKind::kLabel ||
                    (o.imm >= 0 && o.imm <= static_cast<int64_t>(k.instructions.size())),
                "label", whole);
      }
  checker::Options options;
  options.isa = checker::TextIsa::kAmdgcn;
  options.limits.max_steps = 2'000'000;
  options.limits.max_nodes = 200'000;
  options.limits.max_memory_bytes = 64u << 20;
  options.limits.max_grid_classes = 64;
  options.limits.max_time = absl::Seconds(20);
  checker::Launch launch;
  launch.block = {64, 1, 1};
  launch.grid = checker::Dim3{3, 1, 1};
  const auto first = checker::ComputeSignature(whole, launch, options), second = checker::ComputeSignature(whole, launch, options);
  Require(first.ok() == second.ok(), "another status", whole);
  if (first.ok() && first->reason_code != "TIME_LIMIT" && second->reason_code != "TIME_LIMIT")
    Require(first->digest == second->digest && first->reason == second->reason, "another answer", whole);
  return 0;
}
