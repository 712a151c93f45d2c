#include "client/ci/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

namespace samebits::ci {
namespace {

using ::testing::HasSubstr;

std::vector<SignedKernel> Kernels() {
  std::vector<SignedKernel> kernels;
  for (const char* key : {"z", "a \"quoted\"", "m\xff"}) {
    SignedKernel kernel{key, "ignored.ptx", "text of " + std::string(1, key[0])};
    checker::Signature signature;
    signature.status = key[0] == 'm' ? checker::SignatureStatus::kUnknown : checker::SignatureStatus::kOk;
    if (key[0] != 'm') signature.digest = std::string(32, key[0] == 'z' ? '0' : 'a');
    if (key[0] == 'm') signature.reason = "too long", signature.reason_code = "STEP_LIMIT";
    kernel.signature = signature;
    kernels.push_back(kernel);
  }
  return kernels;
}

std::string Error(const std::string& text, const BaselineOptions& options = {}) {
  return std::string(ReadBaseline(text, options, "b.json").status().message());
}

TEST(BaselineTest, ReadsWhatItWroteInTheOrderOfKeys) {
  const auto read = ReadBaseline(WriteBaseline(Kernels(), {}), {}, "b.json");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 3);
  EXPECT_EQ((*read)[0].key, "a \"quoted\"");
  EXPECT_EQ((*read)[0].signature->digest, std::string(32, 'a'));
  EXPECT_EQ((*read)[0].digest, "text of a");
  EXPECT_EQ((*read)[1].signature->status, checker::SignatureStatus::kUnknown);
  EXPECT_EQ((*read)[1].signature->reason_code, "STEP_LIMIT");
  EXPECT_EQ((*read)[2].path, "");
}

TEST(BaselineTest, DoesNotDependOnTheOrderOfKernels) {
  std::vector<SignedKernel> turned = Kernels();
  std::reverse(turned.begin(), turned.end());
  EXPECT_EQ(WriteBaseline(Kernels(), {}), WriteBaseline(turned, {}));
}

TEST(BaselineTest, RefusesOtherVersionsAndOptions) {
  const std::string text = WriteBaseline(Kernels(), {});
  EXPECT_THAT(Error(text, {.ignore_signed_zero = true}), HasSubstr("--update-baseline"));
  const std::string version = "\"signature_version\": " + std::to_string(checker::SignatureVersion());
  EXPECT_THAT(Error(absl::StrReplaceAll(text, {{version, "\"signature_version\": 1"}})), HasSubstr("another version"));
}

TEST(BaselineTest, RefusesWhatIsNone) {
  EXPECT_THAT(Error(""), HasSubstr("b.json: no baseline"));
  EXPECT_THAT(Error("{}"), HasSubstr("no baseline"));
  EXPECT_THAT(Error(std::string(100'000, '[')), HasSubstr("no baseline"));
  const std::string text = WriteBaseline(Kernels(), {});
  EXPECT_THAT(Error(absl::StrReplaceAll(text, {{std::string(32, 'a'), "abc"}})), HasSubstr("kernels[0]"));
  EXPECT_THAT(Error(absl::StrReplaceAll(text, {{"\"OK\"", "\"FINE\""}})), HasSubstr("kernels[0]"));
}

}  // namespace
}  // namespace samebits::ci
