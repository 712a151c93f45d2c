#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::HasSubstr;
using Verdict = v1::Comparison;

TEST_F(ServiceTest, ComparesTexts) {
  const auto equal = client().Compare(CompareTexts("a one", "a two"));
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_EQ(equal->verdict(), Verdict::EQUIVALENT);
  EXPECT_EQ(equal->a().status(), v1::KernelSignature::OK);
  EXPECT_EQ(equal->a().digest(), equal->b().digest());
  EXPECT_EQ(equal->a().name(), "kernelSignatures/" + equal->a().digest());
  EXPECT_EQ(equal->a().signature_version(), 1);
  EXPECT_EQ(equal->a().times().execute_micros(), 2);
  EXPECT_EQ(equal->a().assumptions(0), "distinct pointers do not alias");
  EXPECT_FALSE(equal->a().cached());
  EXPECT_EQ(client().Compare(CompareTexts("a one", "b"))->verdict(), Verdict::DISTINCT);
  EXPECT_EQ(client().Compare(CompareTexts("a one", "nondeterministic"))->verdict(), Verdict::NONDETERMINISTIC);
  const auto unknown = client().Compare(CompareTexts("unknown", "a one"));
  EXPECT_EQ(unknown->verdict(), Verdict::UNKNOWN);
  EXPECT_EQ(unknown->reason(), "unknown side");
  EXPECT_EQ(unknown->a().reason_code(), "UNMODELLED_INSTRUCTION");
  EXPECT_EQ(unknown->a().place().line(), 7);
  EXPECT_EQ(unknown->a().place().column(), 3);
  EXPECT_EQ(unknown->a().place().instruction(), "tex.2d");
}

TEST_F(ServiceTest, AnswersByNameFromTheCache) {
  const std::string a = Register("a one"), b = Register("a two");
  const auto first = client().Compare(CompareNames(a, b));
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->a().cached());
  const auto second = client().Compare(CompareNames(a, b));
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->a().cached() && second->b().cached());
  EXPECT_FALSE(second->a().has_times());
  EXPECT_EQ(second->a().digest(), first->a().digest());
  EXPECT_EQ(second->a().assumptions_size(), 1);
  EXPECT_EQ(checker_->runs, 2);
}

TEST_F(ServiceTest, OptionsChangeTheSignature) {
  v1::ComputeKernelSignatureRequest request;
  SetText(request.mutable_kernel(), "a");
  const auto plain = client().ComputeSignature(request);
  request.mutable_options()->set_ignore_signed_zero(true);
  const auto zero = client().ComputeSignature(request);
  ASSERT_TRUE(plain.ok() && zero.ok());
  EXPECT_NE(plain->digest(), zero->digest());
}

TEST_F(ServiceTest, Explains) {
  v1::ExplainDifferenceRequest request;
  SetText(request.mutable_a(), "a");
  SetName(request.mutable_b(), Register("b"));
  const auto comparison = client().Explain(request);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->verdict(), Verdict::DISTINCT);
  EXPECT_EQ(comparison->difference().summary(), "the sums part");
  EXPECT_EQ(comparison->difference().byte_offset(), 4);
  EXPECT_EQ(comparison->difference().a().place().line(), 3);
  EXPECT_EQ(comparison->difference().b().tree(), "b * a");
  EXPECT_EQ(comparison->a().status(), v1::KernelSignature::OK);
}

TEST_F(ServiceTest, NamesFieldsAndSides) {
  v1::CompareKernelsRequest request;
  EXPECT_EQ(MetadataOf(client().Compare(request).status(), "field"), "a.kernel");
  request.mutable_a()->set_text("a");
  EXPECT_EQ(MetadataOf(client().Compare(request).status(), "field"), "a.launch");
  SetText(request.mutable_a(), "a");
  SetText(request.mutable_b(), "b invalid");
  request.mutable_b()->mutable_launch()->mutable_block()->set_y(0);
  const auto block = client().Compare(request);
  EXPECT_EQ(MetadataOf(block.status(), "field"), "b.launch");
  EXPECT_THAT(std::string(block.status().message()), HasSubstr("128,0,1"));
  SetBlock(request.mutable_b()->mutable_launch());
  const auto syntax = client().Compare(request);
  EXPECT_EQ(ReasonOf(syntax.status()), "PTX_SYNTAX");
  EXPECT_EQ(MetadataOf(syntax.status(), "side"), "b");
  EXPECT_EQ(MetadataOf(syntax.status(), "line"), "2");
  request.mutable_b()->set_text("b");
  request.mutable_b()->mutable_launch()->set_entry("missing");
  const auto entry = client().Compare(request);
  EXPECT_TRUE(absl::IsInvalidArgument(entry.status()));
  EXPECT_EQ(ReasonOf(entry.status()), "INVALID_LAUNCH");
  EXPECT_EQ(MetadataOf(entry.status(), "side"), "b");
}

TEST_F(ServiceTest, ReportsADeadlineAndStopsTheCheck) {
  client::ClientOptions options;
  options.call_timeout = absl::Milliseconds(150);
  const auto impatient = Connect(options);
  const absl::Time start = absl::Now();
  const auto answer = impatient->Compare(CompareTexts("a wait", "b wait"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (checker_->cancelled < checker_->runs && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(checker_->cancelled, checker_->runs);
  EXPECT_GE(checker_->cancelled, 1);
}

TEST_F(ServiceTest, CancellationReachesTheChecker) {
  const auto stub = v1::KernelService::NewStub(Channel());
  grpc::ClientContext context;
  v1::CompareKernelsResponse response;
  grpc::Status status;
  std::thread caller([&] { status = stub->CompareKernels(&context, CompareTexts("a wait", "a"), &response); });
  ASSERT_TRUE(checker_->AwaitRuns(1));
  context.TryCancel();
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (checker_->cancelled < 1 && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(checker_->cancelled, 1);
}

TEST_F(ServiceTest, KeepsAnsweringOthersWhileChecksAreStuck) {
  config_.check_threads = 2;
  const std::string name = Register("known");
  ASSERT_TRUE(client().Compare(CompareNames(name, name)).ok());
  const auto stub = v1::KernelService::NewStub(Channel());
  grpc::ClientContext context;
  v1::CompareKernelsResponse response;
  std::thread stuck(
      [&] { stub->CompareKernels(&context, CompareTexts("a wait", "b wait"), &response); });
  ASSERT_TRUE(checker_->AwaitRuns(3));
  client::ClientOptions options;
  options.call_timeout = absl::Seconds(5);
  const auto other = Connect(options);
  EXPECT_TRUE(other->Compare(CompareNames(name, name)).ok());
  EXPECT_TRUE(other->RegisterKernel("another").ok());
  EXPECT_TRUE(other->ListKernels(10, "").ok());
  EXPECT_TRUE(other->CheckHealth().ok());
  context.TryCancel();
  stuck.join();
}

TEST_F(ServiceTest, TellsWhichQueueIsFullAndTheClientTriesAgain) {
  config_.metrics_listen = "127.0.0.1:0";
  config_.check_threads = 1;
  config_.limits.max_queued_checks = 1;
  std::vector<std::thread> callers;
  const auto start = [&](const char* text) {
    callers.emplace_back([text, client = Connect({})] {
      v1::ComputeKernelSignatureRequest request;
      SetText(request.mutable_kernel(), text);
      EXPECT_TRUE(client->ComputeSignature(request).ok());
    });
  };
  start("a wait");
  EXPECT_TRUE(checker_->AwaitRuns(1));
  start("b");
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (Scrape().find("samebits_queue_depth{queue=\"checks\"} 1") == std::string::npos && absl::Now() < limit)
    absl::SleepFor(absl::Milliseconds(5));
  v1::ComputeKernelSignatureRequest request;
  SetText(request.mutable_kernel(), "c");
  client::ClientOptions options;
  options.retry.max_attempts = 1;
  const auto refused = Connect(options)->ComputeSignature(request);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_EQ(ReasonOf(refused.status()), "QUEUE_FULL");
  EXPECT_EQ(MetadataOf(refused.status(), "limit"), "max_queued_checks");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("max_queued_checks"));
  options.retry.max_attempts = 100;
  options.retry.max_backoff = absl::Milliseconds(100);
  const auto patient = Connect(options);
  std::thread release([this] {
    absl::SleepFor(absl::Milliseconds(300));
    checker_->Release();
  });
  EXPECT_TRUE(patient->ComputeSignature(request).ok());
  release.join();
  for (std::thread& caller : callers) caller.join();
}

TEST_F(ServiceTest, KeepsTheRequestIdOfTheClient) {
  const auto stub = v1::KernelService::NewStub(Channel());
  for (const auto& [sent, kept] : std::vector<std::pair<std::string, bool>>{
           {"trace-42", true}, {std::string(65, 'x'), false}, {"has space", false}}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", sent);
    v1::CompareKernelsResponse response;
    const grpc::Status status = stub->CompareKernels(&context, v1::CompareKernelsRequest(), &response);
    EXPECT_EQ(status.error_details().find(sent) != std::string::npos, kept) << sent;
  }
}

TEST_F(ServiceTest, ServesManyCallersAtOnce) {
  std::atomic<int> answers{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t, client = Connect({})] {
      for (int i = 0; i < 60; ++i) {
        const auto answer =
            client->Compare(CompareTexts("t" + std::to_string(i % 10), "t" + std::to_string((i + t) % 10)));
        const bool equal = i % 10 == (i + t) % 10;
        if (answer.ok() && (answer->verdict() == Verdict::EQUIVALENT) == equal) ++answers;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, 8 * 60);
  EXPECT_EQ(checker_->runs, 10);  // one per text, whoever asked first
}

}  // namespace
}  // namespace samebits
