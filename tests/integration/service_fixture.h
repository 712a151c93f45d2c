#ifndef SAMEBITS_TESTS_INTEGRATION_SERVICE_FIXTURE_H_
#define SAMEBITS_TESTS_INTEGRATION_SERVICE_FIXTURE_H_

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "client/cpp/client.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "server/registry/digest.h"
#include "server/server.h"
#include "tests/support/fake_checker.h"
#include "tests/support/http_get.h"

namespace samebits {

inline void SetBlock(v1::Launch* launch) {
  launch->mutable_block()->set_x(128);
  launch->mutable_block()->set_y(1);
  launch->mutable_block()->set_z(1);
}
inline void SetText(v1::KernelLaunch* kernel, const std::string& text) {
  kernel->set_text(text);
  SetBlock(kernel->mutable_launch());
}
inline void SetName(v1::KernelLaunch* kernel, const std::string& name) {
  kernel->set_kernel(name);
  SetBlock(kernel->mutable_launch());
}
inline v1::CompareKernelsRequest CompareTexts(const std::string& a, const std::string& b) {
  v1::CompareKernelsRequest request;
  SetText(request.mutable_a(), a);
  SetText(request.mutable_b(), b);
  return request;
}
inline v1::CompareKernelsRequest CompareNames(const std::string& a, const std::string& b) {
  v1::CompareKernelsRequest request;
  SetName(request.mutable_a(), a);
  SetName(request.mutable_b(), b);
  return request;
}
inline std::string ReasonOf(const absl::Status& status) {
  const auto info = client::GetErrorInfo(status);
  return info ? info->reason : "";
}
inline std::string MetadataOf(const absl::Status& status, const std::string& key) {
  const auto info = client::GetErrorInfo(status);
  return info && info->metadata.count(key) ? info->metadata.at(key) : "";
}

// A server in this process with a fake checker and a store in memory, and a client.
class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    config_.listen = "127.0.0.1:0";
    config_.metrics_listen.clear();
    config_.log_level = server::LogLevel::kError;
    config_.drain_timeout = absl::Seconds(2);
    config_.checker = checker_;
  }
  ~ServiceTest() override { checker_->Release(); }

  server::Server& server() {
    if (server_ == nullptr) {
      auto server = server::Server::Start(config_);
      EXPECT_TRUE(server.ok()) << server.status();
      server_ = *std::move(server);
    }
    return *server_;
  }
  client::Client& client() {
    if (client_ == nullptr) client_ = Connect({});
    return *client_;
  }
  std::unique_ptr<client::Client> Connect(client::ClientOptions options) {
    options.target = server().address();
    auto client = client::Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::shared_ptr<grpc::Channel> Channel() {
    return grpc::CreateChannel(server().address(), grpc::InsecureChannelCredentials());
  }
  std::string Register(const std::string& text) {
    const auto kernel = client().RegisterKernel(text);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return kernel.ok() ? kernel->name() : "";
  }
  // Needs metrics_listen.
  std::string Scrape() { return HttpGet(server().metrics_address(), "/metrics"); }

  const std::shared_ptr<server::FakeChecker> checker_ = std::make_shared<server::FakeChecker>();
  server::ServerConfig config_;

 private:
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace samebits

#endif  // SAMEBITS_TESTS_INTEGRATION_SERVICE_FIXTURE_H_
