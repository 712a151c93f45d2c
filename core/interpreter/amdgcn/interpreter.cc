#include "core/interpreter/amdgcn/interpreter.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/interpreter/amdgcn/wave.h"

namespace samebits::interpreter {

namespace ia = isa::amdgcn;

namespace {

// What the model lacks of a kernel or its launch.
absl::Status CheckModel(const ia::Program& program, const ia::Kernel& kernel, const LaunchConfig& config) {
  if (program.target != "gfx90a" && program.target != "gfx942" && program.target != "gfx950")
    return absl::UnimplementedError(absl::StrCat("processor '", program.target, "' is not interpreted (gfx90a, gfx942, gfx950)"));
  if (!kernel.has_metadata) return absl::UnimplementedError("the text has no .amdgpu_metadata for this kernel: its arguments are not known");
  if (kernel.wave_lanes != amdgcn::Wave::kLanes) return absl::UnimplementedError("waves of 32 lanes are not interpreted");
  if (kernel.float_round_32 != 0 || kernel.float_round_16_64 != 0 || kernel.float_denorm_32 != 3 || kernel.float_denorm_16_64 != 3 ||
      !kernel.dx10_clamp)
    return absl::UnimplementedError("the kernel's rounding or denormal mode is not interpreted");
  if (kernel.preload_length > 0 && (kernel.preload_entry == 0 || kernel.preload_offset != 0))
    return absl::UnimplementedError("kernel arguments are preloaded, but the entry at byte 256 is not where compilers put it");
  if (kernel.workitem_id < (config.block[2] > 1 ? 2u : config.block[1] > 1 ? 1u : 0u))
    return absl::UnimplementedError("the workgroup has dimensions that the kernel does not ask the ids of");
  return absl::OkStatus();
}

// Whether an argument that the runtime fills is zero in launches of whole workgroups without an offset.
bool IsZero(std::string_view kind) {
  return kind == "hidden_none" || kind.substr(0, 16) == "hidden_remainder" || kind.substr(0, 20) == "hidden_global_offset";
}

absl::Status Fill(const ia::Kernel& kernel, const LaunchConfig& config, amdgcn::Block* block) {
  std::vector<uint8_t>* const kernarg = &block->kernarg;
  size_t bytes = kernel.kernarg_bytes;
  for (const ia::KernelArgument& a : kernel.arguments) bytes = std::max<size_t>(bytes, size_t{a.offset} + a.size);
  if (bytes > 4096) return absl::InvalidArgumentError("more than 4096 bytes of arguments");
  kernarg->assign(bytes, 0);
  block->unknown_kernarg.assign(bytes, false);
  if (config.args.size() != kernel.explicit_arguments)
    return absl::InvalidArgumentError(absl::StrCat("the kernel takes ", kernel.explicit_arguments, " arguments, the launch gives ", config.args.size()));
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const ia::KernelArgument& a = kernel.arguments[i];
    uint8_t* const at = kernarg->data() + a.offset;
    if (i < config.args.size()) {
      std::memcpy(at, config.args[i].data(), std::min<size_t>(a.size, config.args[i].size()));
      continue;
    }
    bool known = IsZero(a.value_kind);
    auto number = [&](uint64_t v) { std::memcpy(at, &v, std::min<size_t>(a.size, 8)), known = true; };
    for (size_t d = 0; d < 3; ++d) {
      const std::string axis(1, static_cast<char>('x' + d));
      if (a.value_kind == "hidden_block_count_" + axis) number(config.grid[d]);
      if (a.value_kind == "hidden_group_size_" + axis) number(config.block[d]);
    }
    for (uint32_t byte = 0; !known && byte < a.size; ++byte) block->unknown_kernarg[a.offset + byte] = true;
  }
  for (size_t i = 0; i < std::min(bytes, size_t{4} * kernel.preload_length); ++i)
    if (block->unknown_kernarg[i]) return absl::UnimplementedError("an argument that only the runtime knows is preloaded");
  return absl::OkStatus();
}

absl::Status RunBlock(amdgcn::Block* block, const LaunchConfig& config, const std::array<uint32_t, 3>& id) {
  const ia::Kernel& kernel = *block->kernel;
  const int threads = static_cast<int>(config.block[0] * config.block[1] * config.block[2]);
  std::fill(block->lds.begin(), block->lds.end(), 0);
  std::vector<amdgcn::Wave> waves;
  for (int first = 0; first < threads; first += amdgcn::Wave::kLanes) {
    waves.emplace_back(block, std::min(amdgcn::Wave::kLanes, threads - first));
    amdgcn::Wave& w = waves.back();
    for (int l = 0; l < std::min(amdgcn::Wave::kLanes, threads - first); ++l) {
      const uint32_t t = static_cast<uint32_t>(first + l);
      const uint32_t x = t % config.block[0], y = t / config.block[0] % config.block[1], z = t / config.block[0] / config.block[1];
      w.Vector(0, l) = x | y << 10 | z << 20;
    }
    int next = 0;
    if (kernel.private_segment_buffer) next += 4;
    if (kernel.dispatch_ptr) next += 2;
    if (kernel.queue_ptr) next += 2;
    if (kernel.kernarg_ptr) {
      w.Scalar(next) = static_cast<uint32_t>(amdgcn::kKernargAddress);
      w.Scalar(next + 1) = static_cast<uint32_t>(amdgcn::kKernargAddress >> 32);
      next += 2;
    }
    if (kernel.dispatch_id) next += 2;
    if (kernel.flat_scratch_init) next += 2;
    if (kernel.private_segment_size) next += 1;
    for (uint32_t i = 0; i < kernel.preload_length && i < 16; ++i, ++next)
      if (size_t{4} * i + 4 <= block->kernarg.size()) std::memcpy(&w.Scalar(next), block->kernarg.data() + 4 * i, 4);
    if (kernel.has_user_sgpr_count) next = static_cast<int>(kernel.user_sgpr_count);
    for (size_t d = 0; d < 3; ++d)
      if (kernel.workgroup_id[d]) w.Scalar(next++) = id[d];
    if (kernel.preload_length > 0) w.set_pc(kernel.preload_entry);
  }
  for (;;) {
    bool all_ended = true, any_waits = false;
    for (size_t i = 0; i < waves.size(); ++i) {
      amdgcn::Wave& w = waves[config.descending ? waves.size() - 1 - i : i];
      if (absl::Status s = w.Run(); !s.ok()) return s;
      all_ended &= w.state() == amdgcn::Wave::State::kEnded;
      any_waits |= w.state() == amdgcn::Wave::State::kAtBarrier;
    }
    if (all_ended) return absl::OkStatus();
    if (!any_waits) return absl::InternalError("waves neither end nor wait");
    for (amdgcn::Wave& w : waves)
      if (w.state() == amdgcn::Wave::State::kAtBarrier) w.PassBarrier();
  }
}

}  // namespace

absl::StatusOr<RunResult> RunAmdgcn(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                                    Memory& memory) {
  if (module.amdgcn == nullptr) return absl::InvalidArgumentError("not an AMDGCN module");
  const uint32_t index = module.FindEntry(entry);
  if (index == isa::kNone32) return absl::NotFoundError(absl::StrCat("no kernel '", std::string(entry), "'"));
  amdgcn::Block block;
  block.kernel = &module.amdgcn->kernels[index];
  block.target = module.amdgcn->target;
  block.memory = &memory;
  block.max_steps = config.max_steps / 64;
  const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
  if (threads == 0 || threads > 1024) return absl::InvalidArgumentError("a workgroup has 1 to 1024 work-items");
  if (absl::Status s = CheckModel(*module.amdgcn, *block.kernel, config); !s.ok()) return s;
  const uint64_t lds = uint64_t{block.kernel->group_segment_bytes} + config.shared_bytes;
  if (lds > (1u << 20)) return absl::InvalidArgumentError("more LDS than a workgroup may have");
  block.lds.resize(lds);
  if (absl::Status s = Fill(*block.kernel, config, &block); !s.ok()) return s;
  const uint64_t blocks = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  if (blocks == 0 || blocks > (uint64_t{1} << 32)) return absl::InvalidArgumentError("illegal grid");
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = config.descending ? blocks - 1 - i : i;
    const std::array<uint32_t, 3> id = {static_cast<uint32_t>(b % config.grid[0]), static_cast<uint32_t>(b / config.grid[0] % config.grid[1]),
                                        static_cast<uint32_t>(b / config.grid[0] / config.grid[1])};
    if (absl::Status s = RunBlock(&block, config, id); !s.ok()) return s;
  }
  return RunResult{block.steps * 64, block.model_results};
}

}  // namespace samebits::interpreter
