#include "proto/convert/numerics/instruction_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/convert/numerics/numerics.h"

namespace samebits::proto {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using v1::MeasureInstructionMixRequest;

// The first bytes of an ELF object for a machine.
std::string Elf(char machine) {
  std::string head("\x7f" "ELF\x02\x01\x01", 7);
  head.resize(64);
  head[18] = machine;
  return head;
}
const std::string kCubin = Elf('\xbe'), kAmdgcn = Elf('\xe0'), kLibrary = Elf('\x3e'), kText = "code for sm_80\n";

MeasureInstructionMixRequest Files(const std::vector<std::string>& contents) {
  MeasureInstructionMixRequest request;
  for (const std::string& content : contents) {
    v1::CodeFile* file = request.mutable_code_files()->add_files();
    file->set_name("file" + std::to_string(request.code_files().files_size()));
    file->set_content(content);
  }
  return request;
}

MeasureInstructionMixRequest Engine(const std::string& model, const std::vector<std::string>& configurations = {}) {
  MeasureInstructionMixRequest request;
  request.mutable_run()->set_model(model);
  request.mutable_engine_kernels();
  for (const std::string& text : configurations) request.mutable_engine_kernels()->add_configurations(text);
  return request;
}

TEST(InstructionMixRequestTest, WhatAWorkerNeedsFollowsFromTheBytes) {
  EXPECT_EQ(InstructionSourceOf(Files({kText})), "text");
  EXPECT_EQ(InstructionSourceOf(Files({kText, kCubin})), "cubin");
  EXPECT_EQ(InstructionSourceOf(Files({kCubin, kLibrary})), "fatbin");
  EXPECT_EQ(InstructionSourceOf(Files({"\x50\xed\x55\xba"})), "fatbin");
  EXPECT_EQ(InstructionSourceOf(Files({kAmdgcn})), "amdgcn");
  EXPECT_EQ(InstructionSourceOf(Files({kAmdgcn, kCubin, kText})), "cubin+amdgcn");
  EXPECT_EQ(InstructionSourceOf(Files({kLibrary, kAmdgcn})), "fatbin+amdgcn");
  EXPECT_EQ(InstructionSourceOf(Engine("synthetic:tiny")), "engine");
}

TEST(InstructionMixRequestTest, AWorkerMeetsWhatItHasTheToolsFor) {
  EXPECT_THAT(InstructionSourcesMet({}), UnorderedElementsAre());
  EXPECT_THAT(InstructionSourcesMet({"text", "telepathy"}), UnorderedElementsAre("text"));
  EXPECT_THAT(InstructionSourcesMet({"text", "cubin", "amdgcn"}), UnorderedElementsAre("text", "cubin", "amdgcn", "cubin+amdgcn"));
  EXPECT_THAT(InstructionSourcesMet({"text", "cubin", "fatbin", "amdgcn", "engine"}),
              UnorderedElementsAre("text", "cubin", "fatbin", "amdgcn", "engine", "cubin+amdgcn", "fatbin+amdgcn"));
}

TEST(InstructionMixRequestTest, DefaultsOfTheEngine) {
  const MeasureInstructionMixRequest request = Engine("synthetic:qwen3-8b");
  EXPECT_TRUE(CheckInstructionMix(request).ok()) << CheckInstructionMix(request);
  EXPECT_EQ(EngineTargetOf(request), "sm_90");
  EXPECT_EQ(EngineConfigurationsOf(request).size(), 7u);
  EXPECT_EQ(EngineShapeOf(request)->layers, 36);
}

TEST(InstructionMixRequestTest, ErrorsNameTheField) {
  const auto error = [](const MeasureInstructionMixRequest& request) {
    v1::NumericsRequest job;
    *job.mutable_instruction_mix() = request;
    return std::string(CheckRequest(job).message());
  };
  EXPECT_EQ(error(Files({kText, kCubin})), "");
  EXPECT_THAT(error({}), HasSubstr("code: is required"));
  EXPECT_THAT(error(Engine("synthetic:tiny", {"bf17"})), AllOf(HasSubstr("engine_kernels.configurations: "), HasSubstr("bf17")));
  EXPECT_THAT(error(Engine("synthetic:tiny", {"bf16", "BF16"})), HasSubstr("named twice"));
  EXPECT_THAT(error(Engine("synthetic:tiny", {"heal++:99"})), HasSubstr("99"));
  EXPECT_THAT(error(Engine("synthetic:huge")), AllOf(HasSubstr("run.model: "), HasSubstr("tiny")));
  EXPECT_THAT(error(Engine("/etc/passwd")), HasSubstr("run.model: "));
  auto request = Engine("synthetic:tiny");
  request.set_target("gfx942");
  EXPECT_THAT(error(request), HasSubstr("target: "));
  request = Files({});
  request.mutable_code_files();
  EXPECT_THAT(error(request), HasSubstr("code_files.files: "));
  EXPECT_THAT(error(Files({""})), AllOf(HasSubstr("code_files.files.content: "), HasSubstr("'file1'")));
  EXPECT_THAT(error(Files({".version 8.0\n.target sm_90\n"})), HasSubstr("PTX"));
  EXPECT_THAT(error(Files({"__CLANG_OFFLOAD_BUNDLE__...."})), HasSubstr("bundle"));
  request = Files({kText, kText});
  request.mutable_code_files()->mutable_files(1)->set_name("file1");
  EXPECT_THAT(error(request), HasSubstr("code_files.files.name: "));
  request = Files({kText});
  request.mutable_code_files()->mutable_files(0)->mutable_content()->resize(kMostCodeBytes + 1, 'x');
  EXPECT_THAT(error(request), AllOf(HasSubstr("code_files.files: "), HasSubstr("without --server")));
  request = Files({kText});
  request.mutable_run()->set_model("synthetic:tiny");
  EXPECT_THAT(error(request), HasSubstr("run.model: "));
  request = Files({kText});
  request.set_match(std::string(heal::kMostPattern + 1, 'x'));
  EXPECT_THAT(error(request), HasSubstr("match: "));
  request.set_match("a");
  request.set_target(std::string(17, 'x'));
  EXPECT_THAT(error(request), HasSubstr("target: "));
}

}  // namespace
}  // namespace samebits::proto
