// A server with a fleet and a full queue: how long leases take, what the server holds in memory, and what is left for
// comparisons.
//
//   fleet_benchmark --server PROGRAM [--workers 200] [--jobs 20000] [--seconds 20] [--task-seconds 1] [--check]
//
// Starts `PROGRAM serve` on a database of its own and drives it over loopback: first comparisons alone, then the jobs are
// queued, then workers lease and complete them, and last the same while comparisons go on. Workers are simulated: each
// opens a session and calls as a real one does, in the rhythm that the server asks for, but does nothing for the
// length of a task. Comparisons are of two registered kernels with stored signatures, 8 outstanding calls. Latencies are
// those that callers see. --check: exit code 1 where a lease takes more than 100 ms in the 99th percentile, the server
// more than 1 GiB, or comparisons fall below half of their rate alone.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"

namespace samebits {
namespace {

namespace wire = worker::v1;

constexpr double kMostLeaseMillis = 100, kMostMebibytes = 1024, kLeastRateLeft = 0.5;
constexpr int kOutstanding = 8;  // comparisons
constexpr char kKernel[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 x, .param .u64 .ptr .global .align 4 o)
{
  .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [o];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  ld.global.f32 %f1, [%rd3];
  add.rn.f32 %f3, )";

struct Options {
  std::string server;
  int workers = 200, jobs = 20000;
  double seconds = 20, task_seconds = 1;
  bool check = false;
};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "fleet_benchmark: %s\n", what.c_str());
  std::exit(1);
}

std::string Kernel(const char* operands) {
  return absl::StrCat(kKernel, operands, ";\n  st.global.f32 [%rd4], %f3;\n  ret;\n}\n");
}

// Latencies of one kind of call.
class Latencies {
 public:
  void Add(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    millis_.push_back(absl::ToDoubleMilliseconds(time));
  }
  std::vector<double> Take() {
    absl::MutexLock lock(&mutex_);
    std::vector<double> taken;
    taken.swap(millis_);
    std::sort(taken.begin(), taken.end());
    return taken;
  }

 private:
  absl::Mutex mutex_;
  std::vector<double> millis_ ABSL_GUARDED_BY(mutex_);
};

double Percentile(const std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, static_cast<size_t>(part * sorted.size()))];
}

// `samebits serve` in a folder that goes with the object.
class ServerProcess {
 public:
  explicit ServerProcess(const Options& options) {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_fleet_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    const std::string log = folder_ + "/log", data = folder_ + "/data", most = absl::StrCat(options.jobs + 1000);
    pid_ = fork();
    if (pid_ == 0) {
      const int out = open(log.c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      execl(options.server.c_str(), options.server.c_str(), "serve", "--listen", "127.0.0.1:0", "--metrics", "none", "--data",
            data.c_str(), "--max-jobs", most.c_str(), "--max-jobs-per-principal", most.c_str(), nullptr);
      _exit(127);
    }
    const absl::Time limit = absl::Now() + absl::Seconds(60);
    while ((address_ = After(log, "serves ")).empty()) {
      if (absl::Now() > limit) Fail("the server does not start");
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
  ~ServerProcess() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  std::shared_ptr<grpc::Channel> Connect(int number) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt("number", number);  // a connection of its own
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }
  double PeakMebibytes() const {
    return std::stod("0" + After(absl::StrCat("/proc/", pid_, "/status"), "VmHWM:")) / 1024;
  }
  double FileMebibytes() const {
    return static_cast<double>(std::filesystem::file_size(folder_ + "/data/samebits.db")) / (1 << 20);
  }

 private:
  static std::string After(const std::string& path, const std::string& mark) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (const size_t at = line.find(mark); at != std::string::npos)
        return line.substr(line.find_first_not_of(" \t", at + mark.size()));
    return "";
  }
  pid_t pid_ = -1;
  std::string folder_, address_;
};

// Calls that are due at a time, on one thread; the calls themselves are asynchronous.
class Timetable {
 public:
  Timetable() : thread_([this] { Run(); }) {}
  ~Timetable() { Stop(); }
  void At(absl::Time time, std::function<void()> call) {
    absl::MutexLock lock(&mutex_);
    due_.emplace(time, std::move(call));
  }
  void Stop() {
    {
      absl::MutexLock lock(&mutex_);
      stopped_ = true;
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (true) {
      std::vector<std::function<void()>> calls;
      {
        absl::MutexLock lock(&mutex_);
        if (stopped_) return;
        while (!due_.empty() && due_.begin()->first <= absl::Now()) {
          calls.push_back(std::move(due_.begin()->second));
          due_.erase(due_.begin());
        }
      }
      for (const auto& call : calls) call();
      if (calls.empty()) absl::SleepFor(absl::Milliseconds(1));
    }
  }
  absl::Mutex mutex_;
  std::multimap<absl::Time, std::function<void()>> due_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

struct Counts {
  Latencies polls, leases, reports;  // by what the call brought: nothing, a lease, an acknowledged result
  std::atomic<int64_t> leased{0}, completed{0}, errors{0};
};

// One worker of one device.
class SimulatedWorker {
 public:
  SimulatedWorker(const std::string& id, const std::shared_ptr<grpc::Channel>& channel, absl::Duration task, Timetable* times,
                  Counts* counts)
      : id_(id), task_(task), stub_(wire::WorkerSessions::NewStub(channel)), times_(*times), counts_(*counts) {}

  void Register() {
    wire::CreateWorkerSessionRequest request;
    request.set_worker(id_);
    request.set_runs_submitted_kernels(true);
    v1::Device* device = request.add_devices();
    device->set_backend("cpu");
    device->set_name("simulated");
    grpc::ClientContext context;
    wire::WorkerSession session;
    const grpc::Status status = stub_->CreateWorkerSession(&context, request, &session);
    if (!status.ok()) Fail(status.error_message());
    session_ = session.session();
    poll_ = absl::Milliseconds(session.poll_interval().nanos() / 1'000'000) + absl::Seconds(session.poll_interval().seconds());
  }
  void Start(absl::Duration delay) {
    times_.At(absl::Now() + delay, [this] { Call(); });
  }

 private:
  void Call() {
    context_ = std::make_unique<grpc::ClientContext>();
    wire::UpdateWorkerSessionRequest& request = request_;
    request.Clear();
    request.set_worker(id_);
    request.set_session(session_);
    const bool done = running_ && absl::Now() >= end_;
    if (running_ && !done) *request.add_running()->mutable_key() = key_;
    if (done) Report(request.add_finished());
    if (!running_ || done) request.add_free_devices(0);
    begin_ = absl::Now();
    stub_->async()->UpdateWorkerSession(context_.get(), &request_, &response_,
                                        [this, done](const grpc::Status& status) { Answered(status, done); });
  }
  void Report(wire::TaskResult* result) {
    *result->mutable_key() = key_;
    for (const v1::VerifyLaunch& launch : job_.launches()) {
      v1::LaunchOutcome* outcome = result->mutable_verify()->add_outcomes();
      outcome->set_id(launch.id());
      outcome->set_stable(true);
      for (int i = 0; i < job_.distributions_size(); ++i) outcome->add_digests(std::string(32, '7'));
    }
  }
  void Answered(const grpc::Status& status, bool reported) {
    const absl::Time now = absl::Now();
    if (!status.ok()) {
      ++counts_.errors;  // the same call again, as a worker does
      times_.At(now + poll_, [this] { Call(); });
      return;
    }
    const bool leased = response_.leased_size() != 0;
    (leased ? counts_.leases : reported ? counts_.reports : counts_.polls).Add(now - begin_);
    if (reported) {
      ++counts_.completed;
      running_ = false;
    }
    poll_ = absl::Seconds(response_.poll_interval().seconds()) + absl::Nanoseconds(response_.poll_interval().nanos());
    if (leased) {
      ++counts_.leased;
      running_ = true;
      key_ = response_.leased(0).key();
      job_ = response_.leased(0).verify().request();
      end_ = now + task_;
    }
    response_.Clear();
    times_.At(running_ ? std::min(end_, now + std::max(poll_, absl::Seconds(1))) : now + poll_, [this] { Call(); });
  }

  const std::string id_;
  const absl::Duration task_;
  const std::unique_ptr<wire::WorkerSessions::Stub> stub_;
  Timetable& times_;
  Counts& counts_;
  int64_t session_ = 0;
  absl::Duration poll_;
  bool running_ = false;
  wire::TaskKey key_;
  v1::VerifyKernelsRequest job_;
  absl::Time begin_, end_;
  std::unique_ptr<grpc::ClientContext> context_;
  wire::UpdateWorkerSessionRequest request_;
  wire::UpdateWorkerSessionResponse response_;
};

void SetBlock(v1::Launch* launch) {
  launch->mutable_block()->set_x(32);
  launch->mutable_block()->set_y(1);
  launch->mutable_block()->set_z(1);
}

v1::VerifyKernelsRequest Job() {
  v1::VerifyKernelsRequest request;
  for (const char* operands : {"%f1, %f1", "%f1, 0f3f800001"}) {
    v1::VerifyLaunch* launch = request.add_launches();
    launch->set_id(operands);
    launch->mutable_kernel()->set_text(Kernel(operands));
    v1::Launch* how = launch->mutable_kernel()->mutable_launch();
    SetBlock(how);
    *how->mutable_grid() = how->block();
    how->mutable_grid()->set_x(1);
    for (const char* name : {"x", "o"}) how->mutable_args()->add_arguments()->mutable_pointer()->set_buffer(name);
  }
  for (const char* name : {"x", "o"}) {
    v1::BufferSpec* buffer = request.add_buffers();
    buffer->set_name(name);
    buffer->set_type("f32");
    buffer->set_elements(32);
    buffer->set_role(*name == 'x' ? v1::BufferSpec::IN : v1::BufferSpec::OUT);
  }
  request.add_devices("cpu");
  request.mutable_timeout()->set_seconds(24 * 3600);
  return request;
}

// Submits the jobs on a few connections; jobs a second.
double Fill(const ServerProcess& server, int jobs) {
  std::atomic<int> next{0};
  const absl::Time begin = absl::Now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const auto stub = v1::KernelService::NewStub(server.Connect(100 + t));
      const v1::VerifyKernelsRequest job = Job();
      while (next++ < jobs) {
        grpc::ClientContext context;
        v1::Operation operation;
        const grpc::Status status = stub->VerifyKernels(&context, job, &operation);
        if (!status.ok()) Fail(absl::StrCat("a job is refused: ", status.error_message()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  return jobs / absl::ToDoubleSeconds(absl::Now() - begin);
}

// Comparisons for so long; a second.
double Compare(const ServerProcess& server, double seconds, Latencies* latencies) {
  v1::CompareKernelsRequest request;
  const auto stub = v1::KernelService::NewStub(server.Connect(99));
  for (v1::KernelLaunch* side : {request.mutable_a(), request.mutable_b()}) {
    v1::RegisterKernelRequest text;
    text.set_text(Kernel(side == request.mutable_a() ? "%f1, 0f3f800001" : "0f3f800001, %f1"));
    grpc::ClientContext context;
    v1::Kernel kernel;
    if (!stub->RegisterKernel(&context, text, &kernel).ok()) Fail("a kernel is refused");
    side->set_kernel(kernel.name());
    SetBlock(side->mutable_launch());
  }
  std::atomic<int64_t> done{0};
  const absl::Time begin = absl::Now(), end = begin + absl::Seconds(seconds);
  std::vector<std::thread> threads;
  for (int t = 0; t < kOutstanding; ++t)
    threads.emplace_back([&] {
      while (absl::Now() < end) {
        const absl::Time start = absl::Now();
        grpc::ClientContext context;
        v1::CompareKernelsResponse answer;
        const grpc::Status status = stub->CompareKernels(&context, request, &answer);
        if (!status.ok() || answer.comparison().verdict() != v1::Comparison::EQUIVALENT)
          Fail(absl::StrCat("a comparison fails: ", status.error_message()));
        latencies->Add(absl::Now() - start);
        ++done;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done) / absl::ToDoubleSeconds(absl::Now() - begin);
}

void PrintLatencies(const char* name, Latencies* latencies, double seconds) {
  const std::vector<double> sorted = latencies->Take();
  std::printf("  %-24s %9.1f /s   p50 %7.2f ms   p99 %7.2f ms   max %7.2f ms\n", name,
              static_cast<double>(sorted.size()) / seconds, Percentile(sorted, 0.5), Percentile(sorted, 0.99),
              sorted.empty() ? 0 : sorted.back());
}

double PrintFleet(const char* head, Counts* counts, double seconds) {
  std::printf("%s\n", head);
  const std::vector<double> leases = counts->leases.Take();
  std::printf("  %-24s %9.1f /s   p50 %7.2f ms   p99 %7.2f ms   max %7.2f ms\n", "calls that bring a lease",
              static_cast<double>(leases.size()) / seconds, Percentile(leases, 0.5), Percentile(leases, 0.99),
              leases.empty() ? 0 : leases.back());
  PrintLatencies("reports without a lease", &counts->reports, seconds);
  PrintLatencies("other calls", &counts->polls, seconds);
  return Percentile(leases, 0.99);
}

std::string LoadAverage() {
  std::ifstream file("/proc/loadavg");
  std::string one, five;
  file >> one >> five;
  return absl::StrCat(one, ", ", five);
}

int Run(const Options& options) {
  std::printf("load average (1, 5 min) before: %s; %u cores\n", LoadAverage().c_str(), std::thread::hardware_concurrency());
  ServerProcess server(options);
  Latencies comparisons;
  Compare(server, std::min(2.0, options.seconds), &comparisons);  // warms up
  comparisons.Take();
  const double alone = Compare(server, options.seconds / 2, &comparisons);
  std::printf("comparisons alone\n");
  PrintLatencies("comparisons", &comparisons, options.seconds / 2);

  Counts counts;
  Timetable times;
  std::vector<std::unique_ptr<SimulatedWorker>> workers;
  for (int i = 0; i < options.workers; ++i) {
    workers.push_back(std::make_unique<SimulatedWorker>(absl::StrCat("w", i), server.Connect(i % 16),
                                                        absl::Seconds(options.task_seconds), &times, &counts));
    workers.back()->Register();
  }
  const double accepted = Fill(server, options.jobs);
  std::printf("%d jobs queued, %.0f a second; database %.1f MiB\n", options.jobs, accepted, server.FileMebibytes());

  for (size_t i = 0; i < workers.size(); ++i)
    workers[i]->Start(absl::Seconds(1.0 * static_cast<double>(i) / static_cast<double>(workers.size())));
  absl::SleepFor(absl::Seconds(std::min(2.0, options.seconds)));  // all have started
  for (Latencies* all : {&counts.leases, &counts.reports, &counts.polls}) all->Take();
  absl::SleepFor(absl::Seconds(options.seconds));
  double worst = PrintFleet(absl::StrCat(options.workers, " workers").c_str(), &counts, options.seconds);
  const double loaded = Compare(server, options.seconds, &comparisons);
  worst = std::max(worst, PrintFleet("workers and comparisons", &counts, options.seconds));
  PrintLatencies("comparisons", &comparisons, options.seconds);
  const double peak = server.PeakMebibytes();
  std::printf("leases %ld, completed %ld, errors of calls %ld\n", static_cast<long>(counts.leased),
              static_cast<long>(counts.completed), static_cast<long>(counts.errors));
  std::printf("lease p99 %.1f ms (at most %.0f), server %.0f MiB (at most %.0f), comparisons %.2f of alone (at least %.1f)\n",
              worst, kMostLeaseMillis, peak, kMostMebibytes, loaded / alone, kLeastRateLeft);
  std::printf("load average (1, 5 min) after: %s\n", LoadAverage().c_str());
  times.Stop();
  absl::SleepFor(absl::Seconds(1));  // calls under way
  if (counts.completed == 0) Fail("no task was completed");
  const bool good = worst <= kMostLeaseMillis && peak <= kMostMebibytes && loaded >= kLeastRateLeft * alone;
  return options.check && !good ? 1 : 0;
}

}  // namespace
}  // namespace samebits

int main(int argc, char** argv) {
  samebits::Options options;
  CLI::App app("Leases, memory and comparisons of a server with a fleet and a full queue");
  app.add_option("--server", options.server, "The program samebits")->required();
  app.add_option("--workers", options.workers, "Simulated workers")->check(CLI::Range(1, 10000));
  app.add_option("--jobs", options.jobs, "Jobs in the queue")->check(CLI::Range(1, 1000000));
  app.add_option("--seconds", options.seconds, "Of each measurement")->check(CLI::Range(0.1, 3600.0));
  app.add_option("--task-seconds", options.task_seconds, "Length of a task")->check(CLI::Range(0.01, 3600.0));
  app.add_flag("--check", options.check, "Exit code 1 where a bound is missed");
  CLI11_PARSE(app, argc, argv);
  return samebits::Run(options);
}
