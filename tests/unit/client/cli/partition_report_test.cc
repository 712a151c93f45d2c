#include "client/cli/partition_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/human_report.h"
#include "client/cli/json_report.h"
#include "nlohmann/json.hpp"

namespace samebits::cli {
namespace {

using checker::SignatureStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

BatchItem Ok(const std::string& id, const std::string& digest) {
  checker::Signature signature;
  signature.status = SignatureStatus::kOk;
  signature.digest = digest;
  return {id, signature};
}

BatchItem Bad(const std::string& id, SignatureStatus status, const std::string& reason) {
  checker::Signature signature;
  signature.status = status;
  signature.reason = reason;
  signature.place.line = 7;
  return {id, signature};
}

std::vector<BatchItem> Mixed() {
  return {Ok("a", "11"),
          Ok("b", "22"),
          Bad("n", SignatureStatus::kNondeterministic, "atomics"),
          Ok("c", "11"),
          Bad("u", SignatureStatus::kUnknown, "tex"),
          {"e", absl::InvalidArgumentError("e: no text")}};
}

TEST(PartitionTest, GroupsByDigestInOrderOfAppearance) {
  const auto partition = BuildPartition(Mixed(), "");
  ASSERT_TRUE(partition.ok());
  ASSERT_EQ(partition->classes.size(), 2u);
  EXPECT_THAT(partition->classes[0].members, ElementsAre(0u, 3u));
  EXPECT_EQ(partition->classes[0].representative, 0u);
  EXPECT_THAT(partition->classes[1].members, ElementsAre(1u));
  EXPECT_THAT(partition->nondeterministic, ElementsAre(2u));
  EXPECT_THAT(partition->unknown, ElementsAre(4u));
  EXPECT_THAT(partition->errors, ElementsAre(5u));
}

TEST(PartitionTest, TheReferencesClassComesFirst) {
  std::vector<BatchItem> items = {Ok("a", "11"), Ok("b", "22"), Ok("c", "33"), Ok("d", "22")};
  const auto partition = BuildPartition(items, "d");
  ASSERT_TRUE(partition.ok());
  EXPECT_THAT(partition->classes[0].members, ElementsAre(1u, 3u));
  EXPECT_EQ(partition->classes[0].representative, 3u);
  EXPECT_TRUE(partition->classes[0].has_reference);
  EXPECT_THAT(partition->classes[1].members, ElementsAre(0u));
  EXPECT_THAT(partition->classes[2].members, ElementsAre(2u));
  EXPECT_EQ(BuildPartition(items, "z").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PartitionTest, UndecidedKernelsNeverJoinAClass) {
  const std::vector<BatchItem> items = {Bad("u", SignatureStatus::kUnknown, "x"),
                                        Bad("v", SignatureStatus::kUnknown, "x")};
  const auto partition = BuildPartition(items, "u");
  ASSERT_TRUE(partition.ok());
  EXPECT_THAT(partition->classes, IsEmpty());
  EXPECT_THAT(partition->unknown, ElementsAre(0u, 1u));
}

TEST(PartitionTest, ExitCodes) {
  const auto code = [](const std::vector<BatchItem>& items) { return ExitCodeOf(*BuildPartition(items, "")); };
  const BatchItem unknown = Bad("u", SignatureStatus::kUnknown, "x");
  const BatchItem racy = Bad("n", SignatureStatus::kNondeterministic, "x");
  const BatchItem error = {"e", absl::InvalidArgumentError("e")};
  EXPECT_EQ(code({Ok("a", "1"), Ok("b", "1")}), ExitCode::kEquivalent);
  EXPECT_EQ(code({Ok("a", "1"), Ok("b", "2")}), ExitCode::kNotEquivalent);
  EXPECT_EQ(code({Ok("a", "1"), racy}), ExitCode::kNotEquivalent);
  EXPECT_EQ(code({racy}), ExitCode::kNotEquivalent);
  EXPECT_EQ(code({Ok("a", "1"), unknown}), ExitCode::kUnknown);
  EXPECT_EQ(code({unknown}), ExitCode::kUnknown);
  EXPECT_EQ(code({Ok("a", "1"), Ok("b", "2"), unknown}), ExitCode::kNotEquivalent);
  EXPECT_EQ(code({Ok("a", "1"), error}), ExitCode::kBadInput);
}

TEST(PartitionTest, HumanTextNamesEveryKernelOnce) {
  const std::vector<BatchItem> items = Mixed();
  const std::string text = HumanPartition(*BuildPartition(items, "c"), items, {Style(false), 100});
  EXPECT_THAT(text, HasSubstr("6 kernels, 2 classes, 1 nondeterministic, 1 unknown, 1 in error"));
  EXPECT_THAT(text, HasSubstr("class 1  2 kernels  11\n    a\n  * c  (reference)\n"));
  EXPECT_THAT(text, HasSubstr("class 2  1 kernel  22\n  * b\n"));
  EXPECT_THAT(text, HasSubstr("tex (line 7)"));
  EXPECT_THAT(text, HasSubstr("e: no text"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(PartitionTest, JsonHasEveryPart) {
  const std::vector<BatchItem> items = Mixed();
  const auto json = nlohmann::json::parse(JsonPartition(*BuildPartition(items, "b"), items));
  EXPECT_EQ(json["kernels"], 6);
  ASSERT_EQ(json["classes"].size(), 2u);
  EXPECT_EQ(json["classes"][0]["members"], nlohmann::json({"b"}));
  EXPECT_EQ(json["classes"][0]["reference"], true);
  EXPECT_EQ(json["classes"][1]["members"], nlohmann::json({"a", "c"}));
  EXPECT_EQ(json["classes"][1]["size"], 2);
  EXPECT_EQ(json["nondeterministic"][0]["id"], "n");
  EXPECT_EQ(json["unknown"][0]["place"]["line"], 7);
  EXPECT_EQ(json["errors"][0]["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(json["reference"]["id"], "b");
  EXPECT_EQ(json["reference"]["verdicts"].size(), 4u);
  EXPECT_EQ(json["reference"]["verdicts"]["u"], "UNKNOWN");
  EXPECT_EQ(json["reference"]["verdicts"]["n"], "NONDETERMINISTIC");
}

}  // namespace
}  // namespace samebits::cli
