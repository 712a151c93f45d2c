// What every KernelStore does.

#include "storage/kernel_store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/sha256.h"
#include "storage/memory/memory_kernel_store.h"
#include "storage/sqlite/sqlite_kernel_store.h"

namespace samebits::storage {
namespace {

struct Implementation {
  const char* name;
  std::function<std::unique_ptr<KernelStore>(const std::filesystem::path& folder)> make;
};

std::filesystem::path MakeTemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "samebits_store_XXXXXX").string();
  return mkdtemp(pattern.data());
}

class KernelStoreTest : public testing::TestWithParam<Implementation> {
 protected:
  KernelStoreTest() : folder_(MakeTemporaryFolder()), store_(GetParam().make(folder_)) {}
  ~KernelStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static KernelRecord Record(std::string_view text) {
    KernelRecord record;
    record.digest = Sha256(text);
    record.create_time = absl::FromUnixMicros(1'700'000'000'123'456);
    record.size_bytes = text.size();
    record.description = R"({"isa":"ptx"})";
    return record;
  }
  Digest Put(std::string_view text) {
    const KernelRecord record = Record(text);
    EXPECT_TRUE(store_->PutKernel(record, text).ok());
    return record.digest;
  }
  static SignatureRecord Signature(const Digest& kernel, std::string_view launch, int version) {
    return {{kernel, Sha256(launch), version}, "00112233445566778899aabbccddeeff", R"({"status":1})"};
  }

  std::filesystem::path folder_;
  std::unique_ptr<KernelStore> store_;
};

TEST_P(KernelStoreTest, ReturnsWhatWasPut) {
  const std::string text("any bytes \0\xff\x80 here", 18);
  const auto put = store_->PutKernel(Record(text), text);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_TRUE(put->created);
  const auto kernel = store_->GetKernel(Sha256(text));
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->digest, Sha256(text));
  EXPECT_EQ(kernel->create_time, Record(text).create_time);
  EXPECT_EQ(kernel->size_bytes, text.size());
  EXPECT_EQ(kernel->description, Record(text).description);
  const auto stored = store_->GetText(Sha256(text));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(*stored, text);
}

TEST_P(KernelStoreTest, KeepsTheFirstOfTwoPuts) {
  Put("a");
  KernelRecord again = Record("a");
  again.create_time += absl::Hours(1);
  again.description = "other";
  const auto put = store_->PutKernel(again, "a");
  ASSERT_TRUE(put.ok());
  EXPECT_FALSE(put->created);
  EXPECT_EQ(put->kernel.create_time, Record("a").create_time);
  EXPECT_EQ(put->kernel.description, Record("a").description);
  EXPECT_EQ(store_->Sizes()->kernels, 1);
}

TEST_P(KernelStoreTest, CutsTimesToMicroseconds) {
  KernelRecord record = Record("a");
  record.create_time += absl::Nanoseconds(789);
  const auto put = store_->PutKernel(record, "a");
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(put->kernel.create_time, Record("a").create_time);
  EXPECT_EQ(store_->GetKernel(record.digest)->create_time, Record("a").create_time);
}

TEST_P(KernelStoreTest, StoresAnEmptyText) {
  const Digest digest = Put("");
  const auto text = store_->GetText(digest);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "");
}

TEST_P(KernelStoreTest, StoresATextOf16MiB) {
  std::string text(16 << 20, 'x');
  text[12345678] = '\0';
  const Digest digest = Put(text);
  const auto stored = store_->GetText(digest);
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(*stored == text);
}

TEST_P(KernelStoreTest, ReportsAMissingKernel) {
  const Digest digest = Sha256("never stored");
  EXPECT_TRUE(absl::IsNotFound(store_->GetKernel(digest).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetText(digest).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteKernel(digest)));
}

TEST_P(KernelStoreTest, ListsInPagesByDigest) {
  std::set<Digest> expected;
  for (int i = 0; i < 25; ++i) expected.insert(Put("kernel " + std::to_string(i)));
  std::vector<Digest> listed;
  std::optional<Digest> after;
  int pages = 0;
  while (true) {
    const auto page = store_->ListKernels(after, 10);
    ASSERT_TRUE(page.ok());
    ++pages;
    for (const KernelRecord& kernel : page->kernels) listed.push_back(kernel.digest);
    if (!page->more) break;
    ASSERT_EQ(page->kernels.size(), 10);
    after = listed.back();
  }
  EXPECT_EQ(pages, 3);
  EXPECT_THAT(listed, testing::ElementsAreArray(expected));
}

TEST_P(KernelStoreTest, SaysNoMoreWhereThePageEndsWithTheLastKernel) {
  for (int i = 0; i < 4; ++i) Put("kernel " + std::to_string(i));
  const auto page = store_->ListKernels(std::nullopt, 4);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->kernels.size(), 4);
  EXPECT_FALSE(page->more);
  EXPECT_TRUE(store_->ListKernels(std::nullopt, 3)->more);
}

TEST_P(KernelStoreTest, ListsNothingWhenEmpty) {
  const auto page = store_->ListKernels(std::nullopt, 10);
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->kernels.empty());
  EXPECT_FALSE(page->more);
}

TEST_P(KernelStoreTest, ListsAfterADeletedKernel) {
  std::set<Digest> digests;
  for (int i = 0; i < 5; ++i) digests.insert(Put("kernel " + std::to_string(i)));
  const Digest second = *std::next(digests.begin());
  ASSERT_TRUE(store_->DeleteKernel(second).ok());
  const auto page = store_->ListKernels(second, 10);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->kernels.size(), 3);
}

TEST_P(KernelStoreTest, DeletesTextAndSignaturesToo) {
  const Digest digest = Put("a");
  const SignatureRecord signature = Signature(digest, "launch", 1);
  ASSERT_TRUE(store_->PutSignatures({signature}).ok());
  ASSERT_TRUE(store_->DeleteKernel(digest).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->GetText(digest).status()));
  EXPECT_EQ(store_->Sizes()->signatures, 0);
  EXPECT_EQ(store_->Sizes()->text_bytes, 0);
  Put("a");
  const auto found = store_->GetSignature(signature.key);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST_P(KernelStoreTest, FindsSignaturesByKernelLaunchAndVersion) {
  const Digest a = Put("a"), b = Put("b");
  SignatureRecord first = Signature(a, "launch", 1);
  first.digest.clear();
  ASSERT_TRUE(store_->PutSignatures({first, Signature(b, "launch", 2)}).ok());
  const auto found = store_->GetSignature(first.key);
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->key, first.key);
  EXPECT_EQ((*found)->digest, "");
  EXPECT_EQ((*found)->body, first.body);
  EXPECT_EQ((*store_->GetSignature(Signature(b, "launch", 2).key))->digest, Signature(b, "launch", 2).digest);
  EXPECT_FALSE(store_->GetSignature(Signature(a, "launch", 2).key)->has_value());
  EXPECT_FALSE(store_->GetSignature(Signature(a, "other", 1).key)->has_value());
  EXPECT_FALSE(store_->GetSignature(Signature(b, "launch", 1).key)->has_value());
}

TEST_P(KernelStoreTest, ReplacesASignature) {
  const Digest a = Put("a");
  SignatureRecord signature = Signature(a, "launch", 1);
  ASSERT_TRUE(store_->PutSignatures({signature}).ok());
  signature.body = "new";
  signature.digest.clear();
  ASSERT_TRUE(store_->PutSignatures({signature}).ok());
  EXPECT_EQ((*store_->GetSignature(signature.key))->body, "new");
  EXPECT_EQ((*store_->GetSignature(signature.key))->digest, "");
  EXPECT_EQ(store_->Sizes()->signatures, 1);
}

TEST_P(KernelStoreTest, SkipsSignaturesOfMissingKernels) {
  const Digest a = Put("a");
  const Digest missing = Sha256("missing");
  ASSERT_TRUE(store_->PutSignatures({Signature(missing, "launch", 1), Signature(a, "launch", 1)}).ok());
  EXPECT_FALSE(store_->GetSignature(Signature(missing, "launch", 1).key)->has_value());
  EXPECT_TRUE(store_->GetSignature(Signature(a, "launch", 1).key)->has_value());
  EXPECT_EQ(store_->Sizes()->signatures, 1);
}

TEST_P(KernelStoreTest, PrunesOlderVersionsOnly) {
  const Digest a = Put("a");
  for (int version = 1; version <= 4; ++version)
    ASSERT_TRUE(store_->PutSignatures({Signature(a, "launch", version)}).ok());
  ASSERT_TRUE(store_->PruneSignatures(3).ok());
  for (int version = 1; version <= 4; ++version)
    EXPECT_EQ(store_->GetSignature(Signature(a, "launch", version).key)->has_value(), version >= 3) << version;
  EXPECT_EQ(store_->Sizes()->signatures, 2);
}

TEST_P(KernelStoreTest, CountsWhatItHolds) {
  EXPECT_EQ(store_->Sizes()->kernels, 0);
  Put("12345");
  Put("123");
  const auto sizes = store_->Sizes();
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->kernels, 2);
  EXPECT_EQ(sizes->text_bytes, 8);
  EXPECT_EQ(sizes->signatures, 0);
}

TEST_P(KernelStoreTest, ServesManyThreads) {
  constexpr int kThreads = 6, kKernels = 20;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kKernels; ++i) {
        // Two threads put each text.
        const Digest digest = Put("kernel " + std::to_string(i * kThreads + t / 2));
        EXPECT_TRUE(store_->PutSignatures({Signature(digest, std::to_string(t), 1)}).ok());
        EXPECT_TRUE(store_->GetText(digest).ok());
        EXPECT_TRUE(store_->ListKernels(std::nullopt, 5).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Sizes()->kernels, kThreads / 2 * kKernels);
  EXPECT_EQ(store_->Sizes()->signatures, kThreads * kKernels);
}

std::unique_ptr<KernelStore> MakeSqlite(const std::filesystem::path& folder) {
  SqliteOptions options;
  options.path = (folder / "store.db").string();
  auto store = OpenSqliteKernelStore(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelStoreTest,
    testing::Values(Implementation{"memory",
                                   [](const std::filesystem::path&) -> std::unique_ptr<KernelStore> {
                                     return std::make_unique<MemoryKernelStore>();
                                   }},
                    Implementation{"sqlite", MakeSqlite}),
    [](const testing::TestParamInfo<Implementation>& info) { return info.param.name; });

}  // namespace
}  // namespace samebits::storage
