#include <algorithm>
#include <optional>

#include "core/softfloat/matrix_unit.h"
#include "core/interpreter/block.h"
#include "core/interpreter/fragments.h"

namespace samebits::interpreter {

namespace sf = softfloat;

namespace {

std::optional<sf::FormatId> FormatIdOf(ScalarType type) {
  const TypeShape shape = ShapeOf(type);
  if (shape.format == nullptr || shape.count != 1) return std::nullopt;
  return shape.format->id;
}

std::vector<int32_t> Extend(std::span<const uint64_t> values, ScalarType type) {
  const int bits = isa::BitWidth(type);
  std::vector<int32_t> result;
  result.reserve(values.size());
  for (uint64_t value : values) {
    result.push_back(isa::IsSigned(type) ? static_cast<int32_t>(SignExtend(value, bits))
                                         : static_cast<int32_t>(value & LowMask(bits)));
  }
  return result;
}

bool IsByteInteger(ScalarType type) {
  return type == ScalarType::kS8 || type == ScalarType::kU8 || type == ScalarType::kS4 || type == ScalarType::kU4;
}

struct WmmaTypes {
  ScalarType d, a, b, c;
};

// wmma.mma names only d and c where the factors are f16.
WmmaTypes TypesOf(const Site& site) {
  if (site.instruction.type_count == 2) return {site.type(0), ScalarType::kF16, ScalarType::kF16, site.type(1)};
  return {site.type(0), site.type(1), site.type(2), site.type(3)};
}

}  // namespace

bool Block::Multiply(const Site& site, sf::MatrixInstruction instruction, ScalarType a_type, ScalarType b_type,
                     ScalarType c_type, ScalarType d_type, Tile& a, Tile& b_columns, Tile& c) {
  if (c_type != d_type) {
    Unimplemented(site, "accumulator and result differ in type");
    return false;
  }
  const auto row_of = [](const Tile& tile, int row) {
    return std::span<const uint64_t>(tile.values).subspan(static_cast<size_t>(row) * tile.columns, tile.columns);
  };
  if (IsByteInteger(a_type) && IsByteInteger(b_type) && c_type == ScalarType::kS32) {
    std::vector<std::vector<int32_t>> columns;
    for (int column = 0; column < c.columns; ++column) columns.push_back(Extend(row_of(b_columns, column), b_type));
    for (int row = 0; row < c.rows; ++row) {
      const std::vector<int32_t> factors = Extend(row_of(a, row), a_type);
      for (int column = 0; column < c.columns; ++column) {
        c.at(row, column) = sf::IntegerDot(factors, columns[column], static_cast<uint32_t>(c.at(row, column)),
                                           site.Has(Mod::kSatfinite));
      }
    }
    return true;
  }
  const auto a_format = FormatIdOf(a_type), b_format = FormatIdOf(b_type), c_format = FormatIdOf(c_type);
  std::optional<sf::MatrixUnit> unit;
  if (a_format && b_format && c_format) {
    const int sm = program_.config->sm != 0 ? program_.config->sm : program_.module->sm;
    unit = sf::FindMatrixUnit(sm, instruction, *a_format, *b_format, *c_format);
  }
  if (!unit) {
    Unimplemented(site, "matrix unit of these types and architecture");
    return false;
  }
  std::vector<std::vector<sf::MatrixElement>> columns;
  for (int column = 0; column < c.columns; ++column) {
    columns.push_back(sf::DecodeElements(*ShapeOf(b_type).format, row_of(b_columns, column)));
  }
  for (int row = 0; row < c.rows; ++row) {
    const std::vector<sf::MatrixElement> factors = sf::DecodeElements(*ShapeOf(a_type).format, row_of(a, row));
    for (int column = 0; column < c.columns; ++column) {
      c.at(row, column) = sf::Dot(*unit, factors, columns[column], c.at(row, column));
    }
  }
  return true;
}

void Block::Mma(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const Instruction& instruction = first.instruction;
  const int m = instruction.m, n = instruction.n, k = instruction.k;
  const bool plain = instruction.type_count == 4 && first.Has(Mod::kRow) && first.Has(Mod::kCol) &&
                     !first.Has(Mod::kSp) && !first.Has(Mod::kBlockScale) && !first.Has(Mod::kXor) &&
                     !first.Has(Mod::kAnd) && (m == 8 || m == 16) && n == 8;
  const ScalarType a_type = first.type(1), b_type = first.type(2), c_type = first.type(3);
  const bool volta = m == 8 && a_type == ScalarType::kF16;
  if (lanes.size() != 32 || !plain || volta) return Unimplemented(first, "matrix step of this form");
  const int a_bits = isa::BitWidth(a_type), b_bits = isa::BitWidth(b_type), c_bits = isa::BitWidth(c_type);
  Tile a{m, k, std::vector<uint64_t>(m * k)}, b{n, k, std::vector<uint64_t>(n * k)},
      c{m, n, std::vector<uint64_t>(m * n)};
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const auto gather = [&](size_t operand, int bits, int elements, auto place) {
      const std::span<const Operand> registers = Elements(site, site.operand(operand));
      const int register_bits = std::max(bits, 32), per_register = register_bits / bits;
      if (static_cast<int>(registers.size()) * per_register != elements) {
        return Unimplemented(site, "register count differs from the fragment's");
      }
      for (int i = 0; i < elements; ++i) {
        const uint64_t word = Read(site, registers[i / per_register], register_bits);
        place(i, word >> (i % per_register * bits) & LowMask(bits));
      }
    };
    gather(1, a_bits, m * k / 32, [&](int i, uint64_t value) {
      const Coordinate at = FactorCoordinate(m, a_bits, lane, i);
      a.at(at.row, at.column) = value;
    });
    gather(2, b_bits, n * k / 32, [&](int i, uint64_t value) {
      const Coordinate at = SecondFactorCoordinate(b_bits, lane, i);
      b.at(at.column, at.row) = value;
    });
    gather(3, c_bits, m * n / 32, [&](int i, uint64_t value) {
      const Coordinate at = AccumulatorCoordinate(lane, i);
      c.at(at.row, at.column) = value;
    });
  }
  if (!status_.ok() || !Multiply(first, sf::MatrixInstruction::kMma, a_type, b_type, c_type, first.type(0), a, b, c)) {
    return;
  }
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const std::span<const Operand> targets = Elements(site, site.operand(0));
    const int per_register = std::max(32 / c_bits, 1), elements = m * n / 32;
    if (static_cast<int>(targets.size()) * per_register != elements) {
      return Unimplemented(site, "register count differs from the fragment's");
    }
    for (int first_element = 0; first_element < elements; first_element += per_register) {
      uint64_t word = 0;
      for (int i = 0; i < per_register; ++i) {
        const Coordinate at = AccumulatorCoordinate(lane, first_element + i);
        word |= c.at(at.row, at.column) << (i * c_bits);
      }
      Write(site, targets[first_element / per_register], word, c_bits == 64 ? ScalarType::kB64 : ScalarType::kB32);
    }
  }
}

namespace {

// wmma fragments are opaque, so any layout serves that load, step and store share: slot `i` of a lane holds element
// (lane * slots + i) mod elements in row-major order; where there are more slots than elements, copies.
struct WmmaLayout {
  int rows, columns, bits, slots;
  Coordinate At(int lane, int i) const {
    const int element = (lane * slots + i) % (rows * columns);
    return {element / columns, element % columns};
  }
};

WmmaLayout LayoutOf(const Instruction& instruction, char part, int bits, size_t registers, int register_bits) {
  const int per_register = std::max(register_bits / bits, 1);
  const int rows = part == 'b' ? instruction.k : instruction.m;
  const int columns = part == 'a' ? instruction.k : instruction.n;
  return {rows, columns, bits, static_cast<int>(registers) * per_register};
}

char PartOf(const Site& site) {
  if (site.Has(Mod::kA)) return 'a';
  if (site.Has(Mod::kB)) return 'b';
  return 'c';
}

int WmmaRegisterBits(int bits) { return std::max(bits, 32); }

}  // namespace

void Block::WmmaLoad(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const int bits = isa::BitWidth(first.type());
  if (lanes.size() != 32 || bits < 8 || !first.instruction.m) return Unimplemented(first, "fragment load of this form");
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const std::span<const Operand> targets = Elements(site, site.operand(0));
    const WmmaLayout layout = LayoutOf(site.instruction, PartOf(site), bits, targets.size(), WmmaRegisterBits(bits));
    const uint64_t base = Address(site, site.operand(1));
    const bool by_rows = site.Has(Mod::kRow);
    const uint64_t stride = site.operands.size() > 2 ? Read(site, site.operand(2), ScalarType::kU32)
                                                     : static_cast<uint64_t>(by_rows ? layout.columns : layout.rows);
    const int per_register = layout.slots / static_cast<int>(targets.size());
    for (size_t r = 0; r < targets.size(); ++r) {
      uint64_t word = 0;
      for (int i = 0; i < per_register; ++i) {
        const Coordinate at = layout.At(lane, static_cast<int>(r) * per_register + i);
        const uint64_t index = by_rows ? at.row * stride + at.column : at.column * stride + at.row;
        word |= LoadBits(site, SpaceOf(site), base + index * bits / 8, bits / 8) << (i * bits);
      }
      Write(site, targets[r], word, bits == 64 ? ScalarType::kB64 : ScalarType::kB32);
    }
  }
}

void Block::WmmaStore(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const int bits = isa::BitWidth(first.type());
  if (lanes.size() != 32 || bits < 16) return Unimplemented(first, "fragment store of this form");
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const std::span<const Operand> sources = Elements(site, site.operand(1));
    const int register_bits = WmmaRegisterBits(bits);
    const WmmaLayout layout = LayoutOf(site.instruction, 'c', bits, sources.size(), register_bits);
    const uint64_t base = Address(site, site.operand(0));
    const bool by_rows = site.Has(Mod::kRow);
    const uint64_t stride = site.operands.size() > 2 ? Read(site, site.operand(2), ScalarType::kU32)
                                                     : static_cast<uint64_t>(by_rows ? layout.columns : layout.rows);
    const int per_register = layout.slots / static_cast<int>(sources.size());
    for (int i = 0; i < layout.slots; ++i) {
      const Coordinate at = layout.At(lane, i);
      const uint64_t index = by_rows ? at.row * stride + at.column : at.column * stride + at.row;
      const uint64_t word = Read(site, sources[i / per_register], register_bits);
      StoreBits(site, SpaceOf(site), base + index * bits / 8, bits / 8, word >> (i % per_register * bits));
    }
  }
}

void Block::WmmaMma(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const Instruction& instruction = first.instruction;
  const int m = instruction.m, n = instruction.n, k = instruction.k;
  const int types = instruction.type_count;
  if (lanes.size() != 32 || (types != 2 && types != 4) || m * n == 0) {
    return Unimplemented(first, "fragment step of this form");
  }
  const WmmaTypes type = TypesOf(first);
  if (isa::BitWidth(type.a) < 8 || isa::BitWidth(type.b) < 8) return Unimplemented(first, "fragment of this type");
  Tile a{m, k, std::vector<uint64_t>(m * k)}, b{n, k, std::vector<uint64_t>(n * k)},
      c{m, n, std::vector<uint64_t>(m * n)};
  const auto each = [&](size_t operand, char part, ScalarType element, auto visit) {
    const int bits = isa::BitWidth(element);
    for (int lane = 0; lane < 32; ++lane) {
      const Site site = At(*lanes[lane]);
      const std::span<const Operand> registers = Elements(site, site.operand(operand));
      const WmmaLayout layout = LayoutOf(instruction, part, bits, registers.size(), WmmaRegisterBits(bits));
      const int per_register = layout.slots / static_cast<int>(registers.size());
      for (int i = 0; i < layout.slots; ++i) {
        visit(site, registers[i / per_register], i % per_register * bits, bits, layout.At(lane, i));
      }
    }
  };
  const auto read = [&](const Site& site, const Operand& from, int shift, int bits) {
    return Read(site, from, WmmaRegisterBits(bits)) >> shift & LowMask(bits);
  };
  each(1, 'a', type.a, [&](const Site& site, const Operand& from, int shift, int bits, Coordinate at) {
    a.at(at.row, at.column) = read(site, from, shift, bits);
  });
  each(2, 'b', type.b, [&](const Site& site, const Operand& from, int shift, int bits, Coordinate at) {
    b.at(at.column, at.row) = read(site, from, shift, bits);
  });
  each(3, 'c', type.c, [&](const Site& site, const Operand& from, int shift, int bits, Coordinate at) {
    c.at(at.row, at.column) = read(site, from, shift, bits);
  });
  if (!status_.ok() || !Multiply(first, sf::MatrixInstruction::kMma, type.a, type.b, type.c, type.d, a, b, c)) return;
  each(0, 'd', type.d, [&](const Site& site, const Operand& to, int shift, int bits, Coordinate at) {
    if (to.kind != isa::OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
    const uint64_t old = shift == 0 ? 0 : site.thread.frame().registers[to.reg];
    WriteBits(site, to.reg, old | (c.at(at.row, at.column) & LowMask(bits)) << shift);
  });
}

}  // namespace samebits::interpreter
