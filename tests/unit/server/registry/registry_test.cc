#include "server/registry/registry.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/registry/registry_fixture.h"

namespace samebits::server {
namespace {

using checker::Verdict;

absl::StatusOr<KernelList> List(Registry& registry, int page_size, const std::string& token) {
  Reply<KernelList> reply;
  registry.ListKernels(page_size, token, reply.done());
  return reply.Get();
}

TEST_F(RegistryTest, RegistersOnce) {
  Reply<Kernel> first, second;
  registry().Register("a", first.done());
  ASSERT_TRUE(first.Get().ok());
  EXPECT_EQ(first.Get()->record.digest, ContentDigest("a"));
  EXPECT_EQ(first.Get()->record.size_bytes, 1);
  ASSERT_EQ(first.Get()->info.entries.size(), 1);
  EXPECT_EQ(first.Get()->info.entries[0].parameters[1].type, "f32");
  registry().Register("a", second.done());
  ASSERT_TRUE(second.Get().ok());
  EXPECT_EQ(second.Get()->record.create_time, first.Get()->record.create_time);
  EXPECT_EQ(store_->Sizes()->kernels, 1);
}

TEST_F(RegistryTest, DoesNotRegisterWhatDoesNotParse) {
  Reply<Kernel> reply;
  registry().Register("invalid", reply.done());
  EXPECT_EQ(ReasonOf(reply.Get().status()), "PTX_SYNTAX");
  EXPECT_EQ(MetadataOf(reply.Get().status(), "column"), "5");
  EXPECT_EQ(store_->Sizes()->kernels, 0);
}

TEST_F(RegistryTest, GetsWithAndWithoutText) {
  const std::string name = Register("a");
  Reply<Kernel> basic, full, missing, malformed;
  registry().GetKernel(name, false, basic.done());
  registry().GetKernel(name, true, full.done());
  registry().GetKernel(KernelName(ContentDigest("b")), true, missing.done());
  registry().GetKernel("kernels/x", true, malformed.done());
  ASSERT_TRUE(basic.Get().ok() && full.Get().ok());
  EXPECT_EQ(basic.Get()->text, "");
  EXPECT_EQ(full.Get()->text, "a");
  EXPECT_EQ(ReasonOf(missing.Get().status()), "KERNEL_NOT_FOUND");
  EXPECT_EQ(ReasonOf(malformed.Get().status()), "INVALID_FIELD");
  EXPECT_EQ(MetadataOf(malformed.Get().status(), "field"), "name");
}

TEST_F(RegistryTest, ListsInPages) {
  std::set<std::string> expected, listed;
  for (int i = 0; i < 7; ++i) expected.insert(Register("kernel" + std::to_string(i)));
  std::string token;
  for (int page = 0; page < 3; ++page) {
    const auto list = List(registry(), 3, token);
    ASSERT_TRUE(list.ok());
    EXPECT_EQ(list->kernels.size(), page < 2 ? 3 : 1);
    for (const Kernel& kernel : list->kernels) listed.insert(KernelName(kernel.record.digest));
    token = list->next_page_token;
    EXPECT_EQ(token.empty(), page == 2);
  }
  EXPECT_EQ(listed, expected);
  EXPECT_EQ(List(registry(), 0, "")->kernels.size(), 7);
  EXPECT_EQ(MetadataOf(List(registry(), -1, "").status(), "field"), "page_size");
  EXPECT_EQ(MetadataOf(List(registry(), 3, "x").status(), "field"), "page_token");
}

TEST_F(RegistryTest, DeletesOnce) {
  const std::string name = Register("a");
  EXPECT_TRUE(Delete(name).ok());
  EXPECT_EQ(ReasonOf(Delete(name)), "KERNEL_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Delete("x")), "INVALID_FIELD");
}

TEST_F(RegistryTest, ComparesTextsAndNames) {
  const std::string name = Register("a 1");
  EXPECT_EQ(Compare(Named(name), Inline("a 2"))->comparison.verdict, Verdict::kEquivalent);
  EXPECT_EQ(Compare(Inline("a 2"), Inline("b"))->comparison.verdict, Verdict::kDistinct);
  EXPECT_EQ(Compare(Inline("a"), Inline("nondeterministic"))->comparison.verdict, Verdict::kNondeterministic);
  const auto unknown = Compare(Inline("unknown"), Inline("a"));
  EXPECT_EQ(unknown->comparison.verdict, Verdict::kUnknown);
  EXPECT_EQ(unknown->comparison.reason, "unknown side");
  EXPECT_EQ(unknown->a.signature->place.line, 7);
}

TEST_F(RegistryTest, NamesTheSideOfAnError) {
  EXPECT_EQ(MetadataOf(Compare(Inline("invalid"), Inline("a")).status(), "side"), "a");
  const auto second = Compare(Inline("a"), Inline("b invalid"));
  EXPECT_EQ(MetadataOf(second.status(), "side"), "b");
  EXPECT_EQ(MetadataOf(second.status(), "line"), "2");
  EXPECT_EQ(MetadataOf(Compare(Inline("a"), Named("x")).status(), "side"), "b");
  EXPECT_EQ(MetadataOf(Compare(Inline("a"), Named(KernelName(ContentDigest("x")))).status(), "side"), "b");
}

TEST_F(RegistryTest, AnErrorOfOneSideStopsTheOther) {
  config_.check_threads = 2;
  const auto answer = Compare(Inline("a wait"), Inline("invalid"));
  EXPECT_EQ(MetadataOf(answer.status(), "side"), "b");
  Settle();  // hangs if side a goes on
  EXPECT_LE(checker_->cancelled, 1);
}

TEST_F(RegistryTest, ComparesALaunchWithItselfInOneRun) {
  EXPECT_EQ(Compare(Inline("a"), Inline("a"))->comparison.verdict, Verdict::kEquivalent);
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(RegistryTest, TriesMemoryFirst) {
  const std::string a = Register("a"), b = Register("b");
  const auto none = registry().TryCompare(Named(a), Named(b), {});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  ASSERT_TRUE(Compare(Named(a), Named(b)).ok());
  const auto known = registry().TryCompare(Named(a), Named(b), {});
  ASSERT_TRUE(known.ok() && known->has_value());
  EXPECT_EQ((*known)->comparison.verdict, Verdict::kDistinct);
  EXPECT_TRUE((*known)->a.cached && (*known)->b.cached);
  ASSERT_TRUE(Delete(b).ok());
  EXPECT_FALSE(registry().TryCompare(Named(a), Named(b), {})->has_value());
}

TEST_F(RegistryTest, CancelsAComparison) {
  Reply<ComparisonAnswer> reply;
  const CallHandle call = registry().Compare(Inline("a wait"), Inline("b wait"), {}, reply.done());
  ASSERT_TRUE(checker_->AwaitRuns(1));
  call->Cancel();
  ASSERT_TRUE(reply.arrived());
  EXPECT_TRUE(absl::IsCancelled(reply.Get().status()));
  Settle();
}

TEST_F(RegistryTest, Explains) {
  const std::string name = Register("b");
  Reply<ComparisonAnswer> reply;
  registry().Explain(Inline("a"), Named(name), {}, reply.done());
  ASSERT_TRUE(reply.Get().ok()) << reply.Get().status();
  EXPECT_EQ(reply.Get()->comparison.verdict, Verdict::kDistinct);
  ASSERT_TRUE(reply.Get()->comparison.difference.has_value());
  EXPECT_EQ(reply.Get()->comparison.difference->summary, "the sums part");
  const int runs = checker_->runs;
  EXPECT_TRUE(Signature(Inline("a"))->cached);  // what it computed is kept
  EXPECT_TRUE(Signature(Named(name))->cached);
  EXPECT_EQ(checker_->runs, runs);
}

TEST_F(RegistryTest, ExplainReportsErrors) {
  Reply<ComparisonAnswer> missing, invalid, malformed;
  registry().Explain(Inline("a"), Named(KernelName(ContentDigest("x"))), {}, missing.done());
  EXPECT_EQ(ReasonOf(missing.Get().status()), "KERNEL_NOT_FOUND");
  EXPECT_EQ(MetadataOf(missing.Get().status(), "side"), "b");
  registry().Explain(Inline("a"), Inline("invalid"), {}, invalid.done());
  EXPECT_EQ(ReasonOf(invalid.Get().status()), "PTX_SYNTAX");
  registry().Explain(Named("x"), Inline("a"), {}, malformed.done());
  EXPECT_EQ(MetadataOf(malformed.Get().status(), "side"), "a");
}

TEST_F(RegistryTest, CancelsAnExplanation) {
  Reply<ComparisonAnswer> reply;
  const CallHandle call = registry().Explain(Inline("a wait"), Inline("b wait"), {}, reply.done());
  ASSERT_TRUE(checker_->AwaitRuns(1));
  call->Cancel();
  EXPECT_TRUE(absl::IsCancelled(reply.Get().status()));
  Settle();
  EXPECT_EQ(registry().ReadLevels().cached_signatures, 0);
}

TEST_F(RegistryTest, BoundsTheStoreQueue) {
  config_.limits.max_queued_store_calls = 0;
  Reply<Kernel> reply;
  registry().GetKernel(KernelName(ContentDigest("a")), false, reply.done());
  EXPECT_EQ(MetadataOf(reply.Get().status(), "limit"), "max_queued_store_calls");
}

}  // namespace
}  // namespace samebits::server
