// Signatures through the registry: cache, coalescing, cancellation, store, limits.

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "server/registry/codec.h"
#include "tests/unit/server/registry/registry_fixture.h"

namespace samebits::server {
namespace {

class SignaturesTest : public RegistryTest {
 protected:
  CallHandle Start(const KernelLaunch& launch, Reply<SignatureAnswer>& reply) {
    return registry().ComputeSignature(launch, {}, TaskPool::Admission::kQueue, reply.done());
  }
};

TEST_F(SignaturesTest, ComputesOnceAndAnswersFromMemory) {
  const auto first = Signature(Inline("a"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->cached);
  EXPECT_EQ(first->signature->status, checker::SignatureStatus::kOk);
  const auto second = Signature(Inline("a"));
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(second->signature, first->signature);
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, KeepsTextsLaunchesAndOptionsApart) {
  KernelLaunch other = Inline("a");
  other.launch.block = {64, 1, 1};
  Signature(Inline("a")).IgnoreError();
  Signature(Inline("b")).IgnoreError();
  Signature(other).IgnoreError();
  CheckOptions options;
  options.ignore_signed_zero = true;
  const auto zero = Signature(Inline("a"), options);
  EXPECT_EQ(checker_->runs, 4);
  EXPECT_NE(zero->signature->digest, Signature(Inline("a"))->signature->digest);
}

TEST_F(SignaturesTest, AnswersFromMemoryEvenIfTheChecksAreBusy) {
  config_.check_threads = 1;
  ASSERT_TRUE(Signature(Inline("a")).ok());
  Reply<SignatureAnswer> busy;
  Start(Inline("w wait"), busy);
  ASSERT_TRUE(checker_->AwaitRuns(2));
  Reply<SignatureAnswer> known;
  Start(Inline("a"), known);
  EXPECT_TRUE(known.arrived());
  EXPECT_FALSE(busy.arrived());
}

TEST_F(SignaturesTest, SharesOneComputationBetweenEqualRequests) {
  std::vector<Reply<SignatureAnswer>> replies(20);
  for (auto& reply : replies) Start(Inline("a wait"), reply);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  checker_->Release();
  for (auto& reply : replies) EXPECT_TRUE(reply.Get().ok());
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, CancellingOneOfTwoLeavesTheOther) {
  Reply<SignatureAnswer> first, second;
  const CallHandle call = Start(Inline("a wait"), first);
  Start(Inline("a wait"), second);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  call->Cancel();
  ASSERT_TRUE(first.arrived());
  EXPECT_TRUE(absl::IsCancelled(first.Get().status()));
  EXPECT_EQ(ReasonOf(first.Get().status()), "ABANDONED");
  EXPECT_FALSE(second.arrived());
  checker_->Release();
  EXPECT_TRUE(second.Get().ok());
  EXPECT_EQ(checker_->cancelled, 0);
}

TEST_F(SignaturesTest, CancellingTheLastStopsTheCheckerAndKeepsNothing) {
  Reply<SignatureAnswer> first, second;
  const CallHandle call = Start(Inline("a wait"), first), other = Start(Inline("a wait"), second);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  call->Cancel();
  other->Cancel();
  other->Cancel();  // harmless
  Settle();  // hangs if the checker was not told
  EXPECT_EQ(checker_->cancelled, 1);
  EXPECT_TRUE(absl::IsCancelled(second.Get().status()));
  checker_->Release();
  const auto again = Signature(Inline("a wait"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->cached);
  EXPECT_EQ(again->signature->status, checker::SignatureStatus::kOk);
}

TEST_F(SignaturesTest, ARequestAfterACancellationStartsAnew) {
  config_.check_threads = 2;
  Reply<SignatureAnswer> first, second;
  const CallHandle call = Start(Inline("a wait"), first);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  call->Cancel();
  Start(Inline("a wait"), second);
  ASSERT_TRUE(checker_->AwaitRuns(2));
  checker_->Release();
  ASSERT_TRUE(second.Get().ok());
  EXPECT_EQ(second.Get()->signature->status, checker::SignatureStatus::kOk);
}

TEST_F(SignaturesTest, DoesNotRunWhatWasCancelledInTheQueue) {
  config_.check_threads = 1;
  Reply<SignatureAnswer> busy, waiting;
  Start(Inline("w wait"), busy);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  Start(Inline("a"), waiting)->Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting.Get().status()));
  checker_->Release();
  ASSERT_TRUE(busy.Get().ok());
  Settle();
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, RefusesWhatDoesNotFitTheQueue) {
  config_.check_threads = 1;
  config_.limits.max_queued_checks = 2;
  Reply<SignatureAnswer> busy, one, two, three, same;
  Start(Inline("w wait"), busy);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  Start(Inline("a"), one);
  Start(Inline("b"), two);
  Start(Inline("c"), three);
  ASSERT_TRUE(three.arrived());
  EXPECT_TRUE(absl::IsResourceExhausted(three.Get().status()));
  EXPECT_EQ(ReasonOf(three.Get().status()), "QUEUE_FULL");
  EXPECT_EQ(MetadataOf(three.Get().status(), "limit"), "max_queued_checks");
  Start(Inline("a"), same);  // joins the first: takes no place
  checker_->Release();
  EXPECT_TRUE(one.Get().ok());
  EXPECT_TRUE(two.Get().ok());
  EXPECT_TRUE(same.Get().ok());
  EXPECT_TRUE(Signature(Inline("c")).ok());  // a refusal leaves nothing behind
}

TEST_F(SignaturesTest, BoundsTheTextsHeld) {
  config_.limits.max_pending_text_bytes = 10;
  Reply<SignatureAnswer> busy, large;
  Start(Inline("w wait"), busy);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  Start(Inline("12345"), large);
  ASSERT_TRUE(large.arrived());
  EXPECT_EQ(ReasonOf(large.Get().status()), "QUEUE_FULL");
  EXPECT_EQ(MetadataOf(large.Get().status(), "limit"), "max_pending_text_bytes");
  checker_->Release();
  ASSERT_TRUE(busy.Get().ok());
  Settle();
  EXPECT_TRUE(Signature(Inline("12345")).ok());
  Settle();
  EXPECT_EQ(registry().ReadLevels().pending_text_bytes, 0);
}

TEST_F(SignaturesTest, RefusesLargeAndEmptyTexts) {
  config_.limits.max_text_bytes = 100;
  const auto large = Signature(Inline(std::string(101, 'x')));
  EXPECT_TRUE(absl::IsResourceExhausted(large.status()));
  EXPECT_EQ(MetadataOf(large.status(), "limit"), "max_text_bytes");
  EXPECT_EQ(MetadataOf(large.status(), "value"), "101");
  EXPECT_EQ(ReasonOf(Signature(Inline("")).status()), "INVALID_FIELD");
  EXPECT_TRUE(Signature(Inline(std::string(100, 'x'))).ok());
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, PassesErrorsOfTheCheckerOnAndDoesNotKeepThem) {
  for (int i = 1; i <= 2; ++i) {
    const auto answer = Signature(Inline("invalid"));
    EXPECT_TRUE(absl::IsInvalidArgument(answer.status()));
    EXPECT_EQ(MetadataOf(answer.status(), "line"), "2");
    EXPECT_EQ(checker_->runs, i);
  }
}

TEST_F(SignaturesTest, KeepsUnknownInMemoryButNotInTheStore) {
  const std::string name = Register("a unknown");
  EXPECT_FALSE(Signature(Named(name))->cached);
  EXPECT_TRUE(Signature(Named(name))->cached);
  Settle();
  EXPECT_EQ(store_->Sizes()->signatures, 0);
}

TEST_F(SignaturesTest, DoesNotKeepUnknownThatMayBeForLackOfTime) {
  config_.limits.check.max_time = absl::Milliseconds(10);
  EXPECT_FALSE(Signature(Inline("a unknown sleep"))->cached);
  EXPECT_FALSE(Signature(Inline("a unknown sleep"))->cached);
  EXPECT_FALSE(Signature(Inline("b sleep"))->cached);
  EXPECT_TRUE(Signature(Inline("b sleep"))->cached);  // decided: time did not matter
}

TEST_F(SignaturesTest, StoresWhatRegisteredKernelsGive) {
  const std::string name = Register("a");
  const auto answer = Signature(Named(name));
  ASSERT_TRUE(answer.ok());
  Settle();
  const storage::SignatureKey key{ContentDigest("a"), LaunchDigest(checker::Launch(), {}, {}), 1};
  const auto stored = store_->GetSignature(key);
  ASSERT_TRUE(stored.ok() && stored->has_value());
  EXPECT_EQ((*stored)->digest, answer->signature->digest);
  const auto decoded = DecodeSignature((*stored)->body);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->digest, answer->signature->digest);
  EXPECT_EQ(decoded->assumptions, answer->signature->assumptions);
  Signature(Inline("b")).IgnoreError();
  Settle();
  EXPECT_EQ(store_->Sizes()->signatures, 1);  // unregistered texts leave nothing
}

TEST_F(SignaturesTest, AnswersFromTheStore) {
  const std::string name = Register("a");
  checker::Signature signature;
  signature.status = checker::SignatureStatus::kOk;
  signature.digest = "feedfacefeedfacefeedfacefeedface";
  const storage::SignatureKey key{ContentDigest("a"), LaunchDigest(checker::Launch(), {}, {}), 1};
  ASSERT_TRUE(store_->PutSignatures({{key, signature.digest, EncodeSignature(signature)}}).ok());
  const auto answer = Signature(Named(name));
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->cached);
  EXPECT_EQ(answer->signature->digest, signature.digest);
  EXPECT_EQ(checker_->runs, 0);
}

TEST_F(SignaturesTest, RecomputesStoredSignaturesOfOtherVersionsAndDamagedOnes) {
  const std::string name = Register("a");
  checker::Signature signature;
  signature.status = checker::SignatureStatus::kOk;
  signature.digest = "feedfacefeedfacefeedfacefeedface";
  storage::SignatureKey key{ContentDigest("a"), LaunchDigest(checker::Launch(), {}, {}), 7};
  ASSERT_TRUE(store_->PutSignatures({{key, signature.digest, EncodeSignature(signature)}}).ok());
  key.version = 1;
  ASSERT_TRUE(store_->PutSignatures({{key, signature.digest, "\xff\xff damaged"}}).ok());
  const auto answer = Signature(Named(name));
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->cached);
  EXPECT_NE(answer->signature->digest, signature.digest);
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, ReportsANameThatIsNotRegisteredAlsoWhereItsTextIsKnown) {
  ASSERT_TRUE(Signature(Inline("a")).ok());
  const std::string name = KernelName(ContentDigest("a"));
  const auto missing = Signature(Named(name));
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
  EXPECT_EQ(ReasonOf(missing.status()), "KERNEL_NOT_FOUND");
  EXPECT_EQ(MetadataOf(missing.status(), "name"), name);
  Register("a");
  const auto found = Signature(Named(name));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->cached);
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(SignaturesTest, ForgetsADeletedKernel) {
  const std::string name = Register("a");
  ASSERT_TRUE(Signature(Named(name)).ok());
  ASSERT_TRUE(Signature(Named(name))->cached);
  ASSERT_TRUE(Delete(name).ok());
  EXPECT_TRUE(absl::IsNotFound(Signature(Named(name)).status()));
  Register("a");
  EXPECT_TRUE(Signature(Named(name)).ok());
}

TEST_F(SignaturesTest, ADeletionDuringACheckLeavesNoSignatureByName) {
  const std::string name = Register("a wait");
  Reply<SignatureAnswer> reply;
  Start(Named(name), reply);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  ASSERT_TRUE(Delete(name).ok());
  checker_->Release();
  EXPECT_TRUE(reply.Get().ok());  // asked before the deletion
  EXPECT_TRUE(absl::IsNotFound(Signature(Named(name)).status()));
}

TEST_F(SignaturesTest, FindsADamagedText) {
  registry();
  storage::KernelRecord record{ContentDigest("a"), absl::UnixEpoch(), 1, EncodeTextInfo({})};
  ASSERT_TRUE(store_->PutKernel(record, "not a").ok());
  const auto answer = Signature(Named(KernelName(record.digest)));
  EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
}

TEST_F(SignaturesTest, ChecksTheWidthOfFloats) {
  using Kind = checker::Argument::Kind;
  KernelLaunch launch = Inline("a");
  launch.launch.args.emplace();
  launch.launch.args->push_back({Kind::kPointer, "", 0, {}});
  launch.launch.args->push_back({Kind::kFloat, "", 0x3f800000, {}});
  launch.launch.args->push_back({Kind::kFloat, "", 0x3f800000, {}});
  launch.float_widths = {0, 4, 8};
  EXPECT_TRUE(Signature(launch).ok());
  launch.float_widths = {0, 8, 8};
  const auto wrong = Signature(launch);
  EXPECT_TRUE(absl::IsInvalidArgument(wrong.status()));
  EXPECT_EQ(ReasonOf(wrong.status()), "INVALID_LAUNCH");
  EXPECT_EQ(MetadataOf(wrong.status(), "argument"), "1");
  launch.float_widths = {0, 4, 4};
  EXPECT_EQ(MetadataOf(Signature(launch).status(), "argument"), "2");
}

TEST_F(SignaturesTest, AnswersWhatWaitsWhenTheServerStops) {
  config_.check_threads = 1;
  Reply<SignatureAnswer> busy, waiting;
  const CallHandle call = Start(Inline("w wait"), busy);
  ASSERT_TRUE(checker_->AwaitRuns(1));
  Start(Inline("a"), waiting);
  call->Cancel();
  registry().Stop();
  EXPECT_TRUE(absl::IsCancelled(busy.Get().status()));
  // Stopping either dropped it or came after the thread had taken it.
  EXPECT_TRUE(waiting.Get().ok() || absl::IsUnavailable(waiting.Get().status())) << waiting.Get().status();
  EXPECT_TRUE(absl::IsUnavailable(Signature(Inline("b")).status()));
}

TEST_F(SignaturesTest, SurvivesManyThreads) {
  config_.check_threads = 3;
  config_.cache_entries = 64;
  const std::string name = Register("registered");
  registry();
  std::vector<std::thread> threads;
  std::atomic<int> answers{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::string text = "text" + std::to_string((i * 13 + t) % 90);
        Reply<SignatureAnswer> reply;
        const CallHandle call = Start(i % 5 == 0 ? Named(name) : Inline(text), reply);
        if (i % 7 == 0 && call != nullptr) call->Cancel();
        const auto& answer = reply.Get();
        if (answer.ok() || absl::IsCancelled(answer.status())) ++answers;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, 4 * 300);
  EXPECT_LE(registry().ReadLevels().cached_signatures, 64);
}

}  // namespace
}  // namespace samebits::server
