#include "core/base/field.h"

namespace samebits {

Field Power(Field base, uint64_t exponent) {
  Field result(1);
  for (; exponent != 0; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

Field Inverse(Field a) {
  // a^(p-2), p - 2 = 2^127 - 3: bits 126..2 and bit 0 set.
  Field result(1), square = a;
  for (int bit = 0; bit < 127; ++bit, square = square * square)
    if (bit != 1) result = result * square;
  return result;
}

namespace {

void FillTables(Field base, Field (*tables)[256]) {
  for (int byte = 0; byte < 8; ++byte) {
    tables[byte][0] = Field(1);
    for (int i = 1; i < 256; ++i) tables[byte][i] = tables[byte][i - 1] * base;
    base = tables[byte][255] * base;
  }
}

}  // namespace

PowerTable::PowerTable(Field base) {
  FillTables(base, positive_);
  FillTables(Inverse(base), negative_);
}

Field PowerTable::Power(int64_t exponent) const {
  const auto& tables = exponent < 0 ? negative_ : positive_;
  uint64_t e = exponent < 0 ? ~static_cast<uint64_t>(exponent) + 1 : static_cast<uint64_t>(exponent);
  Field result = tables[0][e & 255];
  for (int byte = 1; (e >>= 8) != 0; ++byte)
    if (e & 255) result = result * tables[byte][e & 255];
  return result;
}

}  // namespace samebits
