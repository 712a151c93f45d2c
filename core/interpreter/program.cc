#include "core/interpreter/program.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace samebits::interpreter {
namespace {

using isa::kNone32;
using isa::StateSpace;
using isa::Symbol;

constexpr uint64_t kMaxVariableBytes = 1u << 30;

uint64_t AlignUp(uint64_t value, uint64_t align) { return align <= 1 ? value : (value + align - 1) / align * align; }

StateSpace SpaceOf(const Symbol& symbol) {
  return symbol.kind == Symbol::Kind::kParam ? StateSpace::kParam : symbol.space;
}

absl::Status PlaceGlobal(const Symbol& symbol, Memory& memory, uint64_t& address) {
  if (symbol.is_extern) {
    return absl::UnimplementedError(absl::StrCat("variable of another module: ", std::string(symbol.name)));
  }
  if (symbol.init_has_addresses) {
    return absl::UnimplementedError(absl::StrCat("initialiser with addresses: ", std::string(symbol.name)));
  }
  address = memory.Allocate(std::max<uint64_t>(symbol.size, symbol.init.size()));
  std::copy(symbol.init.begin(), symbol.init.end(), memory.Buffer(address).begin());
  return absl::OkStatus();
}

void PlaceInFunction(const Symbol& symbol, uint32_t FunctionLayout::*end, Program& program, uint64_t& address) {
  uint32_t& used = program.functions[symbol.function].*end;
  address = AlignUp(used, symbol.align);
  used = static_cast<uint32_t>(address + symbol.size);
}

absl::Status PlaceSymbols(Program& program, Memory& memory) {
  const auto& symbols = program.module->symbols;
  program.symbol_address.assign(symbols.size(), 0);
  uint64_t dynamic_align = 16;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (symbol.kind == Symbol::Kind::kFunction || symbol.kind == Symbol::Kind::kOther) continue;
    if (symbol.size > kMaxVariableBytes) return absl::ResourceExhaustedError("variable too large");
    uint64_t& address = program.symbol_address[i];
    const StateSpace space = SpaceOf(symbol);
    const bool in_function = symbol.function < program.functions.size();
    if (space == StateSpace::kParam && in_function)
      PlaceInFunction(symbol, &FunctionLayout::param_bytes, program, address);
    if (space == StateSpace::kLocal && in_function)
      PlaceInFunction(symbol, &FunctionLayout::local_bytes, program, address);
    if (space == StateSpace::kGlobal || space == StateSpace::kConst) {
      if (absl::Status status = PlaceGlobal(symbol, memory, address); !status.ok()) return status;
    }
    if (space != StateSpace::kShared) continue;
    if (symbol.size == 0) {
      dynamic_align = std::max<uint64_t>(dynamic_align, symbol.align);
      continue;
    }
    address = AlignUp(program.shared_end, symbol.align);
    program.shared_end = static_cast<uint32_t>(address + symbol.size);
  }
  program.dynamic_shared = static_cast<uint32_t>(AlignUp(program.shared_end, dynamic_align));
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (SpaceOf(symbols[i]) == StateSpace::kShared && symbols[i].size == 0) {
      program.symbol_address[i] = program.dynamic_shared;
    }
  }
  program.shared_end = program.dynamic_shared + program.config->shared_bytes;
  return absl::OkStatus();
}

absl::Status CheckLaunch(const LaunchConfig& config, const isa::Function& function) {
  const auto volume = [](const Dim3& dim) { return uint64_t{dim[0]} * dim[1] * dim[2]; };
  const uint64_t threads = volume(config.block);
  if (threads == 0 || threads > 1024) return absl::InvalidArgumentError("block must have 1 to 1024 threads");
  if (config.shared_bytes > (1u << 20)) return absl::InvalidArgumentError("too much dynamic shared memory");
  if (config.args.size() > function.params.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel has ", function.params.size(), " parameters, got ", config.args.size(), " arguments"));
  }
  if (function.reqntid[0] != 0 && volume(function.reqntid) != threads) {
    return absl::InvalidArgumentError("block differs from .reqntid");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Program> Load(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                             Memory& memory) {
  Program program;
  program.module = &module;
  program.config = &config;
  program.entry = module.FindEntry(entry);
  if (program.entry == kNone32) return absl::NotFoundError(absl::StrCat("no entry named '", std::string(entry), "'"));
  if (absl::Status status = CheckLaunch(config, module.functions[program.entry]); !status.ok()) return status;
  program.functions.resize(module.functions.size());
  program.function_by_symbol.assign(module.symbols.size(), kNone32);
  for (size_t i = 0; i < module.symbols.size(); ++i) {
    const Symbol& symbol = module.symbols[i];
    if (symbol.kind == Symbol::Kind::kFunction) program.function_by_symbol[i] = symbol.function;
  }
  if (absl::Status status = PlaceSymbols(program, memory); !status.ok()) return status;
  return program;
}

}  // namespace samebits::interpreter
