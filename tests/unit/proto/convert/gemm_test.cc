#include "proto/convert/gemm.h"

#include <random>

#include "core/gemm/simulated_library.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::proto {
namespace {

TEST(GemmConvertTest, EveryRecordComesBackEqual) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    gemm::GemmDesc desc = gemm::DrawHidden(random, false).desc;
    if (seed % 2 == 0) desc.epilogue = {gemm::AlphaStep::kMultiply, gemm::BetaStep::kMultiplyAdd, gemm::BiasStep::kAdd,
                                        gemm::Activation::kRelu};
    v1::GemmDesc message;
    GemmDescToProto(desc, &message);
    v1::GemmDesc copy;
    ASSERT_TRUE(copy.ParseFromString(message.SerializeAsString()));
    const auto back = GemmDescFromProto(copy);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, desc) << gemm::ToText(desc);
  }
}

TEST(GemmConvertTest, UnknownEnumsAndInvalidRecordsAreErrors) {
  EXPECT_EQ(GemmDescFromProto({}).status().message(), "a_type: unspecified or unknown");
  v1::GemmDesc message;
  GemmDescToProto({}, &message);
  ASSERT_TRUE(GemmDescFromProto(message).ok());
  message.set_family(static_cast<v1::GemmDesc::Family>(77));
  EXPECT_EQ(GemmDescFromProto(message).status().message(), "family: unspecified or unknown");
  message.set_family(v1::GemmDesc::SPLIT_K);
  EXPECT_EQ(GemmDescFromProto(message).status().message(), "family: only plain has no cuts");
  message.add_k_cuts()->set_span(16);
  EXPECT_EQ(GemmDescFromProto(message).status().message(), "k_cuts.layout: unspecified or unknown");
}

}  // namespace
}  // namespace samebits::proto
