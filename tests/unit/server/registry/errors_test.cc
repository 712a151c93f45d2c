#include "server/registry/errors.h"

#include <string>

#include <gtest/gtest.h>

namespace samebits::server {
namespace {

TEST(ErrorsTest, DetailsSurviveTheRoundTrip) {
  const absl::Status status = WithDetail(absl::InvalidArgumentError("m"), "PTX_SYNTAX",
                                         {{"line", "3"}, {"fragment", "a\nb = \"c\""}, {"empty", ""}});
  EXPECT_EQ(status.message(), "m");
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "PTX_SYNTAX");
  EXPECT_EQ(detail->metadata,
            (std::map<std::string, std::string>{{"line", "3"}, {"fragment", "a\nb = \"c\""}, {"empty", ""}}));
}

TEST(ErrorsTest, ValuesCannotForgeEntries) {
  const absl::Status status = WithDetail(absl::InvalidArgumentError("m"), "PTX_SYNTAX",
                                         {{"fragment", std::string("x\0limit\0y", 9)}});
  EXPECT_EQ(GetErrorDetail(status)->metadata, (std::map<std::string, std::string>{{"fragment", "xlimity"}}));
}

TEST(ErrorsTest, MetadataIsAddedToADetailOnly) {
  const absl::Status status = WithMetadata(LimitExceeded("max_text_bytes", 10, 11), "side", "b");
  EXPECT_EQ(GetErrorDetail(status)->metadata.at("side"), "b");
  EXPECT_EQ(GetErrorDetail(status)->metadata.at("limit"), "max_text_bytes");
  EXPECT_EQ(GetErrorDetail(WithMetadata(absl::InternalError("x"), "side", "b")), std::nullopt);
}

TEST(ErrorsTest, StoreErrorsKeepTheirCode) {
  EXPECT_EQ(GetErrorDetail(FromStore(absl::NotFoundError("x"), "kernels/1"))->reason, "KERNEL_NOT_FOUND");
  EXPECT_EQ(GetErrorDetail(FromStore(absl::NotFoundError("x"), "kernels/1"))->metadata.at("name"), "kernels/1");
  const absl::Status damaged = FromStore(absl::DataLossError("x"), "kernels/1");
  EXPECT_TRUE(absl::IsDataLoss(damaged));
  EXPECT_EQ(GetErrorDetail(damaged)->reason, "STORAGE");
}

}  // namespace
}  // namespace samebits::server
