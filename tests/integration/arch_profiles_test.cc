// Arch profiles over the API.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cpp/profile_client.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::HasSubstr;

// One product: rows of M up to 64 are split in four, others not; `version` shifts the threshold.
std::string ProfileText(int version) {
  return absl::StrCat(
      "samebits-profile/1\ndevice test device\narch 90 132\nlibrary testblas\nversion ", version,
      "\ndriver none\nworkspace 1024\n"
      "algorithm id=1 splits=4\nalgorithm id=1 splits=1\n"
      "entry 7 types=f16,f16,f32,f16 layout=TN id=1 stages=0 reduction=0 custom=0 split=1\n"
      "rule gemm/1 types=f16,f16,f32,f16 family=split_k instruction=wgmma:16 cuts=contiguous:share/splits/64/0:cover:ascending\n"
      "entry 9 types=f16,f16,f32,f16 layout=TN id=1 stages=0 reduction=0 custom=0 split=0\n"
      "rule gemm/1 types=f16,f16,f32,f16 family=plain instruction=wgmma:16 cuts=none\n"
      "section types=f16,f16,f32,f16 layout=TN\n"
      "tally shapes=16 explained=16\n"
      "scan 32 1024 100 1:0 ",
      64 + version, ":1\n");
}

class ArchProfilesTest : public ServiceTest {
 protected:
  client::ProfileClient& profiles() {
    if (profiles_ == nullptr) {
      client::ClientOptions options;
      options.target = server().address();
      auto client = client::ProfileClient::Connect(options);
      EXPECT_TRUE(client.ok()) << client.status();
      profiles_ = *std::move(client);
    }
    return *profiles_;
  }
  std::string Import(int version) {
    const auto profile = profiles().Import(ProfileText(version));
    EXPECT_TRUE(profile.ok()) << profile.status();
    return profile.ok() ? profile->name() : "";
  }
  static v1::GemmShape Shape(int64_t m) {
    v1::GemmShape shape;
    shape.set_m(m);
    shape.set_n(32);
    shape.set_k(1024);
    shape.set_types("f16,f16,f32,f16");
    return shape;
  }

 private:
  std::unique_ptr<client::ProfileClient> profiles_;
};

TEST_F(ArchProfilesTest, AreStoredListedAndDeleted) {
  const std::string name = Import(1);
  EXPECT_EQ(Import(1), name);
  EXPECT_NE(Import(2), name);
  EXPECT_EQ(profiles().List()->arch_profiles_size(), 2);
  const auto profile = profiles().Get(name);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->device(), "test device");
  EXPECT_EQ(profile->library_version(), 1);
  EXPECT_EQ(profile->shapes(), 16);
  EXPECT_EQ(profile->rule_kinds(), 2);
  EXPECT_EQ(*profiles().Export(name), ProfileText(1));
  EXPECT_TRUE(profiles().Delete(name).ok());
  EXPECT_EQ(profiles().Get(name).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ArchProfilesTest, DescribeShapes) {
  v1::DescribeGemmRequest request;
  request.set_name(Import(1));
  *request.mutable_shape() = Shape(7);
  const auto described = profiles().DescribeGemm(request);
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->desc().k_cuts_size(), 1);
  EXPECT_THAT(described->text(), HasSubstr("cuts=contiguous:256x4:ascending"));
  EXPECT_EQ(described->rule_shapes(), 7);
  EXPECT_FALSE(described->studied());
  request.mutable_shape()->set_m(101);
  EXPECT_EQ(profiles().DescribeGemm(request).status().code(), absl::StatusCode::kNotFound);
  request.mutable_shape()->set_types("f16");
  EXPECT_EQ(ReasonOf(profiles().DescribeGemm(request).status()), "INVALID_FIELD");
}

TEST_F(ArchProfilesTest, DescriptorsAreEmulated) {
  v1::DescribeGemmRequest describe;
  describe.set_name(Import(1));
  *describe.mutable_shape() = Shape(70);
  v1::EmulateGemmRequest request;
  *request.mutable_desc() = profiles().DescribeGemm(describe)->desc();
  request.set_architecture(90);
  request.set_m(1);
  request.set_n(2);
  request.set_k(3);
  const std::string one("\x00\x3c", 2), two("\x00\x40", 2), six("\x00\x46", 2), twelve("\x00\x4a", 2);
  request.set_a(two + two + two);
  request.set_b(one + one + one + two + two + two);
  const auto emulated = profiles().EmulateGemm(request);
  ASSERT_TRUE(emulated.ok()) << emulated.status();
  EXPECT_EQ(emulated->d(), six + twelve);
  request.set_b(one);
  EXPECT_EQ(ReasonOf(profiles().EmulateGemm(request).status()), "INVALID_FIELD");
  request.set_m(1 << 20);
  request.set_k(1 << 20);
  EXPECT_EQ(profiles().EmulateGemm(request).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ArchProfilesTest, JobsAboutProductsAreCheckedBeforeTheyAreAccepted) {
  v1::RecoverGemmsRequest recover;
  const auto recover_fails = [&](const std::string& reason, const std::string& words) {
    const absl::Status status = profiles().RecoverGemms(recover).status();
    EXPECT_EQ(ReasonOf(status), reason) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  recover_fails("INVALID_FIELD", "library");
  recover.set_library("cublaslt");
  recover_fails("INVALID_FIELD", "shapes");
  *recover.add_shapes() = Shape(4);
  recover_fails("NO_DEVICE", "cublaslt");
  recover.set_draws(1001);
  recover_fails("INVALID_FIELD", "draws");
  recover.clear_draws();
  *recover.add_shapes() = Shape(int64_t{1} << 31);
  recover_fails("INVALID_FIELD", "shapes[1]");

  v1::DescribeGemmRequest describe;
  describe.set_name(Import(1));
  *describe.mutable_shape() = Shape(70);
  v1::EmulateGemmOnWorkerRequest emulate;
  const auto emulate_fails = [&](const std::string& reason, const std::string& words) {
    const absl::Status status = profiles().EmulateGemmOnWorker(emulate).status();
    EXPECT_EQ(ReasonOf(status), reason) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  emulate_fails("INVALID_FIELD", "m:");
  emulate.set_m(4096);
  emulate.set_n(4096);
  emulate.set_k(1024);
  emulate_fails("INVALID_FIELD", "desc");
  *emulate.mutable_desc() = profiles().DescribeGemm(describe)->desc();
  emulate_fails("INVALID_FIELD", "digests_only");
  emulate.set_digests_only(true);
  emulate_fails("INVALID_FIELD", "packed bytes or generated");
  emulate.mutable_a()->mutable_generated()->set_distribution("even");
  emulate_fails("INVALID_FIELD", "'even'");
  emulate.mutable_a()->set_packed("xx");
  emulate_fails("INVALID_FIELD", "has 2 bytes");
  emulate.mutable_a()->mutable_generated()->set_distribution("wide");
  emulate.mutable_b()->mutable_generated();
  emulate.set_architecture(90);
  emulate_fails("NO_DEVICE", "emulates");
  emulate.mutable_bias()->set_packed("xx");
  emulate_fails("INVALID_FIELD", "does not use it");
  emulate.clear_bias();
  emulate.set_architecture(3);
  EXPECT_EQ(profiles().EmulateGemmOnWorker(emulate).status().code(), absl::StatusCode::kUnimplemented);
  emulate.set_n(1 << 24);
  emulate_fails("LIMIT_EXCEEDED", "max_emulated_outputs");
}

TEST_F(ArchProfilesTest, BatchInvarianceAndDifferences) {
  v1::ReportBatchInvarianceRequest request;
  request.set_name(Import(1));
  *request.mutable_shape() = Shape(0);
  request.set_first_m(1);
  request.set_last_m(100);
  const auto report = profiles().ReportBatchInvariance(request);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->runs_size(), 2);
  EXPECT_EQ(report->runs(0).last_m(), 64);
  EXPECT_EQ(report->kinds_of_bits(), 2);
  EXPECT_THAT(report->runs(1).changes(), testing::Contains(HasSubstr("cuts contiguous:256x4:ascending -> none")));
  v1::CompareArchProfilesRequest compare;
  compare.set_before(request.name());
  compare.set_after(Import(5));
  const auto comparison = profiles().Compare(compare);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->changed(), 4);
  EXPECT_EQ(comparison->same(), 96);
  ASSERT_EQ(comparison->differences_size(), 1);
  EXPECT_EQ(comparison->differences(0).shape().m(), 65);
  EXPECT_EQ(comparison->differences(0).last_m(), 68);
}

TEST_F(ArchProfilesTest, BadRequestsAreRefused) {
  EXPECT_EQ(ReasonOf(profiles().Import("nonsense").status()), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(profiles().Get("archProfiles/12").status()), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(profiles().Get("kernels/12").status()), "INVALID_FIELD");
  v1::ReportBatchInvarianceRequest request;
  request.set_name(Import(1));
  *request.mutable_shape() = Shape(0);
  EXPECT_EQ(ReasonOf(profiles().ReportBatchInvariance(request).status()), "INVALID_FIELD");
}

}  // namespace
}  // namespace samebits
