#include "core/checker/text.h"

#include "core/isa/amdgcn/parser.h"
#include "core/isa/ptx/parser.h"
#include "core/isa/ptx/verifier.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::checker {

TextIsa IsaOf(std::string_view text) { return isa::amdgcn::LooksLikeAmdgcn(text) ? TextIsa::kAmdgcn : TextIsa::kPtx; }

absl::StatusOr<isa::Module> ParseText(std::string_view text, TextIsa isa, const Limits& limits) {
  if (isa == TextIsa::kAmdgcn || (isa == TextIsa::kDetect && IsaOf(text) == TextIsa::kAmdgcn)) {
    isa::amdgcn::ParseLimits parse_limits;
    parse_limits.max_text_bytes = limits.max_text_bytes;
    return isa::amdgcn::Parse(std::string(text), parse_limits);
  }
  isa::ptx::ParseLimits parse_limits;
  parse_limits.max_text_bytes = limits.max_text_bytes;
  auto module = isa::ptx::Parse(std::string(text), parse_limits);
  if (!module.ok()) return module.status();
  if (absl::Status s = isa::ptx::Verify(*module); !s.ok()) return s;
  return module;
}

std::unique_ptr<symexec::Machine> MakeMachine(const isa::Module& module, uint32_t entry, const symexec::LaunchConfig& launch,
                                              const std::vector<uint32_t>& blocks, canonical::Builder* builder,
                                              symexec::LaneSpace* space, symexec::SymbolicSpace* symbolic,
                                              const symexec::MachineLimits& limits) {
  if (module.amdgcn != nullptr)
    return std::make_unique<symexec::WaveMachine>(module, entry, launch, blocks, builder, space, symbolic, limits);
  return std::make_unique<symexec::Machine>(module, entry, launch, blocks, builder, space, symbolic, limits);
}

}  // namespace samebits::checker
