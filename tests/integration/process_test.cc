// The server as a process: signals, and death at any moment.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

// A child running integration_server.
class Process {
 public:
  Process(const std::string& database, const std::string& drain_seconds) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], 1);
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, 2);
      execl(SAMEBITS_TEST_SERVER, SAMEBITS_TEST_SERVER, database.c_str(), drain_seconds.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    FILE* lines = fdopen(out[0], "r");
    char line[256];
    for (std::string* address : {&address_, &metrics_})
      if (fgets(line, sizeof(line), lines) != nullptr) *address = std::string(line, std::string(line).find('\n'));
    fclose(lines);
  }
  ~Process() {
    if (pid_ > 0) Stop(SIGKILL);
  }

  const std::string& address() const { return address_; }
  // Until a check runs.
  void AwaitCheck() const {
    const absl::Time limit = absl::Now() + absl::Seconds(20);
    while (HttpGet(metrics_, "/metrics").find("samebits_queue_running{queue=\"checks\"} 1") == std::string::npos) {
      ASSERT_LT(absl::Now(), limit);
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  void Signal(int signal) const { kill(pid_, signal); }
  // Waits for the end; the exit code, or minus the signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int Stop(int signal) {
    Signal(signal);
    return Wait();
  }

 private:
  pid_t pid_ = -1;
  std::string address_, metrics_;
};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_process_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    database_ = (folder_ / "store.db").string();
  }
  ~ProcessTest() override { std::filesystem::remove_all(folder_); }

  static std::unique_ptr<client::Client> Connect(const Process& process) {
    client::ClientOptions options;
    options.target = process.address();
    options.retry.max_attempts = 1;
    options.call_timeout = absl::Seconds(20);
    auto client = client::Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  std::filesystem::path folder_;
  std::string database_;
};

// Registers kernels from several threads until the server is gone.
class RegistrationStorm {
 public:
  RegistrationStorm(int round, const std::function<std::unique_ptr<client::Client>()>& connect) {
    for (int t = 0; t < kThreads; ++t) {
      threads_.emplace_back([this, t, round, client = connect()] {
        for (int i = 0;; ++i) {
          std::string text = "round " + std::to_string(round) + " thread " + std::to_string(t) + " kernel " +
                             std::to_string(i);
          text.resize(i % 10 == 0 ? 300'000 : 2'000, 'x');
          const auto kernel = client->RegisterKernel(text);
          if (!kernel.ok()) {
            EXPECT_TRUE(absl::IsUnavailable(kernel.status())) << kernel.status();
            ++interrupted_;
            return;
          }
          absl::MutexLock lock(&mutex_);
          acknowledged_[kernel->name()] = std::move(text);
        }
      });
    }
  }
  static constexpr int kThreads = 4;
  // Registrations that the server's end left without an answer.
  int interrupted() const { return interrupted_; }
  std::map<std::string, std::string> Join() {
    for (std::thread& thread : threads_) thread.join();
    absl::MutexLock lock(&mutex_);
    return acknowledged_;
  }

 private:
  std::atomic<int> interrupted_{0};
  absl::Mutex mutex_;
  std::map<std::string, std::string> acknowledged_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

TEST_F(ProcessTest, LosesNoAcknowledgedKernelWhenKilled) {
  std::mt19937 random(20240607);
  std::map<std::string, std::string> acknowledged;
  for (int round = 0; round < 6; ++round) {
    Process process(database_, "1");
    ASSERT_NE(process.address(), "") << "the database does not open in round " << round;
    {
      const auto client = Connect(process);
      for (const auto& [name, text] : acknowledged) {
        const auto kernel = client->GetKernel(name, true);
        ASSERT_TRUE(kernel.ok()) << "round " << round << ": " << kernel.status();
        ASSERT_TRUE(kernel->text() == text) << name;
      }
    }
    RegistrationStorm storm(round, [&] { return Connect(process); });
    absl::SleepFor(absl::Milliseconds(100 + random() % 400));
    EXPECT_EQ(process.Stop(SIGKILL), -SIGKILL);
    const auto added = storm.Join();
    EXPECT_GT(added.size(), 0);
    EXPECT_EQ(storm.interrupted(), RegistrationStorm::kThreads) << "killed during registration";
    acknowledged.insert(added.begin(), added.end());
  }
  Process process(database_, "1");
  ASSERT_NE(process.address(), "");
  const auto client = Connect(process);
  std::set<std::string> listed;
  std::string token;
  do {
    const auto page = client->ListKernels(1000, token);
    ASSERT_TRUE(page.ok());
    for (const v1::Kernel& kernel : page->kernels()) listed.insert(kernel.name());
    token = page->next_page_token();
  } while (!token.empty());
  for (const auto& [name, text] : acknowledged) EXPECT_EQ(listed.count(name), 1) << name;
  std::printf("    %zu kernels were acknowledged, %zu are stored\n", acknowledged.size(), listed.size());
  EXPECT_EQ(process.Stop(SIGTERM), 0);
}

TEST_F(ProcessTest, StopsOnSignalsWithoutCalls) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Process process(database_, "5");
    ASSERT_NE(process.address(), "");
    EXPECT_EQ(process.Stop(signal), 0);
  }
}

TEST_F(ProcessTest, DrainsUnderLoad) {
  Process process(database_, "10");
  ASSERT_NE(process.address(), "");
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, refused{0}, broken{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&, t, client = Connect(process)] {
      for (int i = 0; !stop; ++i) {
        const std::string text = std::to_string(t) + "-" + std::to_string(i) + " sleep";
        const auto answer = client->Compare(CompareTexts(text, text));
        if (answer.ok()) {
          ++answered;
        } else {
          // Once it stops it may refuse what is new, never break what it took.
          absl::IsUnavailable(answer.status()) ? ++refused : ++broken;
          if (!absl::IsUnavailable(answer.status())) ADD_FAILURE() << answer.status();
          return;
        }
      }
    });
  }
  while (answered < 20 && broken == 0 && refused == 0) absl::SleepFor(absl::Milliseconds(1));
  const absl::Time start = absl::Now();
  EXPECT_EQ(process.Stop(SIGTERM), 0);
  EXPECT_LT(absl::Now() - start, absl::Seconds(9)) << "drained by its deadline, not by the end of the calls";
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(broken, 0);
}

TEST_F(ProcessTest, EndsByItsDeadlineWithAStuckCheck) {
  Process process(database_, "0.5");
  ASSERT_NE(process.address(), "");
  const auto client = Connect(process);
  std::thread caller([&] { EXPECT_FALSE(client->Compare(CompareTexts("a wait", "a wait")).ok()); });
  process.AwaitCheck();
  const absl::Time start = absl::Now();
  EXPECT_EQ(process.Stop(SIGTERM), 0);
  EXPECT_LT(absl::Now() - start, absl::Seconds(8));
  caller.join();
}

TEST_F(ProcessTest, ASecondSignalEndsItAtOnce) {
  Process process(database_, "60");
  ASSERT_NE(process.address(), "");
  const auto client = Connect(process);
  std::thread caller([&] { EXPECT_FALSE(client->Compare(CompareTexts("a wait", "a wait")).ok()); });
  process.AwaitCheck();
  process.Signal(SIGTERM);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(process.Stop(SIGTERM), -SIGTERM);
  caller.join();
}

}  // namespace
}  // namespace samebits
