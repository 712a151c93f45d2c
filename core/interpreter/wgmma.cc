// wgmma.mma_async: a warpgroup's matrix step with factors in shared memory (PTX ISA, "Asynchronous Warpgroup Level
// Matrix Instructions").

#include <algorithm>

#include "core/interpreter/block.h"
#include "core/interpreter/fragments.h"

namespace samebits::interpreter {

namespace sf = softfloat;
using isa::OperandKind;

namespace {

// A matrix descriptor's fields; lengths and addresses in bytes.
struct Descriptor {
  uint64_t start, leading, stride;
  int base_offset;
  int row_bytes;  // of one swizzled row: 16 (none), 32, 64 or 128
};

Descriptor Decode(uint64_t bits) {
  constexpr int kRowBytes[] = {16, 128, 64, 32};
  const auto bytes = [&](int from) { return (bits >> from & 0x3fff) << 4; };
  return {bytes(0), bytes(16), bytes(32), static_cast<int>(bits >> 49 & 7), kRowBytes[bits >> 62]};
}

// Swizzles exclusive-or the 16-byte chunk's number with that of the 128-byte line.
uint64_t Swizzle(uint64_t address, int row_bytes) {
  const uint64_t chunks = static_cast<uint64_t>(row_bytes) / 16;
  return address ^ (address >> 7 & (chunks - 1)) << 4;
}

// Offset of an element before swizzling. `along` counts in the contiguous direction of a row, `across` over rows;
// each 8 rows form a block of 8 * row_bytes.
uint64_t Offset(const Descriptor& d, int along, int across, int element_bytes, bool k_major) {
  const uint64_t position = static_cast<uint64_t>(along) * element_bytes;
  const uint64_t row_bytes = static_cast<uint64_t>(d.row_bytes);
  const uint64_t group = static_cast<uint64_t>(across) / 8, row = static_cast<uint64_t>(across) % 8;
  const uint64_t inside = row * row_bytes + position % row_bytes, next = position / row_bytes;
  // Without a swizzle the two strides change places for matrices whose rows run along m or n.
  if (!k_major && d.row_bytes == 16) return inside + next * d.stride + group * d.leading;
  return inside + next * d.leading + group * d.stride;
}

struct Operands {
  bool a_in_registers = false;
  bool accumulate = true;
  bool negate_a = false, negate_b = false;
  bool transpose_a = false, transpose_b = false;
};

}  // namespace

// `rows` x k: a itself, or b by columns.
Block::Tile Block::ReadShared(const Site& site, uint64_t descriptor, int rows, int k, int element_bytes, bool k_major) {
  const Descriptor d = Decode(descriptor);
  Tile tile{rows, k, std::vector<uint64_t>(static_cast<size_t>(rows) * k)};
  if (d.base_offset != 0) {
    Unimplemented(site, "matrix descriptor with a base offset");
    return tile;
  }
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < k; ++column) {
      const uint64_t offset =
          k_major ? Offset(d, column, row, element_bytes, true) : Offset(d, row, column, element_bytes, false);
      const uint64_t address = Swizzle(d.start + offset, d.row_bytes);
      tile.at(row, column) = LoadBits(site, StateSpace::kShared, address, static_cast<uint32_t>(element_bytes));
    }
  }
  return tile;
}

void Block::Wgmma(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const Instruction& instruction = first.instruction;
  const int m = instruction.m, n = instruction.n, k = instruction.k;
  const ScalarType d_type = first.type(0), a_type = first.type(1), b_type = first.type(2);
  const int bits = isa::BitWidth(a_type);
  if (lanes.size() != 128 || m != 64 || bits < 8 || instruction.type_count != 3 || first.Has(Mod::kSp)) {
    return Unimplemented(first, "matrix step of this form");
  }
  Operands form;
  form.a_in_registers = first.operand(1).kind == OperandKind::kVector;
  const auto immediate = [&](size_t i) { return i < first.operands.size() ? first.operand(i).imm : 0; };
  if (first.operands.size() > 3) form.accumulate = ReadPredicate(first, first.operand(3));
  form.negate_a = immediate(4) == -1;
  form.negate_b = immediate(5) == -1;
  form.transpose_a = !form.a_in_registers && immediate(6) == 1;
  form.transpose_b = immediate(form.a_in_registers ? 6 : 7) == 1;

  const int element_bytes = bits / 8;
  Tile a{m, k, std::vector<uint64_t>(static_cast<size_t>(m) * k)};
  if (form.a_in_registers) {
    for (int index = 0; index < 128; ++index) {
      const Site site = At(*lanes[index]);
      const std::span<const Operand> registers = Elements(site, site.operand(1));
      const int per_register = 32 / bits;
      if (static_cast<int>(registers.size()) * per_register != 16 * k / 32) {
        return Unimplemented(site, "register count differs from the fragment's");
      }
      for (int i = 0; i < 16 * k / 32; ++i) {
        const Coordinate at = FactorCoordinate(16, bits, index % 32, i);
        const uint64_t word = Read(site, registers[i / per_register], ScalarType::kB32);
        a.at(index / 32 * 16 + at.row, at.column) = word >> (i % per_register * bits) & LowMask(bits);
      }
    }
  } else {
    a = ReadShared(first, Read(first, first.operand(1), ScalarType::kB64), m, k, element_bytes, !form.transpose_a);
  }
  Tile b = ReadShared(first, Read(first, first.operand(2), ScalarType::kB64), n, k, element_bytes, !form.transpose_b);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  if (form.negate_a) std::for_each(a.values.begin(), a.values.end(), [&](uint64_t& value) { value ^= sign; });
  if (form.negate_b) std::for_each(b.values.begin(), b.values.end(), [&](uint64_t& value) { value ^= sign; });

  const int d_bits = isa::BitWidth(d_type), per_register = 32 / d_bits;
  Tile c{m, n, std::vector<uint64_t>(static_cast<size_t>(m) * n, 0)};
  // Element i of a lane: pairs of columns, alternating between rows g and g + 8, then 8 columns on.
  const auto each = [&](auto visit) {
    for (int index = 0; index < 128; ++index) {
      const Site site = At(*lanes[index]);
      const std::span<const Operand> registers = Elements(site, site.operand(0));
      if (static_cast<int>(registers.size()) * per_register != m * n / 128) {
        return Unimplemented(site, "register count differs from the fragment's");
      }
      for (int i = 0; i < m * n / 128; ++i) {
        const Coordinate at = AccumulatorCoordinate(index % 32, i % 4);
        visit(site, registers[i / per_register], i % per_register * d_bits,
              c.at(index / 32 * 16 + at.row, i / 4 * 8 + at.column));
      }
    }
  };
  if (form.accumulate) {
    each([&](const Site& site, const Operand& from, int shift, uint64_t& element) {
      element = Read(site, from, ScalarType::kB32) >> shift & LowMask(d_bits);
    });
  }
  if (!status_.ok()) return;
  if (!Multiply(first, sf::MatrixInstruction::kWgmma, a_type, b_type, d_type, d_type, a, b, c)) return;
  each([&](const Site& site, const Operand& to, int shift, uint64_t& element) {
    if (to.kind != OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
    const uint64_t old = shift == 0 ? 0 : site.thread.frame().registers[to.reg];
    WriteBits(site, to.reg, old | element << shift);
  });
}

}  // namespace samebits::interpreter
