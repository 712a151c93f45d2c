#include "tests/adversarial/run_side.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/isa/ptx/parser.h"
#include "core/interpreter/interpreter.h"

namespace samebits::adversarial {
namespace {

constexpr uint64_t kScratchBytes = 4096;

// splitmix64
uint64_t Next(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint32_t ItemBytes(const Buffer& buffer) { return buffer.dtype == "f16" ? 2 : 4; }

// A pattern with a random sign and significand and an exponent field in [low, high].
uint32_t Pattern(uint64_t word, int significand_bits, uint32_t low, uint32_t high, uint32_t sign_bit) {
  const uint32_t significand = static_cast<uint32_t>(word) & ((1u << significand_bits) - 1);
  const uint32_t exponent = low + static_cast<uint32_t>((word >> 32) % (high - low + 1));
  return (word >> 63 ? sign_bit : 0) | exponent << significand_bits | significand;
}

uint32_t RandomItem(uint64_t word, const Buffer& buffer, int draw) {
  if (buffer.dtype == "f16") return Pattern(word, 10, draw == 0 ? 13 : 4, draw == 0 ? 16 : 20, 0x8000);
  return Pattern(word, 23, draw == 0 ? 124 : 0, draw == 0 ? 130 : 140, 0x80000000);
}

std::vector<uint8_t> Argument(const checker::Argument& argument, uint64_t address) {
  const uint64_t value =
      argument.kind == checker::Argument::Kind::kPointer || argument.kind == checker::Argument::Kind::kScratch
          ? address
          : argument.bits;
  return interpreter::Bytes(value);
}

}  // namespace

std::vector<uint8_t> InputBytes(const Pair& pair, const std::string& name, const Buffer& buffer, int draw) {
  const uint32_t size = ItemBytes(buffer);
  std::vector<uint8_t> bytes(buffer.elements * size);
  uint64_t state = 0x5a17 + static_cast<uint64_t>(draw) * 1'000'003;
  for (const char c : name) state = state * 131 + static_cast<uint8_t>(c);
  for (uint64_t i = 0; i < buffer.elements; ++i) {
    uint32_t item = 0;
    if (draw < kRandomDraws) {
      item = RandomItem(Next(state), buffer, draw);
    } else if (const auto& fill = pair.fills[draw - kRandomDraws]; fill.contains(name)) {
      item = fill.at(name);
    }
    std::memcpy(bytes.data() + i * size, &item, size);
  }
  return bytes;
}

absl::StatusOr<Outputs> RunSide(const Pair& pair, const Side& side, int draw) {
  const auto module = isa::ptx::Parse(side.text);
  if (!module.ok()) return module.status();
  interpreter::Memory memory;
  std::map<std::string, uint64_t> addresses;
  for (const auto& [name, buffer] : side.buffers) {
    std::vector<uint8_t> start(buffer.elements * ItemBytes(buffer));
    if (buffer.is_input) start = InputBytes(pair, name, buffer, draw);
    addresses[name] = memory.Allocate(start);
  }
  const uint64_t scratch = memory.Allocate(kScratchBytes);
  interpreter::LaunchConfig config{*side.launch.grid, side.launch.block, side.launch.shared_bytes, {}};
  for (const checker::Argument& argument : *side.launch.args) {
    const bool named = argument.kind == checker::Argument::Kind::kPointer;
    config.args.push_back(Argument(argument, named ? addresses.at(argument.buffer) : scratch));
  }
  const auto run = interpreter::Run(*module, side.launch.entry, config, memory);
  if (!run.ok()) return run.status();
  Outputs out;
  out.approximate = run->model_results > 0;
  for (const auto& [name, buffer] : side.buffers) {
    if (!buffer.is_output) continue;
    const auto bytes = memory.Buffer(addresses[name]);
    out.bytes[name].assign(bytes.begin(), bytes.end());
    out.written[name] = memory.Written(addresses[name]);
  }
  return out;
}

}  // namespace samebits::adversarial
