#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::HasSubstr;

TEST_F(ServiceTest, RegistersAndReturnsAKernel) {
  const auto kernel = client().RegisterKernel("a text");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->name(), server::KernelName(server::ContentDigest("a text")));
  EXPECT_EQ(kernel->size_bytes(), 6);
  EXPECT_EQ(kernel->isa(), "ptx");
  EXPECT_EQ(kernel->target(), "sm_80");
  ASSERT_EQ(kernel->entries_size(), 1);
  EXPECT_EQ(kernel->entries(0).name(), "k");
  EXPECT_TRUE(kernel->entries(0).parameters(0).is_pointer());
  EXPECT_EQ(kernel->entries(0).parameters(2).type(), "f64");
  EXPECT_GT(kernel->create_time().seconds(), 1'600'000'000);
  EXPECT_EQ(kernel->text(), "");
  const auto again = client().RegisterKernel("a text");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->SerializeAsString(), kernel->SerializeAsString());
  EXPECT_EQ(client().GetKernel(kernel->name(), false)->SerializeAsString(), kernel->SerializeAsString());
}

TEST_F(ServiceTest, ReturnsTextsOfAnyBytes) {
  std::string text("bytes \0\xff\xfe\x80", 10);
  const std::string name = Register(text);
  const auto kernel = client().GetKernel(name, true);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->text(), text);
}

TEST_F(ServiceTest, Takes16MiBButNotMore) {
  std::string text = "large " + std::string((16 << 20) - 6, ' ');
  const std::string name = Register(text);
  const auto kernel = client().GetKernel(name, true);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_TRUE(kernel->text() == text);
  EXPECT_TRUE(client().Compare(CompareTexts(text, text)).ok());
  text.push_back(' ');
  const auto larger = client().RegisterKernel(text);
  EXPECT_TRUE(absl::IsResourceExhausted(larger.status())) << larger.status();
  EXPECT_EQ(ReasonOf(larger.status()), "LIMIT_EXCEEDED");
  EXPECT_EQ(MetadataOf(larger.status(), "limit"), "max_text_bytes");
  EXPECT_EQ(MetadataOf(larger.status(), "maximum"), "16777216");
}

TEST_F(ServiceTest, RefusesMessagesOverTheLimit) {
  config_.limits.max_message_bytes = 100'000;
  const auto large = client().RegisterKernel(std::string(100'001, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(large.status())) << large.status();
  EXPECT_TRUE(client().RegisterKernel("small").ok());
}

TEST_F(ServiceTest, ReportsWhereATextDoesNotParse) {
  const auto kernel = client().RegisterKernel("invalid");
  EXPECT_TRUE(absl::IsInvalidArgument(kernel.status()));
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("2:5"));
  EXPECT_EQ(ReasonOf(kernel.status()), "PTX_SYNTAX");
  EXPECT_EQ(MetadataOf(kernel.status(), "line"), "2");
  EXPECT_EQ(MetadataOf(kernel.status(), "column"), "5");
  EXPECT_EQ(MetadataOf(kernel.status(), "fragment"), "invalid");
  EXPECT_NE(MetadataOf(kernel.status(), "request_id"), "");
  EXPECT_EQ(client::GetErrorInfo(kernel.status())->domain, "samebits");
}

TEST_F(ServiceTest, ListsInPages) {
  std::set<std::string> expected, listed;
  for (int i = 0; i < 23; ++i) expected.insert(Register("kernel" + std::to_string(i)));
  std::string token, last;
  int pages = 0;
  do {
    const auto page = client().ListKernels(10, token);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const v1::Kernel& kernel : page->kernels()) {
      EXPECT_LT(last, kernel.name());
      EXPECT_EQ(kernel.entries_size(), 1);
      last = kernel.name();
      listed.insert(last);
    }
    token = page->next_page_token();
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(MetadataOf(client().ListKernels(-1, "").status(), "field"), "page_size");
  EXPECT_EQ(MetadataOf(client().ListKernels(1, "?").status(), "field"), "page_token");
}

TEST_F(ServiceTest, Deletes) {
  const std::string name = Register("a");
  ASSERT_TRUE(client().Compare(CompareNames(name, name)).ok());
  ASSERT_TRUE(client().Compare(CompareNames(name, name))->a().cached());
  ASSERT_TRUE(client().DeleteKernel(name).ok());
  const auto comparison = client().Compare(CompareNames(name, name));
  EXPECT_TRUE(absl::IsNotFound(comparison.status()));
  EXPECT_EQ(ReasonOf(comparison.status()), "KERNEL_NOT_FOUND");
  EXPECT_EQ(MetadataOf(comparison.status(), "name"), name);
  EXPECT_TRUE(absl::IsNotFound(client().GetKernel(name, false).status()));
  EXPECT_TRUE(absl::IsNotFound(client().DeleteKernel(name)));
  EXPECT_EQ(client().ListKernels(0, "")->kernels_size(), 0);
}

TEST_F(ServiceTest, RefusesMalformedNames) {
  EXPECT_EQ(MetadataOf(client().GetKernel("kernels/abc", false).status(), "field"), "name");
  EXPECT_EQ(MetadataOf(client().DeleteKernel(""), "field"), "name");
}

TEST_F(ServiceTest, RegistersFromManyClients) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, client = Connect({})] {
      for (int i = 0; i < 25; ++i)
        EXPECT_TRUE(client->RegisterKernel("kernel" + std::to_string(i + t / 2 * 1000)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client().ListKernels(1000, "")->kernels_size(), 50);
}

}  // namespace
}  // namespace samebits
