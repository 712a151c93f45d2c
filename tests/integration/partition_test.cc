#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using testing::ElementsAre;
using Request = v1::PartitionKernelsRequest;
using Response = v1::PartitionKernelsResponse;

// A source of `count` items whose texts `text` gives.
client::Client::ItemSource Items(int count, std::function<std::string(int)> text) {
  auto next = std::make_shared<int>(0);
  return [count, text = std::move(text), next](v1::PartitionItem* item) {
    if (*next == count) return false;
    item->set_id("item " + std::to_string(*next));
    SetText(item->mutable_kernel(), text((*next)++));
    return true;
  };
}

TEST_F(ServiceTest, PartitionsFiveHundredLaunches) {
  std::map<std::string, v1::PartitionItemResult> results;
  int64_t last_decided = 0;
  const auto partition = client().Partition(
      {}, Items(500, [](int i) { return "class" + std::to_string(i % 7) + " text " + std::to_string(i); }),
      [&](const v1::PartitionItemResult& result) {
        EXPECT_EQ(result.decided(), ++last_decided);
        EXPECT_LE(result.decided(), result.received());
        EXPECT_TRUE(results.emplace(result.id(), result).second) << result.id();
        return true;
      });
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(results.size(), 500);
  ASSERT_EQ(partition->classes_size(), 7);
  std::set<std::string> seen;
  for (const v1::EquivalenceClass& c : partition->classes()) {
    for (const std::string& id : c.ids()) {
      EXPECT_TRUE(seen.insert(id).second);
      EXPECT_EQ(results[id].class_index(), c.index());
      EXPECT_EQ(results[id].signature().digest(), c.digest());
      EXPECT_EQ(std::stoi(id.substr(5)) % 7, std::stoi(c.ids(0).substr(5)) % 7);
    }
  }
  EXPECT_EQ(seen.size(), 500);
  EXPECT_EQ(partition->unknown_ids_size() + partition->nondeterministic_ids_size() + partition->error_ids_size(), 0);
}

TEST_F(ServiceTest, PartitionsWithReferenceAndFailingItems) {
  const std::vector<std::string> texts = {"a one", "a two", "b", "unknown", "nondeterministic", "invalid"};
  v1::PartitionConfig config;
  config.set_reference_id("item 1");
  std::map<std::string, v1::PartitionItemResult> results;
  const auto partition = client().Partition(config, Items(6, [&](int i) { return texts[i]; }),
                                            [&](const v1::PartitionItemResult& result) {
                                              results[result.id()] = result;
                                              return true;
                                            });
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->classes_size(), 2);
  EXPECT_THAT(partition->unknown_ids(), ElementsAre("item 3"));
  EXPECT_THAT(partition->nondeterministic_ids(), ElementsAre("item 4"));
  EXPECT_THAT(partition->error_ids(), ElementsAre("item 5"));
  std::map<std::string, v1::Comparison::Verdict> verdicts;
  for (const v1::ReferenceVerdict& verdict : partition->reference_verdicts())
    verdicts[verdict.id()] = verdict.verdict();
  const std::map<std::string, v1::Comparison::Verdict> expected = {{"item 0", v1::Comparison::EQUIVALENT},
                                                                  {"item 2", v1::Comparison::DISTINCT},
                                                                  {"item 3", v1::Comparison::UNKNOWN},
                                                                  {"item 4", v1::Comparison::NONDETERMINISTIC}};
  EXPECT_EQ(verdicts, expected);
  EXPECT_EQ(results["item 5"].error().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(results["item 5"].error().message(), "2:5: unexpected token: 'invalid'");
  EXPECT_EQ(results["item 5"].class_index(), -1);
  EXPECT_EQ(results["item 3"].signature().reason_code(), "UNMODELLED_INSTRUCTION");
}

TEST_F(ServiceTest, PartitionsNothing) {
  const auto partition = client().Partition({}, [](v1::PartitionItem*) { return false; }, nullptr);
  ASSERT_TRUE(partition.ok()) << partition.status();
  EXPECT_EQ(partition->classes_size(), 0);
}

TEST_F(ServiceTest, PartitionsRegisteredKernels) {
  const std::string a = Register("a one"), b = Register("a two");
  int i = 0;
  const auto partition = client().Partition({}, [&](v1::PartitionItem* item) {
    if (i == 2) return false;
    item->set_id(i == 0 ? "first" : "second");
    SetName(item->mutable_kernel(), i++ == 0 ? a : b);
    return true;
  }, nullptr);
  ASSERT_TRUE(partition.ok()) << partition.status();
  ASSERT_EQ(partition->classes_size(), 1);
  EXPECT_THAT(partition->classes(0).ids(), ElementsAre("first", "second"));
}

TEST_F(ServiceTest, PartitionRefusesARepeatedId) {
  int sent = 0;
  const auto partition = client().Partition({}, [&](v1::PartitionItem* item) {
    item->set_id("same");
    SetText(item->mutable_kernel(), "a");
    return ++sent < 1000;
  }, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(partition.status())) << partition.status();
  EXPECT_EQ(MetadataOf(partition.status(), "field"), "item.id");
}

TEST_F(ServiceTest, PartitionRequiresItsReference) {
  v1::PartitionConfig config;
  config.set_reference_id("none");
  const auto partition = client().Partition(config, Items(3, [](int) { return "a"; }), nullptr);
  EXPECT_EQ(MetadataOf(partition.status(), "field"), "config.reference_id");
}

TEST_F(ServiceTest, PartitionBoundsItemsAndStreams) {
  config_.limits.max_partition_items = 5;
  config_.limits.max_partition_streams = 1;
  const auto many = client().Partition({}, Items(6, [](int) { return "a"; }), nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(many.status()));
  EXPECT_EQ(MetadataOf(many.status(), "limit"), "max_partition_items");

  const auto stub = v1::KernelService::NewStub(Channel());
  grpc::ClientContext context;
  const auto stream = stub->PartitionKernels(&context);
  Request request;
  request.mutable_config();
  ASSERT_TRUE(stream->Write(request));
  request.mutable_item()->set_id("1");
  SetText(request.mutable_item()->mutable_kernel(), "a");
  ASSERT_TRUE(stream->Write(request));
  Response response;
  ASSERT_TRUE(stream->Read(&response));  // the stream is open on the server
  const auto second = client().Partition({}, Items(1, [](int) { return "a"; }), nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(second.status())) << second.status();
  EXPECT_EQ(MetadataOf(second.status(), "limit"), "max_partition_streams");
  ASSERT_TRUE(stream->WritesDone());
  while (stream->Read(&response)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  absl::Status third;
  do {
    third = client().Partition({}, Items(1, [](int) { return "a"; }), nullptr).status();
  } while (!third.ok() && absl::Now() < limit);
  EXPECT_TRUE(third.ok()) << third;
}

TEST_F(ServiceTest, PartitionReadsNoFasterThanItDecides) {
  config_.metrics_listen = "127.0.0.1:0";
  config_.check_threads = 1;
  server();
  const auto stub = v1::KernelService::NewStub(Channel());
  grpc::ClientContext context;
  const auto stream = stub->PartitionKernels(&context);
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      Request request;
      request.mutable_item()->set_id(std::to_string(i));
      SetText(request.mutable_item()->mutable_kernel(), "w" + std::to_string(i) + " wait");
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
  });
  ASSERT_TRUE(checker_->AwaitRuns(1));
  absl::SleepFor(absl::Milliseconds(200));
  const std::string metrics = Scrape();
  const std::string series = "samebits_partition_items_total ";
  const int received = std::stoi(metrics.substr(metrics.find("\n" + series) + 1 + series.size()));
  EXPECT_GE(received, 1);
  EXPECT_LE(received, 2 * 1 + 2);
  checker_->Release();
  int items = 0, partitions = 0;
  Response response;
  while (stream->Read(&response)) response.has_item() ? ++items : ++partitions;
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(items, 200);
  EXPECT_EQ(partitions, 1);
}

TEST_F(ServiceTest, CancellingAPartitionStopsItsChecks) {
  config_.metrics_listen = "127.0.0.1:0";
  int results = 0;
  const auto partition = client().Partition(
      {}, Items(1000, [](int i) { return i == 0 ? std::string("a") : "w" + std::to_string(i) + " wait"; }),
      [&](const v1::PartitionItemResult&) { return ++results < 1; });
  EXPECT_TRUE(absl::IsCancelled(partition.status())) << partition.status();
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (Scrape().find("samebits_queue_running{queue=\"checks\"} 0") == std::string::npos && absl::Now() < limit)
    absl::SleepFor(absl::Milliseconds(5));
  EXPECT_LT(absl::Now(), limit);
  EXPECT_TRUE(client().Compare(CompareTexts("a", "a")).ok());
}

TEST_F(ServiceTest, PartitionRefusesAConfigInTheMiddleAndEmptyMessages) {
  const auto stub = v1::KernelService::NewStub(Channel());
  for (const bool empty : {false, true}) {
    grpc::ClientContext context;
    const auto stream = stub->PartitionKernels(&context);
    Request request;
    request.mutable_item()->set_id("1");
    SetText(request.mutable_item()->mutable_kernel(), "a");
    ASSERT_TRUE(stream->Write(request));
    request.Clear();
    if (!empty) request.mutable_config();
    stream->Write(request);
    Response response;
    while (stream->Read(&response)) {
    }
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
}

}  // namespace
}  // namespace samebits
