#include "proto/convert/numerics/numerics.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "core/heal/jobs/job.h"

namespace samebits::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using v1::NumericsRequest;

// Gives every field of a message, and two entries of every list, a value that no other has.
class Filler {
 public:
  void Fill(Message* message) {
    const auto* descriptor = message->GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      for (int n = field->is_repeated() ? 2 : 1; n > 0; --n) FillField(field, message);
    }
  }

 private:
  std::string Text(const FieldDescriptor* field) {
    const std::string name = field->name();
    if (name == "family") return next_++ % 2 == 0 ? "GEMM" : "RMSNorm";
    if (name == "instruction_class") return next_++ % 2 == 0 ? "tensor" : "conversion";
    if (name == "tensor") return next_++ % 2 == 0 ? "Q" : "V";
    return "text" + std::to_string(next_++);
  }
  void FillField(const FieldDescriptor* field, Message* message) {
    const auto* r = message->GetReflection();
    const bool many = field->is_repeated();
    const int small = field->name() == "reads" ? next_++ % 5 : next_++;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return many ? r->AddDouble(message, field, small + 0.1) : r->SetDouble(message, field, small + 0.1);
      case FieldDescriptor::CPPTYPE_INT32:
        return many ? r->AddInt32(message, field, small) : r->SetInt32(message, field, small);
      case FieldDescriptor::CPPTYPE_INT64:
        return many ? r->AddInt64(message, field, small) : r->SetInt64(message, field, small);
      case FieldDescriptor::CPPTYPE_BOOL:
        return r->SetBool(message, field, true);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->SetEnumValue(message, field, 1 + small % 3);
      case FieldDescriptor::CPPTYPE_STRING:
        return r->SetString(message, field, Text(field));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Fill(many ? r->AddMessage(message, field) : r->MutableMessage(message, field));
      default:
        FAIL() << field->full_name() << " is of a type that no result has";
    }
  }
  int next_ = 1;
};

// What follows from the opcodes and the name.
void Derive(v1::KernelInstructions* kernel) {
  kernel->set_readable_name(kernel->kernel());
  int64_t tensor = 0, conversions = 0;
  for (const auto& opcode : kernel->opcodes()) (opcode.instruction_class() == "tensor" ? tensor : conversions) += opcode.count();
  kernel->set_instructions(tensor + conversions);
  kernel->set_arithmetic(tensor);
  kernel->set_conversions(conversions);
}

TEST(NumericsResultTest, EveryFieldOfEveryResultComesBack) {
  const auto* kinds = v1::NumericsResult::descriptor()->oneof_decl(0);
  ASSERT_EQ(kinds->field_count(), std::variant_size_v<heal::JobResult>);
  for (int i = 0; i < kinds->field_count(); ++i) {
    v1::NumericsResult sent, back;
    Filler().Fill(sent.GetReflection()->MutableMessage(&sent, kinds->field(i)));
    if (sent.has_instruction_mix())
      for (v1::KernelInstructions& kernel : *sent.mutable_instruction_mix()->mutable_kernels()) Derive(&kernel);
    const auto result = ResultFromProto(sent);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->index(), i);
    ResultToProto(*result, &back);
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differencer.Compare(sent, back)) << kinds->field(i)->name() << ": " << difference;
  }
}

TEST(NumericsResultTest, RefusesWhatItDoesNotKnow) {
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto({}).status()));
  v1::NumericsResult result;
  result.mutable_decompose()->add_families()->set_family("Softmax");
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto(result).status()));
  result.mutable_qkv()->add_distributions()->set_tensor("W");
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto(result).status()));
  v1::KernelInstructions* kernel = result.mutable_instruction_mix()->add_kernels();
  kernel->add_opcodes()->set_instruction_class("mystery");
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto(result).status()));
  kernel->mutable_opcodes(0)->set_instruction_class("half");
  kernel->mutable_opcodes(0)->set_count(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto(result).status()));
  result.mutable_evaluate()->add_configurations()->add_schedules();
  EXPECT_TRUE(absl::IsInvalidArgument(ResultFromProto(result).status()));
}

class NumericsRequestTest : public testing::Test {
 protected:
  NumericsRequestTest() { Ask(&request_); }
  static void Ask(NumericsRequest* request) {
    v1::NumericsRun* run = MutableRunOf(request) == nullptr ? request->mutable_evaluate()->mutable_run() : MutableRunOf(request);
    run->set_model("synthetic:tiny:7");
    run->mutable_synthetic_prompts()->set_count(3);
    run->mutable_synthetic_prompts()->set_length(5);
  }
  std::string Error() const { return std::string(SpecFromProto(request_, shape_).status().message()); }

  const heal::ModelShape shape_ = *heal::PublishedShape("tiny");
  NumericsRequest request_;
};

TEST_F(NumericsRequestTest, WhatIsNotSetIsTheJobsDefault) {
  const auto* jobs = NumericsRequest::descriptor()->oneof_decl(0);
  for (int i = 0; i < jobs->field_count(); ++i) {
    NumericsRequest request;
    request.GetReflection()->MutableMessage(&request, jobs->field(i));
    Ask(&request);
    EXPECT_STRNE(MethodOf(request), "");
    if (request.has_instruction_mix()) continue;  // asks no model; instruction_mix_test.cc
    const auto spec = SpecFromProto(request, shape_);
    ASSERT_TRUE(spec.ok()) << jobs->field(i)->name() << ": " << spec.status();
    EXPECT_EQ(spec->job.index(), i);
    EXPECT_EQ(spec->batching.slots, heal::Batching().slots);
    EXPECT_EQ(spec->prompts.prompts.size(), 3);
  }
  const auto spec = SpecFromProto(request_, shape_);
  const auto& evaluate = std::get<heal::EvaluateSpec>(spec->job);
  EXPECT_EQ(evaluate.configurations, heal::EvaluateSpec().configurations);
  EXPECT_EQ(evaluate.schedules, heal::EvaluateSpec().schedules);
  EXPECT_EQ(evaluate.trajectory.max_new_tokens, heal::Trajectory().max_new_tokens);
  EXPECT_TRUE(evaluate.measure_mse && evaluate.measure_flips);
}

TEST_F(NumericsRequestTest, WhatIsSetReplacesIt) {
  auto* evaluate = request_.mutable_evaluate();
  evaluate->add_configurations("heal++:1");
  evaluate->add_schedules(v1::REVERSED);
  evaluate->add_schedules(v1::FIXED);
  evaluate->set_skip_flips(true);
  evaluate->mutable_trajectory()->set_anchor("tf32");
  evaluate->mutable_trajectory()->set_max_new_tokens(9);
  v1::NumericsRun* run = evaluate->mutable_run();
  run->set_slots(2);
  run->set_rows(64);
  v1::NumericsPromptSet* set = run->mutable_prompt_set();
  set->set_name("set");
  set->add_token_bytes(std::string("\xff\0", 2));
  set->add_stop_tokens(2);
  v1::NumericsPrompt* prompt = set->add_prompts();
  prompt->set_id("p");
  prompt->set_domain("law");
  prompt->add_tokens(4);
  prompt->set_expected("C");
  const auto spec = SpecFromProto(request_, shape_);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const auto& job = std::get<heal::EvaluateSpec>(spec->job);
  EXPECT_THAT(job.configurations, ElementsAre("heal++:1"));
  EXPECT_THAT(job.schedules, ElementsAre(heal::Schedule::kReversed, heal::Schedule::kFixed));
  EXPECT_TRUE(job.measure_mse);
  EXPECT_FALSE(job.measure_flips);
  EXPECT_EQ(job.trajectory.anchor, "tf32");
  EXPECT_EQ(job.trajectory.max_new_tokens, 9);
  EXPECT_EQ(spec->batching.slots, 2);
  EXPECT_EQ(spec->batching.rows, 64);
  EXPECT_EQ(spec->prompts.name, "set");
  EXPECT_EQ(spec->prompts.token_bytes[0], std::string("\xff\0", 2));
  EXPECT_THAT(spec->prompts.stop_tokens, ElementsAre(2));
  EXPECT_EQ(spec->prompts.prompts[0].expected, 'C');
  EXPECT_EQ(spec->prompts.prompts[0].domain, "law");
}

TEST_F(NumericsRequestTest, ErrorsNameTheField) {
  auto* evaluate = request_.mutable_evaluate();
  v1::NumericsRun* run = evaluate->mutable_run();
  evaluate->add_configurations("bf17");
  EXPECT_THAT(Error(), AllOf(HasSubstr("configurations: "), HasSubstr("bf17")));
  evaluate->clear_configurations();
  evaluate->add_schedules(static_cast<v1::NumericsSchedule>(9));
  EXPECT_THAT(Error(), HasSubstr("schedules: "));
  evaluate->clear_schedules();
  run->mutable_synthetic_prompts()->set_count(0);
  EXPECT_THAT(Error(), HasSubstr("run.synthetic_prompts.count: "));
  run->mutable_synthetic_prompts()->set_count(heal::kMostPrompts);
  run->mutable_synthetic_prompts()->set_length(heal::kMostContext);
  EXPECT_THAT(Error(), HasSubstr("run.synthetic_prompts.length: "));
  run->mutable_prompt_set();
  EXPECT_THAT(Error(), HasSubstr("run.prompt_set.prompts: is required"));
  run->mutable_prompt_set()->add_prompts()->set_id("p");
  EXPECT_THAT(Error(), AllOf(HasSubstr("run.prompt_set.prompts.tokens: "), HasSubstr("'p'")));
  run->mutable_prompt_set()->mutable_prompts(0)->add_tokens(1);
  run->mutable_prompt_set()->mutable_prompts(0)->set_expected("AB");
  EXPECT_THAT(Error(), HasSubstr("run.prompt_set.prompts.expected: "));
  run->mutable_prompt_set()->mutable_prompts(0)->set_expected("A");
  EXPECT_EQ(Error(), "");
  run->mutable_prompt_set()->mutable_prompts(0)->set_tokens(0, shape_.vocabulary);
  EXPECT_NE(Error(), "");
  run->set_model("");
  EXPECT_THAT(Error(), HasSubstr("run.model: "));
  EXPECT_EQ(std::string(CheckRequest({}).message()), "job: is required");
  EXPECT_EQ(RunOf({}), nullptr);
  EXPECT_STREQ(MethodOf({}), "");
}

TEST(NumericsResultTest, AScheduleThatOverflowedKeepsItsReason) {
  heal::EvaluateResult result;
  heal::ScheduleOutcome& one = result.configurations.emplace_back().schedules.emplace_back();
  one.schedule = heal::Schedule::kReversed;
  one.failure = "row 3: a hidden state is not finite";
  v1::NumericsResult message;
  ResultToProto(result, &message);
  const absl::StatusOr<heal::JobResult> read = ResultFromProto(message);
  ASSERT_TRUE(read.ok()) << read.status();
  const heal::ScheduleOutcome& back = std::get<heal::EvaluateResult>(*read).configurations[0].schedules[0];
  EXPECT_EQ(back.schedule, one.schedule);
  EXPECT_EQ(back.failure, one.failure);
}

}  // namespace
}  // namespace samebits::proto
