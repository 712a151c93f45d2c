// Tokens, enrolment and TLS as an operator sets them up, with server and worker as processes.

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class OperatorTest : public ::testing::Test {
 protected:
  // A CA and a certificate for 127.0.0.1, and tokens of an administrator and a submitter.
  void SetUp() override {
    if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs openssl";
    const std::string in = "cd " + files_.path() + " && openssl ", quiet = " >/dev/null 2>&1",
                      key = " -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 ";
    files_.Write("names", "subjectAltName=IP:127.0.0.1\n");
    for (const std::string& command :
         {"req -x509 -days 1 -subj /CN=ca -keyout ca.key -out ca.pem" + key,
          "req -subj /CN=server -keyout server.key -out server.csr" + key,
          std::string("x509 -req -days 1 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out "
                      "server.pem")})
      ASSERT_EQ(std::system((in + command + quiet).c_str()), 0) << command;
    std::string lines;
    for (const std::string role : {"admin", "submitter"}) {
      const Outcome made = RunSamebits({"token", role, "a-" + role, "--hours", "1"});
      ASSERT_EQ(made.exit_code, 0) << made.err;
      files_.Write(role, made.out);
      secrets_.push_back(made.out.substr(9, 64));
      lines += made.err;
    }
    chmod(files_.Write("tokens", lines).c_str(), 0600);
  }
  std::string Path(const std::string& name) const { return files_.path() + "/" + name; }
  Outcome Ask(const std::string& role, Words words) {
    words.insert(words.end(), {"--server", server_->address(), "--tls-ca", Path("ca.pem")});
    if (!role.empty()) words.insert(words.end(), {"--token-file", Path(role)});
    return RunSamebits(words);
  }

  const Folder data_, files_;
  std::vector<std::string> secrets_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(OperatorTest, AFleetIsSetUpWithoutASecretInALog) {
  const Words options = {"--tls-cert", Path("server.pem"), "--tls-key", Path("server.key"), "--tokens", Path("tokens"),
                         "--audit-log", Path("audit"), "--log-level", "debug"};
  server_ = std::make_unique<ServerProcess>(data_.path(), options);
  EXPECT_THAT(Ask("", {"fleet"}).err, HasSubstr("no token"));
  EXPECT_THAT(RunSamebits({"fleet", "--server", server_->address()}).err, HasSubstr("TLS"));
  EXPECT_EQ(Ask("submitter", {"fleet", "enrol"}).exit_code, 2);
  const Outcome enrolment = Ask("admin", {"fleet", "enrol", "--hours", "0.5"});
  ASSERT_EQ(enrolment.exit_code, 0) << enrolment.err;
  files_.Write("enrolment", enrolment.out);
  secrets_.push_back(enrolment.out.substr(9, 64));

  const Words worker_options = {"--tls-ca", Path("ca.pem"), "--enrolment", Path("enrolment"), "--token-file",
                                Path("worker.token")};
  const Words ask = {"--tls-ca", Path("ca.pem"), "--token-file", Path("admin")};
  auto worker = std::make_unique<WorkerProcess>(server_->address(), "gpu-7", worker_options, ask);
  struct stat info {};
  ASSERT_EQ(stat(Path("worker.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  std::string token;
  std::ifstream(Path("worker.token")) >> token;
  ASSERT_EQ(token.size(), 9 + 64);
  secrets_.push_back(token.substr(9));
  const std::string kernel = files_.Write("sum.ptx", Added());
  const Outcome verified =
      Ask("submitter", {"verify", kernel, "--block", "32", "--grid", "2", "--arg", "x=ptr:x", "--arg", "o=ptr:o", "--arg",
                        "s=1.5", "--buffer", "x=f32:64:in", "--buffer", "o=f32:64:out", "--distribution", "normal"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(worker->Stop(), 0);
  std::string logs = worker->log();
  worker = std::make_unique<WorkerProcess>(server_->address(), "gpu-7", worker_options, ask);  // its token is there
  ASSERT_EQ(Ask("admin", {"fleet", "gpu-7", "--revoke"}).exit_code, 0);
  EXPECT_EQ(worker->Await(), 2);  // the server refuses its token
  EXPECT_THAT(worker->log(), HasSubstr("not known"));
  EXPECT_EQ(server_->Stop(), 0);

  std::ifstream file(Path("audit"));
  const std::string audit((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* method : {"CreateEnrolment", "EnrolWorker", "CreateWorkerSession", "VerifyKernels", "RevokeWorker"})
    EXPECT_THAT(audit, HasSubstr(std::string("\"method\":\"") + method + "\""));
  logs += server_->log() + worker->log() + audit;
  for (const auto& entry : std::filesystem::directory_iterator(data_.path())) {
    std::ifstream content(entry.path(), std::ios::binary);
    logs.append((std::istreambuf_iterator<char>(content)), std::istreambuf_iterator<char>());
  }
  ASSERT_EQ(secrets_.size(), 4);
  for (const std::string& secret : secrets_) EXPECT_EQ(logs.find(secret), std::string::npos);
}

TEST_F(OperatorTest, ATokenDoesNotLeaveTheMachineInTheClear) {
  const Words words = {"fleet", "--server", "203.0.113.1:7433", "--token-file", Path("admin"), "--timeout", "1"};
  const Outcome refused = RunSamebits(words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--token-over-plaintext"));
  EXPECT_EQ(RunSamebits({"token", "root", "me"}).exit_code, 2);
  EXPECT_EQ(RunSamebits({"token", "viewer", "a b"}).exit_code, 2);
}

}  // namespace
}  // namespace samebits::test
