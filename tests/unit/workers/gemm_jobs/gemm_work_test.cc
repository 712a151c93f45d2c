#include "workers/gemm_jobs/gemm_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/sha256.h"
#include "core/gemm/emulator.h"
#include "core/inputs/inputs.h"
#include "proto/convert/gemm.h"

namespace samebits::workers {
namespace {

using ::testing::HasSubstr;

WorkParts Keep(std::map<int64_t, std::string>* kept, std::map<int64_t, std::string> done = {}) {
  return {std::move(done), [kept](int64_t number, std::string body) { (*kept)[number] = std::move(body); }, [](int64_t, int64_t) {}};
}

v1::RecoverGemmsRequest Recovery(int shapes) {
  v1::RecoverGemmsRequest request;
  request.set_library("simulated");
  request.set_seed(3);
  for (int i = 0; i < shapes; ++i) {
    v1::GemmShape* shape = request.add_shapes();
    shape->set_m(1 + i);
    shape->set_n(16);
    shape->set_k(300 + 16 * i);
    shape->set_types("f16,f16,f32,f16");
  }
  return request;
}

TEST(GemmWorkTest, RecoveryGoesOnFromAnySubsetOfShapes) {
  const v1::RecoverGemmsRequest request = Recovery(5);
  const GemmLibrary library = *FindGemmLibrary({"simulated"});
  std::map<int64_t, std::string> all, rest;
  const auto whole = RecoverGemms(request, library, 1, Keep(&all));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(whole->library(), "simulated");
  EXPECT_EQ(whole->architecture(), 90);
  for (const v1::RecoveredGemm& gemm : whole->gemms()) {
    EXPECT_EQ(gemm.state(), v1::RecoveredGemm::EXPLAINED) << gemm.reason();
    EXPECT_GT(gemm.launches(), 0);
    EXPECT_GT(gemm.outputs(), 0);
    EXPECT_GT(gemm.evidence_size(), 0);
    EXPECT_TRUE(proto::GemmDescFromProto(gemm.desc()).ok());
  }
  const auto again = RecoverGemms(request, library, 2, Keep(&rest, {{0, all[0]}, {3, all[3]}}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(rest.size(), 3u);
  EXPECT_EQ(again->SerializeAsString(), whole->SerializeAsString());
}

TEST(GemmWorkTest, RecoveryRefusesShapesOfAnotherLibraryAndDamage) {
  const v1::RecoverGemmsRequest request = Recovery(1);
  std::map<int64_t, std::string> all, none;
  ASSERT_TRUE(RecoverGemms(request, *FindGemmLibrary({"simulated"}), 1, Keep(&all)).ok());
  const GemmLibrary other = *FindGemmLibrary({"simulated-2"});
  EXPECT_EQ(RecoverGemms(request, other, 1, Keep(&none, all)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RecoverGemms(request, other, 1, Keep(&none, {{0, "x"}})).status().code(), absl::StatusCode::kDataLoss);
  v1::RecoverGemmsRequest bad = request;
  bad.mutable_shapes(0)->set_types("f16");
  EXPECT_EQ(RecoverGemms(bad, other, 1, Keep(&none)).status().code(), absl::StatusCode::kInvalidArgument);
}

v1::EmulateGemmOnWorkerRequest Emulation(int64_t m, int64_t n, int64_t k, const char* desc) {
  v1::EmulateGemmOnWorkerRequest request;
  proto::GemmDescToProto(*gemm::ParseGemmDesc(desc), request.mutable_desc());
  request.set_architecture(90);
  request.set_m(m);
  request.set_n(n);
  request.set_k(k);
  request.mutable_a()->mutable_generated()->set_seed("s");
  request.mutable_b()->mutable_generated()->set_seed("s");
  request.mutable_b()->mutable_generated()->set_distribution("normal");
  return request;
}

TEST(GemmWorkTest, EmulationIsThatOfTheWholeProductFromGeneratedOperands) {
  constexpr int64_t kM = 33, kN = 20, kK = 500;
  const char* text = "gemm/1 types=bf16,bf16,f32,bf16 instruction=wgmma:16";
  v1::EmulateGemmOnWorkerRequest request = Emulation(kM, kN, kK, text);
  const auto a = *inputs::MakeBuffer("s", {"a", inputs::DataType::kBf16, kM * kK}, inputs::Distribution::kUniform);
  const auto b = *inputs::MakeBuffer("s", {"b", inputs::DataType::kBf16, kN * kK}, inputs::Distribution::kNormal);
  const auto d = *gemm::Emulate(*gemm::ParseGemmDesc(text), 90, {kM, kN, kK, a, b}, 1);
  const std::string expected(d.begin(), d.end());
  std::map<int64_t, std::string> kept;
  const auto response = EmulateGemm(request, 2, Keep(&kept));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->d(), expected);
  const auto digest = Sha256(expected);
  EXPECT_EQ(response->sha256(), std::string(digest.begin(), digest.end()));
  request.mutable_a()->set_packed(std::string(a.begin(), a.end()));
  request.set_digests_only(true);
  const auto digests = EmulateGemm(request, 1, Keep(&kept));
  ASSERT_TRUE(digests.ok()) << digests.status();
  EXPECT_EQ(digests->d(), "");
  EXPECT_EQ(digests->sha256(), response->sha256());
}

TEST(GemmWorkTest, EmulationGoesOnAfterAnyBlock) {
  // blocks of 96 rows
  const v1::EmulateGemmOnWorkerRequest request = Emulation(200, 512, 4096, "gemm/1 types=f16,f16,f32,f32 instruction=wgmma:16");
  std::map<int64_t, std::string> all, rest;
  const auto whole = EmulateGemm(request, 2, Keep(&all));
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(whole->outputs(), 200 * 512);
  const auto again = EmulateGemm(request, 2, Keep(&rest, {{0, all[0]}, {2, all[2]}}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(rest, (std::map<int64_t, std::string>{{1, all[1]}, {2, all[2]}}));  // a gap ends what is taken over
  EXPECT_EQ(again->SerializeAsString(), whole->SerializeAsString());
  EXPECT_EQ(EmulateGemm(request, 1, Keep(&rest, {{0, "x"}})).status().code(), absl::StatusCode::kDataLoss);
}

TEST(GemmWorkTest, EmulationSaysWhatIsWrong) {
  std::map<int64_t, std::string> kept;
  v1::EmulateGemmOnWorkerRequest request = Emulation(2, 2, 16, "gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16");
  request.mutable_a()->set_packed("x");
  EXPECT_THAT(EmulateGemm(request, 1, Keep(&kept)).status().message(), HasSubstr("a: 1 bytes, 64"));
  request.mutable_a()->mutable_generated()->set_distribution("none");
  EXPECT_THAT(EmulateGemm(request, 1, Keep(&kept)).status().message(), HasSubstr("distribution"));
  request.mutable_a()->mutable_generated()->clear_distribution();
  request.set_architecture(70);
  EXPECT_EQ(EmulateGemm(request, 1, Keep(&kept)).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace samebits::workers
