#include "proto/convert/convert.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

namespace samebits::proto {
namespace {

using checker::Argument;
using testing::HasSubstr;

checker::Launch FullLaunch() {
  checker::Launch launch;
  launch.entry = "sum";
  launch.block = {128, 2, 1};
  launch.grid = {{96, 1, 3}};
  launch.shared_bytes = 4096;
  launch.args.emplace();
  launch.args->push_back({Argument::Kind::kUnknown, "", 0, {}});
  launch.args->push_back({Argument::Kind::kPointer, "x", 0, {}});
  launch.args->push_back({Argument::Kind::kInteger, "", static_cast<uint64_t>(-7), {}});
  launch.args->push_back({Argument::Kind::kFloat, "", 0x3f800000, {}});
  launch.args->push_back({Argument::Kind::kFloat, "", 0x3ff0000000000000, {}});
  launch.args->push_back({Argument::Kind::kFloat, "", 1, {}});  // a subnormal double: only the width tells
  launch.args->push_back({Argument::Kind::kScratch, "", 0, {}});
  launch.args->push_back({Argument::Kind::kBytes, "", 0, {0, 255, 7}});
  launch.outputs = {"x", "y"};
  return launch;
}

TEST(ConvertTest, LaunchesSurviveTheRoundTrip) {
  const checker::Launch launch = FullLaunch();
  v1::Launch message;
  LaunchToProto(launch, {0, 0, 0, 4, 8, 8}, &message);
  EXPECT_EQ(FloatWidth(message.args().arguments(3)), 4);
  EXPECT_EQ(FloatWidth(message.args().arguments(4)), 8);
  EXPECT_EQ(FloatWidth(message.args().arguments(5)), 8);
  EXPECT_EQ(FloatWidth(message.args().arguments(1)), 0);
  const auto back = LaunchFromProto(message);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->entry, launch.entry);
  EXPECT_EQ(back->block, launch.block);
  EXPECT_EQ(back->grid, launch.grid);
  EXPECT_EQ(back->shared_bytes, launch.shared_bytes);
  EXPECT_EQ(back->outputs, launch.outputs);
  ASSERT_TRUE(back->args.has_value());
  ASSERT_EQ(back->args->size(), launch.args->size());
  for (size_t i = 0; i < launch.args->size(); ++i) {
    EXPECT_EQ((*back->args)[i].kind, (*launch.args)[i].kind) << i;
    EXPECT_EQ((*back->args)[i].buffer, (*launch.args)[i].buffer) << i;
    EXPECT_EQ((*back->args)[i].bits, (*launch.args)[i].bits) << i;
    EXPECT_EQ((*back->args)[i].bytes, (*launch.args)[i].bytes) << i;
  }
}

TEST(ConvertTest, FloatsWithoutAWidthGoByTheirUpperHalf) {
  v1::Launch message;
  LaunchToProto(FullLaunch(), {}, &message);
  EXPECT_EQ(FloatWidth(message.args().arguments(3)), 4);
  EXPECT_EQ(FloatWidth(message.args().arguments(4)), 8);
}

TEST(ConvertTest, AbsentGridAndArgumentsStayAbsent) {
  checker::Launch launch;
  v1::Launch message;
  LaunchToProto(launch, {}, &message);
  EXPECT_FALSE(message.has_grid());
  EXPECT_FALSE(message.has_args());
  const auto back = LaunchFromProto(message);
  ASSERT_TRUE(back.ok());
  EXPECT_FALSE(back->grid.has_value());
  EXPECT_FALSE(back->args.has_value());
  message.mutable_args();
  EXPECT_TRUE(LaunchFromProto(message)->args.has_value());  // no arguments is not the same as unknown ones
}

TEST(ConvertTest, RejectsDimensionsOfZero) {
  v1::Launch message;
  EXPECT_THAT(std::string(LaunchFromProto(message).status().message()), HasSubstr("block"));
  message.mutable_block()->set_x(1);
  message.mutable_block()->set_y(1);
  EXPECT_THAT(std::string(LaunchFromProto(message).status().message()), HasSubstr("1,1,0"));
  message.mutable_block()->set_z(1);
  EXPECT_TRUE(LaunchFromProto(message).ok());
  message.mutable_grid();
  EXPECT_TRUE(absl::IsInvalidArgument(LaunchFromProto(message).status()));
}

TEST(ConvertTest, ComparisonsSurviveTheRoundTrip) {
  checker::Comparison comparison;
  comparison.verdict = checker::Verdict::kDistinct;
  comparison.reason = "why";
  comparison.difference = checker::Difference{"summary", "out", 16, {"tree a", "node a", {3, 4, "add", "f.py:1"}},
                                              {"tree b", "node b", {}}};
  checker::Witness& witness = comparison.difference->witness.emplace();
  witness.inputs = {{"x", 64, 4, "0x3f800000", "1 (f32)"}, {"", 3, 8, "0x01", "1 (b64)"}};
  witness.buffer = "out";
  witness.byte_offset = 20;
  witness.bytes = 4;
  witness.bits_a = "0x1";
  witness.bits_b = "0x2";
  witness.value_a = "one";
  witness.value_b = "two";
  witness.exact = false;
  comparison.difference->cause_text = "because";
  comparison.difference->inputs_tried = 17;
  checker::Signature signature;
  signature.status = checker::SignatureStatus::kOk;
  signature.digest = "0123456789abcdef0123456789abcdef";
  signature.assumptions = {"a", "b"};
  signature.times = {1.5, 2.5, 3.5};
  signature.steps = 1;
  signature.nodes = 2;
  signature.families = 3;
  signature.output_bytes = 4;
  v1::Comparison message;
  VerdictToProto(comparison, &message);
  SignatureToProto(signature, 9, false, message.mutable_a());
  SignatureToProto(signature, 9, true, message.mutable_b());
  EXPECT_EQ(message.a().name(), "kernelSignatures/" + signature.digest);
  EXPECT_EQ(message.a().signature_version(), 9);
  EXPECT_FALSE(message.b().has_times());
  EXPECT_TRUE(message.b().cached());

  const checker::Comparison back = ComparisonFromProto(message);
  EXPECT_EQ(back.verdict, comparison.verdict);
  EXPECT_EQ(back.reason, comparison.reason);
  ASSERT_TRUE(back.difference.has_value());
  EXPECT_EQ(back.difference->byte_offset, 16);
  EXPECT_EQ(back.difference->a.place.column, 4);
  EXPECT_EQ(back.difference->b.tree, "tree b");
  EXPECT_EQ(back.difference->cause_text, "because");
  EXPECT_EQ(back.difference->inputs_tried, 17u);
  ASSERT_TRUE(back.difference->witness.has_value());
  const checker::Witness& found = *back.difference->witness;
  ASSERT_EQ(found.inputs.size(), 2u);
  EXPECT_EQ(found.inputs[0].buffer, "x");
  EXPECT_EQ(found.inputs[0].byte_offset, 64u);
  EXPECT_EQ(found.inputs[0].bits, "0x3f800000");
  EXPECT_EQ(found.inputs[1].bytes, 8u);
  EXPECT_EQ(found.inputs[1].value, "1 (b64)");
  EXPECT_EQ(found.buffer, "out");
  EXPECT_EQ(found.byte_offset, 20u);
  EXPECT_EQ(found.bytes, 4u);
  EXPECT_EQ(found.bits_a + found.bits_b + found.value_a + found.value_b, "0x10x2onetwo");
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(back.a.digest, signature.digest);
  EXPECT_EQ(back.a.assumptions, signature.assumptions);
  EXPECT_EQ(back.a.times.total(), 7.5);
  EXPECT_EQ(back.b.times.total(), 0);
  EXPECT_EQ(back.a.output_bytes, 4);
}

TEST(ConvertTest, EachCauseKeepsItsMeaning) {
  using checker::Cause;
  for (const Cause cause : {Cause::kNone, Cause::kSignedZero, Cause::kNanPayload, Cause::kApproximateFunction,
                            Cause::kContraction, Cause::kSpecialValues, Cause::kSameTrees, Cause::kNotEvaluated}) {
    checker::Comparison comparison;
    comparison.difference.emplace().cause = cause;
    v1::Comparison message;
    VerdictToProto(comparison, &message);
    const checker::Comparison back = ComparisonFromProto(message);
    EXPECT_EQ(checker::CauseName(back.difference->cause), checker::CauseName(cause));
  }
}

TEST(ConvertTest, EachVerdictKeepsItsMeaning) {
  using checker::Verdict;
  for (const Verdict verdict : {Verdict::kEquivalent, Verdict::kDifferent, Verdict::kDistinct,
                                Verdict::kNondeterministic, Verdict::kUnknown})
    EXPECT_EQ(VerdictFromProto(VerdictToProto(verdict)), verdict);
  EXPECT_EQ(VerdictFromProto(v1::Comparison::VERDICT_UNSPECIFIED), Verdict::kUnknown);
}

TEST(ConvertTest, AStatusThatIsNotKnownIsUnknown) {
  v1::KernelSignature message;
  EXPECT_EQ(SignatureFromProto(message).status, checker::SignatureStatus::kUnknown);
  message.set_status(static_cast<v1::KernelSignature::Status>(77));
  EXPECT_EQ(SignatureFromProto(message).status, checker::SignatureStatus::kUnknown);
}

TEST(ConvertTest, TextInfoSurvivesTheRoundTrip) {
  const checker::TextInfo info{"ptx", "sm_90a", "8.7",
                               {{"sum", {{"x", "u64", 8, true}, {"n", "u32", 4, false}}, {{128, 1, 1}}, 512},
                                {"other", {}, std::nullopt, 0}}};
  v1::Kernel kernel;
  TextInfoToProto(info, &kernel);
  const checker::TextInfo back = TextInfoFromProto(kernel);
  EXPECT_EQ(back.isa, "ptx");
  EXPECT_EQ(back.target, "sm_90a");
  EXPECT_EQ(back.version, "8.7");
  ASSERT_EQ(back.entries.size(), 2);
  EXPECT_EQ(back.entries[0].parameters[0].type, "u64");
  EXPECT_TRUE(back.entries[0].parameters[0].is_pointer);
  EXPECT_EQ(back.entries[0].required_block, info.entries[0].required_block);
  EXPECT_EQ(back.entries[0].static_shared_bytes, 512);
  EXPECT_FALSE(back.entries[1].required_block.has_value());
}

TEST(ConvertTest, TextBecomesUtf8) {
  const struct {
    std::string in, out;
  } cases[] = {
      {"plain", "plain"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"a\xff" "b", "a\xef\xbf\xbd" "b"},
      {"\xc3", "\xef\xbf\xbd"},
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},              // overlong
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // surrogate
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf5\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {std::string("\0x", 2), std::string("\0x", 2)},
  };
  for (const auto& c : cases) {
    std::string out = "old";
    SetText(c.in, &out);
    EXPECT_EQ(out, c.out);
  }
}

}  // namespace
}  // namespace samebits::proto
