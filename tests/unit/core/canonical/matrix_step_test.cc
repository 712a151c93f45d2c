// The proofs by trial of kMatrixZeroStep and kMatrixNoClamp: for every unit whose steps the executor builds, a step of zero products gives
// a former step's result back bit for bit.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/softfloat/matrix_unit.h"

namespace samebits::canonical {
namespace {

namespace sf = softfloat;

TEST(MatrixZeroStepTest, GivesMatrixResultsBack) {
  std::mt19937_64 random(20);
  int units = 0;
  for (const int sm : {70, 75, 80, 86, 89, 90, 100, 103}) {
    for (const auto instruction : {sf::MatrixInstruction::kMma, sf::MatrixInstruction::kWgmma, sf::MatrixInstruction::kTcgen05}) {
      for (const sf::Format* input : {&sf::kF16, &sf::kBf16, &sf::kTf32, &sf::kE4m3, &sf::kE5m2}) {
        for (const auto accumulator : {sf::FormatId::kF32, sf::FormatId::kF16}) {
          const auto unit = sf::FindMatrixUnit(sm, instruction, input->id, input->id, accumulator);
          if (!unit || unit->rule != sf::MatrixRule::kTruncatedSum) continue;
          ++units;
          const sf::Format& format = *input;
          const std::vector<uint64_t> zeros(unit->group, 0);
          const auto zero = sf::DecodeElements(format, zeros);
          EXPECT_EQ(sf::Dot(*unit, zero, zero, 0), 0u);
          for (int trial = 0; trial < 4000; ++trial) {
            // Any patterns: subnormals, infinities and NaNs among them; small magnitudes more often than chance gives.
            std::vector<uint64_t> a(unit->group), b(unit->group);
            const uint64_t keep = trial % 3 == 0 ? ~uint64_t{0} : trial % 3 == 1 ? ~(uint64_t{0x30} << (format.bits - 8)) : ~(uint64_t{0x70} << (format.bits - 8));
            for (auto* v : {&a, &b})
              for (uint64_t& x : *v) x = random() & keep & format.mask();
            const uint64_t c = trial % 2 ? 0 : random() & (accumulator == sf::FormatId::kF16 ? 0xffff : 0xffffffff);
            const uint64_t once = sf::Dot(*unit, sf::DecodeElements(format, a), sf::DecodeElements(format, b), c);
            ASSERT_EQ(sf::Dot(*unit, zero, zero, once), once) << "sm_" << sm << " " << format.name << " trial " << trial;
          }
        }
      }
    }
  }
  EXPECT_GT(units, 20);
}

// Up to the bound that the rewrite asks for, the largest products clamp nothing; one beyond it they do.
TEST(MatrixNoClampTest, LargestProductsAtTheBound) {
  const std::vector<int32_t> least(32, -128), most(32, 255);
  const int64_t limit = 0x7fffffff;
  for (const auto* v : {&least, &most}) {
    const int64_t sum = int64_t{32} * (*v)[0] * (*v)[0];
    const auto c = static_cast<uint32_t>(limit - sum);
    EXPECT_EQ(sf::IntegerDot(*v, *v, c, true), sf::IntegerDot(*v, *v, c, false));
    EXPECT_NE(sf::IntegerDot(*v, *v, c + 1, true), sf::IntegerDot(*v, *v, c + 1, false));
  }
}

}  // namespace
}  // namespace samebits::canonical
