#include "client/ci/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace samebits::ci {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    Add("a", Outcome::kEqual);
    Add("b<&>", Outcome::kChanged)->reason = "signature 1 became 2";
    Add("c", Outcome::kNew);
    Add("d", Outcome::kUnknown)->same_text = true;
    Add("e", Outcome::kUnknown)->reason = "candidate: too long";
    checker::Difference difference;
    difference.summary = "the sums part";
    difference.buffer = "o";
    difference.byte_offset = 4;
    difference.b.place = {12, 3, "add.f32 %f1, %f2, %f3;", "k.py:9"};
    findings_[1].difference = difference;
  }
  Finding* Add(const std::string& id, Outcome outcome) {
    Finding finding;
    finding.id = id;
    finding.outcome = outcome;
    if (outcome != Outcome::kNew) finding.baseline = kernels_.size();
    finding.candidate = kernels_.size();
    kernels_.push_back({id, "dir/" + id + ".ptx", "", checker::Signature{}});
    findings_.push_back(finding);
    return &findings_.back();
  }
  Report report() const { return {findings_, kernels_, kernels_, {false, true, false, true, true}, "9.9"}; }
  std::vector<SignedKernel> kernels_;
  std::vector<Finding> findings_;
};

TEST_F(ReportTest, UnknownFailsUnlessTheTextIsTheSame) {
  std::vector<bool> fails;
  for (const Finding& finding : findings_) fails.push_back(Fails(report(), finding));
  EXPECT_EQ(fails, (std::vector<bool>{false, true, false, false, true}));
}

TEST_F(ReportTest, Json) {
  const Json json = Json::parse(JsonReport(report()));
  EXPECT_EQ(json["counts"]["unknown"], 2);
  EXPECT_EQ(json["failures"], 2);
  EXPECT_EQ(json["findings"][1]["outcome"], "changed");
  EXPECT_EQ(json["findings"][1]["explanation"],
            (Json{"signature 1 became 2", "the sums part", "first at o, byte 4",
                  "candidate: line 12, k.py:9: add.f32 %f1, %f2, %f3;"}));
  EXPECT_EQ(json["findings"][2]["baseline"], nullptr);
}

TEST_F(ReportTest, Junit) {
  const std::string xml = JunitReport(report());
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("name=\"b&lt;&amp;&gt;\""));
  EXPECT_THAT(xml, HasSubstr("type=\"changed\">signature 1 became 2\nthe sums part"));
  EXPECT_THAT(xml, Not(HasSubstr("b<&>")));
}

TEST_F(ReportTest, Sarif) {
  const Json json = Json::parse(SarifReport(report()));
  EXPECT_EQ(json["version"], "2.1.0");
  const Json& results = json["runs"][0]["results"];
  ASSERT_EQ(results.size(), 4);
  EXPECT_EQ(results[0]["ruleId"], "samebits/changed");
  EXPECT_EQ(results[0]["level"], "error");
  EXPECT_EQ(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "dir/b<&>.ptx");
  EXPECT_EQ(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
  EXPECT_EQ(results[1]["level"], "note");
  EXPECT_EQ(results[2]["level"], "warning");
  EXPECT_EQ(results[3]["level"], "error");
}

}  // namespace
}  // namespace samebits::ci
