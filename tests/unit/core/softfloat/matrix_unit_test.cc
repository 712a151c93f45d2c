#include "core/softfloat/matrix_unit.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "core/softfloat/arithmetic.h"
#include "core/softfloat/convert.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::softfloat {
namespace {

struct VectorFile {
  const char* gpu;
  int sm;
  MatrixInstruction instruction;
  const char* type;
  const Format* input;
  const Format* result;
};

constexpr MatrixInstruction kMma = MatrixInstruction::kMma, kWgmma = MatrixInstruction::kWgmma;

std::vector<VectorFile> Files() {
  std::vector<VectorFile> files;
  const auto add_half = [&](const char* gpu, int sm) {
    files.push_back({gpu, sm, kMma, "fp16", &kF16, &kF32});
    files.push_back({gpu, sm, kMma, "fp16", &kF16, &kF16});
    if (sm < 80) return;
    files.push_back({gpu, sm, kMma, "bf16", &kBf16, &kF32});
    files.push_back({gpu, sm, kMma, "tf32", &kTf32, &kF32});
  };
  const auto add_fp8 = [&](const char* gpu, int sm, MatrixInstruction instruction, const Format* result) {
    files.push_back({gpu, sm, instruction, "E4M3", &kE4m3, result});
    files.push_back({gpu, sm, instruction, "E5M2", &kE5m2, result});
  };
  add_half("V100", 70);
  add_half("A100", 80);
  add_half("L40S", 89);
  add_half("H100", 90);
  add_half("H200", 90);
  add_half("B200", 100);
  add_fp8("L40S", 89, kMma, &kF32);
  add_fp8("Ada", 89, kMma, &kF16);
  for (const char* gpu : {"H100", "H200"}) {
    add_fp8(gpu, 90, kWgmma, &kF32);
    add_fp8(gpu, 90, kMma, &kF16);
  }
  add_fp8("B200", 100, kMma, &kF32);
  add_fp8("B200", 100, kMma, &kF16);
  return files;
}

std::string ResultName(const VectorFile& file) { return file.result == &kF32 ? "fp32" : "fp16"; }

struct Row {
  std::vector<uint64_t> a, b;
  uint64_t c = 0, d = 0;
};

uint64_t Evaluate(const VectorFile& file, const Row& row) {
  const auto unit = FindMatrixUnit(file.sm, file.instruction, file.input->id, file.input->id, file.result->id);
  EXPECT_TRUE(unit.has_value());
  if (!unit) return ~row.d;
  const uint64_t c = ConvertFloat(*file.result, kF32, row.c, Rounding::kRn);
  return Dot(*unit, DecodeElements(*file.input, row.a), DecodeElements(*file.input, row.b), c);
}

std::vector<Row> ReadCommitted(const VectorFile& file) {
  const std::string path = std::string(SAMEBITS_SOURCE_DIR) + "/tests/unit/core/softfloat/data/" + file.gpu + "_" +
                           file.type + "_" + ResultName(file) + ".txt";
  std::ifstream in(path);
  EXPECT_TRUE(in.is_open()) << path;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Row row;
    int part = 0;
    for (std::string word; words >> word;) {
      if (word == "|") {
        ++part;
        continue;
      }
      const uint64_t value = std::stoull(word, nullptr, 16);
      if (part == 0) row.a.push_back(value);
      if (part == 1) row.b.push_back(value);
      if (part == 2) row.c = value;
      if (part == 3) row.d = value;
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(MatrixUnitVectors, CommittedRowsReproduce) {
  for (const VectorFile& file : Files()) {
    SCOPED_TRACE(std::string(file.gpu) + " " + file.type + " to " + ResultName(file));
    const std::vector<Row> rows = ReadCommitted(file);
    EXPECT_EQ(rows.size(), 60u);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(Evaluate(file, rows[i]), rows[i].d) << "row " << i;
  }
}

// Lines of whitespace-separated numbers; operands widened to f32.
std::vector<std::vector<uint64_t>> ReadColumns(const std::string& path, int base) {
  std::ifstream in(path);
  EXPECT_TRUE(in.is_open()) << path;
  std::vector<std::vector<uint64_t>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<uint64_t> row;
    for (std::string word; words >> word;) row.push_back(std::stoull(word, nullptr, base));
    if (!row.empty()) rows.push_back(row);
  }
  return rows;
}

void Narrow(const Format& format, std::vector<uint64_t>& row) {
  for (uint64_t& value : row)
    value = format.id == FormatId::kTf32 ? value : ConvertFloat(format, kF32, value, Rounding::kRn);
}

// SAMEBITS_TC_VECTORS names the folder that holds the folders V100, A100, ... of the published data.
TEST(MatrixUnitVectors, FullSetReproduces) {
  const char* root = std::getenv("SAMEBITS_TC_VECTORS");
  if (root == nullptr) GTEST_SKIP() << "SAMEBITS_TC_VECTORS is not set";
  for (const VectorFile& file : Files()) {
    const std::string gpu = file.gpu, folder = std::string(root) + "/" + gpu + "/" + file.type + "/";
    const auto a = ReadColumns(folder + "a_" + gpu + "_" + file.type + ".txt", 16);
    const auto b = ReadColumns(folder + "b_" + gpu + "_" + file.type + ".txt", 16);
    const auto c = ReadColumns(folder + "c_" + gpu + "_fp32.txt", 2);
    const auto d = ReadColumns(folder + "d_" + gpu + "_" + ResultName(file) + ".txt", 2);
    ASSERT_FALSE(d.empty());
    size_t matches = 0;
    for (size_t i = 0; i < d.size(); ++i) {
      Row row{a[i], b[i], c[i][0], d[i][0]};
      Narrow(*file.input, row.a);
      Narrow(*file.input, row.b);
      if (file.instruction == kWgmma) row.c = 0;
      matches += ConvertFloat(kF32, *file.result, Evaluate(file, row), Rounding::kRn) == row.d;
    }
    EXPECT_EQ(matches, d.size());
    std::printf("%-5s %-5s to %s: %zu of %zu\n", file.gpu, file.type, ResultName(file).c_str(), matches, d.size());
  }
}

uint64_t Bits(float value) { return ConvertFloat(kF32, kF64, std::bit_cast<uint64_t>(double{value}), Rounding::kRn); }
uint64_t Half(float value) { return ConvertFloat(kF16, kF32, Bits(value), Rounding::kRn); }

uint64_t DotHalf(int sm, const std::vector<float>& a, const std::vector<float>& b, uint64_t c) {
  const MatrixUnit unit = *FindMatrixUnit(sm, kMma, FormatId::kF16, FormatId::kF16, FormatId::kF32);
  std::vector<uint64_t> a_bits, b_bits;
  for (float value : a) a_bits.push_back(Half(value));
  for (float value : b) b_bits.push_back(Half(value));
  return Dot(unit, DecodeElements(kF16, a_bits), DecodeElements(kF16, b_bits), c);
}

TEST(MatrixUnit, GroupLengthDecidesWhatSurvives) {
  // 2^-14 products beside 2^12 fall below the kept bits of one group; a chain of groups loses them one by one.
  std::vector<float> a(16, 0.0f), b(16, 1.0f);
  a[0] = 4096.0f;
  for (int i = 1; i < 9; ++i) a[i] = 0x1p-13f;
  EXPECT_EQ(DotHalf(90, a, b, 0), Bits(4096.0f + 0x1p-11f * 2));
  EXPECT_EQ(DotHalf(80, a, b, 0), Bits(4096.0f));
}

TEST(MatrixUnit, TwoShortStepsDifferFromOneLongStepOnHopperOnly) {
  std::vector<float> a(16, 0.0f), b(16, 1.0f);
  a[0] = 1.0f;
  a[1] = 0x1p-14f * 1.5f;
  a[8] = -1.0f;
  const auto first = [](const std::vector<float>& v) { return std::vector<float>(v.begin(), v.begin() + 8); };
  const auto second = [](const std::vector<float>& v) { return std::vector<float>(v.begin() + 8, v.end()); };
  b[1] = 0x1p-11f;
  for (int sm : {80, 90}) {
    const uint64_t split = DotHalf(sm, second(a), second(b), DotHalf(sm, first(a), first(b), 0));
    EXPECT_EQ(split == DotHalf(sm, a, b, 0), sm == 80) << sm;
  }
}

TEST(MatrixUnit, ResultsThatVanishArePositiveZeros) {
  const MatrixUnit unit = *FindMatrixUnit(90, kMma, FormatId::kF16, FormatId::kF16, FormatId::kF16);
  const std::vector<uint64_t> least{0x8001}, one{0x0001};
  EXPECT_EQ(Dot(unit, DecodeElements(kF16, least), DecodeElements(kF16, one), 0), 0u);
  EXPECT_EQ(Dot(unit, DecodeElements(kF16, least), DecodeElements(kF16, one), 0x8000), 0u);
  EXPECT_EQ(DotHalf(90, std::vector<float>(16, 0.0f), std::vector<float>(16, 1.0f), 0x80000000), 0u);
}

TEST(MatrixUnit, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> a(16, 0.0f), b(16, 1.0f);
  EXPECT_EQ(DotHalf(90, a, b, 0x7f812345), 0x7fffffffu);
  EXPECT_EQ(DotHalf(90, a, b, 0xff800000), 0xff800000u);
  a[3] = inf;
  EXPECT_EQ(DotHalf(90, a, b, 0), 0x7f800000u);
  EXPECT_EQ(DotHalf(90, a, b, 0xff800000), 0x7fffffffu);
  b[3] = 0.0f;
  EXPECT_EQ(DotHalf(90, a, b, 0), 0x7fffffffu);
}

TEST(MatrixUnit, ClaimsOnlyEstablishedUnits) {
  const auto half = FormatId::kF16, f32 = FormatId::kF32, e4m3 = FormatId::kE4m3;
  EXPECT_FALSE(FindMatrixUnit(61, kMma, half, half, f32));
  EXPECT_FALSE(FindMatrixUnit(120, kMma, half, half, f32));
  EXPECT_FALSE(FindMatrixUnit(80, kWgmma, half, half, f32));
  EXPECT_FALSE(FindMatrixUnit(80, kMma, e4m3, e4m3, f32));
  EXPECT_FALSE(FindMatrixUnit(90, kMma, half, FormatId::kBf16, f32));
  EXPECT_FALSE(FindMatrixUnit(90, kMma, FormatId::kBf16, FormatId::kBf16, half));
  EXPECT_FALSE(FindMatrixUnit(100, MatrixInstruction::kTcgen05, e4m3, e4m3, f32));
  EXPECT_TRUE(FindMatrixUnit(90, kWgmma, e4m3, FormatId::kE5m2, f32));
}

TEST(MatrixUnit, Tf32InputsLoseTheirLowBits) {
  const MatrixUnit unit = *FindMatrixUnit(80, kMma, FormatId::kTf32, FormatId::kTf32, FormatId::kF32);
  const std::vector<uint64_t> full{0x3f801fff, 0, 0, 0}, cut{0x3f800000, 0, 0, 0}, one{0x3f800000, 0, 0, 0};
  const auto dot = [&](const std::vector<uint64_t>& a) {
    return Dot(unit, DecodeElements(kTf32, a), DecodeElements(kTf32, one), 0);
  };
  EXPECT_EQ(dot(full), 0x3f800000u);
  EXPECT_EQ(dot(full), dot(cut));
}

TEST(MatrixUnit, Float64IsAnFmaChain) {
  const MatrixUnit unit = *FindMatrixUnit(80, kMma, FormatId::kF64, FormatId::kF64, FormatId::kF64);
  const std::vector<uint64_t> a{0x3ff8000000000001, 0xbff0000000000003, 0x4000000000000007, 0x3fd5555555555555};
  const std::vector<uint64_t> b{0x3ff0000000000005, 0x3ff8000000000001, 0xbff4000000000009, 0x4008000000000003};
  uint64_t expected = 0x3ca0000000000000;
  for (int i = 0; i < 4; ++i) expected = Fma(kF64, a[i], b[i], expected);
  EXPECT_EQ(Dot(unit, DecodeElements(kF64, a), DecodeElements(kF64, b), 0x3ca0000000000000), expected);
}

TEST(MatrixUnit, IntegersWrapOrClamp) {
  const std::vector<int32_t> a{-128, 127, 255, 1}, b{-128, 127, 255, -1};
  EXPECT_EQ(IntegerDot(a, b, 0, false), 16384u + 16129u + 65025u - 1u);
  EXPECT_EQ(IntegerDot(a, b, 0x7fffffff, false), 0x7fffffffu + 97537u);
  EXPECT_EQ(IntegerDot(a, b, 0x7fffffff, true), 0x7fffffffu);
  const std::vector<int32_t> negative{-128}, positive{127};
  EXPECT_EQ(IntegerDot(negative, positive, 0x80000000, true), 0x80000000u);
  EXPECT_EQ(IntegerDot(negative, positive, 0x80000000, false), 0x80000000u - 16256u);
}

}  // namespace
}  // namespace samebits::softfloat
