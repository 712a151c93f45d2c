#include "tests/integration/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace samebits::test {
namespace {

constexpr char kBinary[] = SAMEBITS_BINARY_DIR "/bin/samebits";
constexpr char kWorker[] = SAMEBITS_BINARY_DIR "/bin/samebits-worker";

// Starts the program with its streams on files of `folder`: in, out, err.
pid_t Spawn(const std::vector<std::string>& arguments, const std::string& folder, const char* binary = kBinary) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  for (const char* name : {"SAMEBITS_SERVER", "SAMEBITS_DATA", "SAMEBITS_TLS_CA", "SAMEBITS_TLS_CERT", "SAMEBITS_TLS_KEY",
                           "SAMEBITS_TOKEN_FILE", "SAMEBITS_ENROLMENT_FILE", "NO_COLOR"}) unsetenv(name);
  const int in = open((folder + "/in").c_str(), O_RDONLY);
  const int out = open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open((folder + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> argv = {const_cast<char*>(binary)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(binary, argv.data());
  _exit(127);
}

int Wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string After(const std::string& text, const std::string& mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size(), end = text.find('\n', begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

}  // namespace

std::vector<std::string> Joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

namespace {

Outcome RunToEnd(const char* binary, const std::vector<std::string>& arguments, const std::string& input) {
  const Folder folder;
  folder.Write("in", input);
  const int code = Wait(Spawn(arguments, folder.path(), binary));
  return {code, ReadAll(folder.path() + "/out"), ReadAll(folder.path() + "/err")};
}

}  // namespace

Outcome RunSamebits(const std::vector<std::string>& arguments, const std::string& input) {
  return RunToEnd(kBinary, arguments, input);
}

Outcome RunWorker(const std::vector<std::string>& arguments) { return RunToEnd(kWorker, arguments, ""); }

Folder::Folder() {
  std::string name = ::testing::TempDir() + "samebits_integration_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder " << name;
  path_ = name;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::Write(const std::string& name, const std::string& content) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

SamebitsProcess::SamebitsProcess(const std::vector<std::string>& arguments) {
  streams_.Write("in", "");
  pid_ = Spawn(arguments, streams_.path());
}

bool SamebitsProcess::Running() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

void SamebitsProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Wait(pid_);
  pid_ = -1;
}

ServerProcess::ServerProcess(const std::string& folder, const std::vector<std::string>& more) {
  streams_.Write("in", "");
  std::vector<std::string> words = {"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--data", folder};
  words.insert(words.end(), more.begin(), more.end());
  pid_ = Spawn(words, streams_.path());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::string out = ReadAll(streams_.path() + "/out");
    address_ = After(out, " serves ");
    metrics_ = After(out, "metrics: http://");
    if (!After(out, "data: ").empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "the server did not start: " << ReadAll(streams_.path() + "/err");
}

ServerProcess::~ServerProcess() { Kill(); }

int ServerProcess::Stop() { return End(SIGTERM); }

void ServerProcess::Kill() { End(SIGKILL); }

std::string ServerProcess::log() const { return ReadAll(streams_.path() + "/err"); }

WorkerProcess::WorkerProcess(const std::string& server, const std::string& id, const std::vector<std::string>& more,
                             const std::vector<std::string>& ask) {
  streams_.Write("in", "");
  std::vector<std::string> words = {"--server", server, "--id", id, "--allow-submitted-kernels"};
  if (std::find(more.begin(), more.end(), "--no-cpu") == more.end()) words.push_back("--no-cuda");
  if (getenv("SAMEBITS_HIP") == nullptr) words.push_back("--no-rocm");
  words.insert(words.end(), more.begin(), more.end());
  pid_ = Spawn(words, streams_.path(), kWorker);
  words = {"fleet", id, "--server", server};
  words.insert(words.end(), ask.begin(), ask.end());
  for (int i = 0; i < 300; ++i)
    if (RunSamebits(words).exit_code == 0) return;
  ADD_FAILURE() << "the worker did not start: " << ReadAll(streams_.path() + "/err");
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) Stop();
}

std::string WorkerProcess::log() const { return ReadAll(streams_.path() + "/out") + ReadAll(streams_.path() + "/err"); }

int WorkerProcess::Stop() {
  kill(pid_, SIGTERM);
  return Await();
}

void WorkerProcess::Kill() {
  kill(pid_, SIGKILL);
  Await();
}

int WorkerProcess::Await() {
  const int code = Wait(pid_);
  pid_ = -1;
  return code;
}

int ServerProcess::End(int signal) {
  if (pid_ <= 0) return -1;
  kill(pid_, signal);
  const int code = Wait(pid_);
  pid_ = -1;
  return code;
}

}  // namespace samebits::test
