#include "tests/differential/kernel.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace samebits::differential {
namespace {

// o[i] = ex2(ex2(x[i])) where x[i] < 1, else x[i]; 32 lanes.
constexpr char kText[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o)
{
  .reg .pred %p;
  .reg .b32 %r<2>;
  .reg .f32 %f<4>;
  .reg .b64 %d<5>;
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [o];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  add.s64 %d4, %d1, %d2;
  ld.global.f32 %f0, [%d3];
  ex2.approx.ftz.f32 %f1, %f0;
  ex2.approx.ftz.f32 %f2, %f1;
  setp.lt.f32 %p, %f0, 0f3F800000;
  selp.f32 %f3, %f2, %f0, %p;
  st.global.f32 [%d4], %f3;
  ret;
}
)";

constexpr uint64_t kHalf = 0x3f000000, kTwo = 0x40000000, kFour = 0x40800000, kFirst = 0x3fb504f3,
                   kSecond = 0x402a92e2;

checker::Argument Pointer(const char* name) {
  checker::Argument a;
  a.kind = checker::Argument::Kind::kPointer;
  a.buffer = name;
  return a;
}

class KernelTest : public ::testing::Test {
 protected:
  KernelTest() : path_(::testing::TempDir() + "differential_oracle") {
    launch_.block = {32, 1, 1};
    launch_.grid = {1, 1, 1};
    launch_.args = {Pointer("x"), Pointer("o")};
    launch_.outputs = {"o"};
  }
  ~KernelTest() override { std::filesystem::remove(path_); }
  // Every lane reads `value`.
  static Contents Draw(uint32_t value) {
    Contents c = {{"x", std::vector<uint8_t>(128)}, {"o", std::vector<uint8_t>(128, 0x5a)}};
    for (size_t i = 0; i < 32; ++i) std::memcpy(&c["x"][4 * i], &value, 4);
    return c;
  }
  static uint32_t Word(const Contents& c, size_t i) {
    uint32_t word;
    std::memcpy(&word, &c.at("o")[4 * i], 4);
    return word;
  }
  // Reads a table with one section of these words.
  absl::StatusOr<OracleTable> Table(const std::string& header, const std::vector<uint64_t>& words) {
    std::ofstream(path_, std::ios::binary)
        << header << "\n"
        << std::string(reinterpret_cast<const char*>(words.data()), words.size() * 8);
    return OracleTable::Read(path_);
  }
  // The questions of a table, as written to a file.
  std::string Questions(OracleTable* table) {
    EXPECT_TRUE(table->WriteQuestions(path_).ok());
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static std::string Section(const std::string& header, const std::vector<uint64_t>& words) {
    return header + "\n" + std::string(reinterpret_cast<const char*>(words.data()), words.size() * 8);
  }

  std::string path_;
  checker::Launch launch_;
};

TEST_F(KernelTest, RoundsOfQuestionsLeadToTheBytes) {
  const std::vector<Contents> draws = {Draw(kHalf), Draw(kTwo)};
  OracleTable empty = *OracleTable::Read("");
  auto result = EvaluateKernel(kText, launch_, draws, &empty, 60);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->elements, 32u);
  EXPECT_EQ(result->evaluated, 32u);
  EXPECT_EQ(result->unanswered, (std::vector<uint64_t>{32, 0}));
  EXPECT_EQ(Word(result->after[1], 31), kTwo);
  // The arm that the first draw takes is walked for both.
  EXPECT_EQ(Questions(&empty), Section("ex2.approx.ftz.f32 1 2", {kHalf, kTwo}));

  auto partial = Table("ex2.approx.ftz.f32 2 2", {kHalf, kFirst, kTwo, kFour});
  ASSERT_TRUE(partial.ok());
  result = EvaluateKernel(kText, launch_, draws, &*partial, 60);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->unanswered, (std::vector<uint64_t>{32, 0}));
  EXPECT_EQ(Questions(&*partial), Section("ex2.approx.ftz.f32 1 2", {kFirst, kFour}));

  auto complete = Table("ex2.approx.ftz.f32 2 2", {kHalf, kFirst, kFirst, kSecond});
  ASSERT_TRUE(complete.ok());
  result = EvaluateKernel(kText, launch_, draws, &*complete, 60);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->unanswered, (std::vector<uint64_t>{0, 0}));
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(Word(result->after[0], i), kSecond);
  EXPECT_EQ(Questions(&*complete), Section("ex2.approx.ftz.f32 1 1", {kTwo}));
}

TEST_F(KernelTest, TimeRunsOut) {
  OracleTable empty = *OracleTable::Read("");
  const auto result = EvaluateKernel(kText, launch_, {Draw(kTwo)}, &empty, -1);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->evaluated, 0u);
  EXPECT_EQ(result->elements, 32u);
}

TEST_F(KernelTest, BuffersThatAreTooSmallAreErrors) {
  OracleTable empty = *OracleTable::Read("");
  Contents shorter = Draw(kTwo);
  shorter["o"].resize(124);
  EXPECT_EQ(EvaluateKernel(kText, launch_, {shorter}, &empty, 60).status().code(), absl::StatusCode::kOutOfRange);
  shorter = Draw(kTwo);
  shorter["x"].resize(64);
  EXPECT_EQ(EvaluateKernel(kText, launch_, {shorter}, &empty, 60).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(KernelTest, TablesOfAnotherFormAreRefused) {
  EXPECT_EQ(OracleTable::Read("/nonexistent/table").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Table("ex2.approx.ftz.f32 2 9", {kHalf, kFirst}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Table("ex2.approx.ftz.f32 1 1", {kHalf}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace samebits::differential
