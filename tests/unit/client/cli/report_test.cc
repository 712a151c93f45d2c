#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "client/cli/human_report.h"
#include "client/cli/json_report.h"
#include "nlohmann/json.hpp"

namespace samebits::cli {
namespace {

using checker::SignatureStatus;
using checker::Verdict;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

checker::Signature Signed(const std::string& digest) {
  checker::Signature signature;
  signature.status = SignatureStatus::kOk;
  signature.digest = digest;
  signature.assumptions = {"distinct pointers do not alias"};
  signature.times = {1, 2, 3.5};
  return signature;
}

checker::Comparison Parted() {
  checker::Comparison comparison;
  comparison.verdict = Verdict::kDistinct;
  comparison.a = Signed("aa");
  comparison.b = Signed("bb");
  checker::Difference difference;
  difference.summary = "The additions stand in another order.";
  difference.buffer = "out";
  difference.byte_offset = 64;
  difference.a = {"add\n  x[0]", "add.f32", {3, 1, "add.f32 %f1, %f2, %f3;", "k.py:9"}};
  difference.b = {"add\n  x[1]\n  x[2]", "fma.rn.f32", {}};
  comparison.difference = difference;
  return comparison;
}

const Layout kPlain{Style(false), 100};

TEST(HumanReportTest, ComparisonsSayVerdictScopeAndSignature) {
  checker::Comparison comparison;
  comparison.verdict = Verdict::kEquivalent;
  comparison.a = comparison.b = Signed("cafe");
  const std::string text = HumanComparison(comparison, "a.ptx", "b.ptx", kPlain);
  EXPECT_THAT(text, AllOf(StartsWith("EQUIVALENT  a.ptx  b.ptx\n"), HasSubstr("signature   cafe\n")));
  const size_t first = text.find("distinct pointers");
  EXPECT_EQ(text.find("distinct pointers", first + 1), std::string::npos) << "an assumption of both stands once";
}

TEST(HumanReportTest, RegisteredTextsWithAndWithoutVersion) {
  Registered kernel;
  kernel.info = {"amdgcn", "gfx942", "", {}};
  EXPECT_THAT(HumanRegistered(kernel, "a.s", kPlain), HasSubstr("amdgcn, gfx942\n"));
  kernel.info = {"ptx", "sm_90a", "8.7", {}};
  EXPECT_THAT(HumanRegistered(kernel, "a.ptx", kPlain), HasSubstr("ptx 8.7, sm_90a\n"));
}

TEST(HumanReportTest, AnUndecidedSideShowsReasonAndPlace) {
  checker::Comparison comparison;
  comparison.verdict = Verdict::kUnknown;
  comparison.reason = "b: tex is not modelled";
  comparison.a = Signed("aa");
  comparison.b.reason = "tex is not modelled";
  comparison.b.place = {12, 3, "tex.2d", "k.cu:4"};
  const std::string text = HumanComparison(comparison, "a", "b", kPlain);
  EXPECT_THAT(text, AllOf(StartsWith("UNKNOWN"), HasSubstr("second      UNKNOWN: tex is not modelled"),
                          HasSubstr("line 12, k.cu:4: tex.2d"), Not(HasSubstr("first  "))));
}

TEST(HumanReportTest, DifferencesStandBesideEachOtherWhereThereIsRoom) {
  const checker::Difference difference = *Parted().difference;
  const std::string wide = HumanDifference(difference, "a", "b", kPlain);
  EXPECT_THAT(wide, AllOf(HasSubstr("buffer out, byte 64"), HasSubstr("│ fma.rn.f32\n"), HasSubstr("≠   x[2]\n")));
  EXPECT_THAT(wide, HasSubstr("line 3, k.py:9: add.f32 %f1, %f2, %f3;"));
  const std::string narrow = HumanDifference(difference, "a", "b", {Style(false), 60});
  EXPECT_THAT(narrow, AllOf(Not(HasSubstr("│")), HasSubstr("  b\n    fma.rn.f32\n"), HasSubstr("  ≠   x[2]\n")));
}

TEST(HumanReportTest, WitnessesShowInputsAndBits) {
  checker::Difference difference = *Parted().difference;
  checker::Witness& witness = difference.witness.emplace();
  witness.buffer = "out";
  witness.byte_offset = 64;
  witness.bytes = 4;
  witness.bits_a = "0x40400000";
  witness.bits_b = "0x40400001";
  for (uint64_t i = 0; i < 10; ++i) witness.inputs.push_back({"x", 4 * i, 4, "0x3f800000", "1 (f32)"});
  std::string text = HumanDifference(difference, "a", "b", kPlain);
  EXPECT_THAT(text, AllOf(HasSubstr("x[28] = 0x3f800000  1 (f32)"), HasSubstr("and 2 more numbers"),
                          HasSubstr("all other memory zero"), HasSubstr("0x40400001"), Not(HasSubstr("x[32]")),
                          Not(HasSubstr("note"))));
  witness.exact = false;
  witness.inputs.clear();
  text = HumanDifference(difference, "a", "b", kPlain);
  EXPECT_THAT(text, AllOf(HasSubstr("all memory zero"), HasSubstr("note")));
}

// 500 lines with numbers from `line` on; line 300 reads `odd`.
std::string LongTree(int line, const std::string& odd) {
  std::string tree;
  for (int i = 0; i < 500; ++i) {
    tree += (i == 300 ? odd : "x[" + std::to_string(i) + "]") + "  @" + std::to_string(line + i) + "\n";
  }
  return tree;
}

TEST(HumanReportTest, LongExpressionsShowTheirHeadAndTheFirstDifference) {
  checker::Difference difference;
  difference.a.tree = LongTree(10, "y[0]");
  difference.b.tree = LongTree(17, "z[0]");
  const std::string text = HumanDifference(difference, "a", "b", kPlain);
  EXPECT_THAT(text, AllOf(HasSubstr("│ x[0]  @17\n"), HasSubstr("... 280 more lines"), HasSubstr("≠ z[0]  @317\n"),
                          HasSubstr("│ x[301]  @318\n"), HasSubstr("... 180 more lines")));
  EXPECT_EQ(text.find("≠"), text.rfind("≠")) << "line numbers alone are no difference";
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60);
}

TEST(JsonReportTest, ComparisonsHaveBothSidesAndTheDifference) {
  const auto json = nlohmann::json::parse(JsonComparison(Parted(), "a.ptx", "b.ptx"));
  EXPECT_EQ(json["verdict"], "DISTINCT");
  EXPECT_EQ(json["a"]["id"], "a.ptx");
  EXPECT_EQ(json["a"]["signature"], "aa");
  EXPECT_EQ(json["a"]["status"], "OK");
  EXPECT_EQ(json["a"]["micros"], 6.5);
  EXPECT_EQ(json["difference"]["byte_offset"], 64);
  EXPECT_EQ(json["difference"]["a"]["place"]["line"], 3);
  EXPECT_EQ(json["difference"]["b"]["tree"], "add\n  x[1]\n  x[2]");
}

TEST(JsonReportTest, SignatureLinesKeepTheContract) {
  BatchItem item{"k/1", Signed("cafe")};
  auto json = nlohmann::json::parse(JsonSignature(item));
  EXPECT_EQ(json["id"], "k/1");
  EXPECT_EQ(json["signature"], "cafe");
  EXPECT_EQ(json["status"], "OK");
  EXPECT_EQ(json["reason"], "");
  EXPECT_EQ(json["micros"], 6.5);
  EXPECT_EQ(json["stage_micros"]["parse"].get<double>() + json["stage_micros"]["execute"].get<double>() + json["stage_micros"]["map"].get<double>(), 6.5);
  item.signature = absl::NotFoundError("k.ptx: No such file");
  const std::string line = JsonSignature(item);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  json = nlohmann::json::parse(line);
  EXPECT_EQ(json["status"], "UNKNOWN");
  EXPECT_EQ(json["signature"], "");
  EXPECT_EQ(json["reason"], "k.ptx: No such file");
  EXPECT_EQ(json["reason_code"], "NOT_FOUND");
}

TEST(JsonReportTest, BytesThatAreNoTextAreReplaced) {
  const auto json = nlohmann::json::parse(JsonError(absl::InvalidArgumentError("bad \xff byte")));
  EXPECT_EQ(json["error"]["message"], "bad \xef\xbf\xbd byte");
}

}  // namespace
}  // namespace samebits::cli
