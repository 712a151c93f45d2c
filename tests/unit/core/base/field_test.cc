#include "core/base/field.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits {
namespace {

constexpr uint128 kPrime = Field::kPrime;

// Products by doubling and adding, reduced with % at each step: shares nothing with the tested code.
uint128 SlowMultiply(uint128 a, uint128 b) {
  uint128 result = 0;
  for (int bit = 126; bit >= 0; --bit) {
    result = result * 2 % kPrime;
    if (b >> bit & 1) result = (result + a) % kPrime;
  }
  return result;
}

std::vector<uint128> Samples() {
  std::vector<uint128> values = {0, 1, 2, 3, uint128{1} << 63, uint128{1} << 64, (uint128{1} << 64) - 1, uint128{1} << 126,
                                 kPrime - 1, kPrime - 2, kPrime / 2, kPrime / 2 + 1};
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) values.push_back((static_cast<uint128>(random()) << 64 | random()) % kPrime);
  return values;
}

TEST(FieldTest, AgreesWithSchoolbookArithmetic) {
  for (const uint128 a : Samples()) {
    for (const uint128 b : Samples()) {
      ASSERT_TRUE((Field(a) + Field(b)).value() == (a + b) % kPrime);
      ASSERT_TRUE((Field(a) - Field(b)).value() == (a + (kPrime - b)) % kPrime);
      ASSERT_TRUE((Field(a) * Field(b)).value() == SlowMultiply(a, b)) << static_cast<uint64_t>(a) << " " << static_cast<uint64_t>(b);
    }
  }
}

TEST(FieldTest, ReducesOnConstruction) {
  EXPECT_EQ(Field(kPrime), Field());
  EXPECT_EQ(Field(kPrime + 5), Field(5));
  EXPECT_EQ(Field(~uint128{0}), Field(1));  // 2^128 - 1 = 2 * prime + 1
}

TEST(FieldTest, Inverses) {
  for (const uint128 a : Samples()) {
    if (a == 0) continue;
    EXPECT_EQ(Field(a) * Inverse(Field(a)), Field(1));
  }
}

TEST(FieldTest, Powers) {
  const Field base(static_cast<uint128>(0x1234567890abcdef) << 60 | 12345);
  Field product(1);
  for (uint64_t e = 0; e < 600; ++e) {
    EXPECT_EQ(Power(base, e), product);
    product = product * base;
  }
  // Fermat: a^p = a, with p = (2^63 - 1) * 2^64 + 2^64 - 1.
  Field high = Power(base, (uint64_t{1} << 63) - 1);
  for (int i = 0; i < 64; ++i) high = high * high;
  const Field low = Power(base, ~uint64_t{0});
  EXPECT_EQ(high * low, base);
}

TEST(PowerTableTest, AgreesWithPowerForBothSigns) {
  const Field base(static_cast<uint128>(0xfedcba9876543210) << 40 | 99);
  const PowerTable table(base);
  std::mt19937_64 random(11);
  std::vector<int64_t> exponents = {0, 1, -1, 255, 256, 257, -255, -256, 65535, 65536, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  for (int i = 0; i < 200; ++i) exponents.push_back(static_cast<int64_t>(random() >> (random() % 64)));
  for (const int64_t e : exponents) {
    const uint64_t magnitude = e < 0 ? ~static_cast<uint64_t>(e) + 1 : static_cast<uint64_t>(e);
    const Field expected = e < 0 ? Inverse(Power(base, magnitude)) : Power(base, magnitude);
    EXPECT_EQ(table.Power(e), expected) << e;
  }
}

}  // namespace
}  // namespace samebits
