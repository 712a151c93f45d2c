// Cached CompareKernels against a bare callback echo in one run, and the same of a server that asks for tokens and keeps
// an audit log: calls a second, their ratios, and latencies, at 8 calls outstanding and at 1.
//
//   service_benchmark [seconds per measurement, default 2]
//
// The servers use gRPC's callback API on loopback, in one child process, and are driven by the same client loop. The
// echo returns 100 bytes and does nothing else; it is the ceiling of this machine. CompareKernels names two registered
// kernels whose signatures are in memory. They take turns, and the median round counts. Exit code 0 where
// all calls succeeded. The processor time of a call (both processes, both ends) is printed too: on a machine that does
// other things it is the steadier figure.

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "core/base/secret.h"
#include "core/base/sha256.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "server/server.h"

namespace samebits {
namespace {

using Clock = std::chrono::steady_clock;

enum : size_t { kEcho, kOpen, kGuarded, kServers };

constexpr char kText[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<4>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r3, %r2, 128, %r1;
  mul.wide.s32 %rd3, %r3, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mul.rn.f32 %f2, %f1, 0f40000000;
  st.global.f32 [%rd5], %f2;
  ret;
}
)";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "service_benchmark: %s\n", what.c_str());
  std::exit(1);
}

class EchoService : public v1::KernelService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetKernel(grpc::CallbackServerContext* context, const v1::GetKernelRequest* request,
                                      v1::Kernel* response) override {
    response->set_name(request->name());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

struct Figures {
  double calls_per_second = 0, p50_us = 0, p99_us = 0, cpu_us = 0;
};

// Processor time of this process and of the servers', seconds.
double CpuSeconds(pid_t servers) {
  double seconds = 0;
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  for (int i = 0; i < 2; ++i) {
    timespec time{};
    clock_gettime(clock, &time);
    seconds += time.tv_sec + time.tv_nsec * 1e-9;
    if (clock_getcpuclockid(servers, &clock) != 0) Fail("the servers are gone");
  }
  return seconds;
}

// Starts one call and runs the callback with its success once it is answered.
using Caller = std::function<void(std::function<void(bool)>)>;

// Keeps `outstanding` calls under way for the time given.
Figures Drive(const Caller& call, int outstanding, double seconds, pid_t servers) {
  struct Lane {
    std::vector<float> latencies;
    Clock::time_point start;
    std::function<void()> next;
  };
  std::atomic<bool> stop{false}, failed{false};
  absl::BlockingCounter running(outstanding);
  std::vector<Lane> lanes(outstanding);
  for (Lane& lane : lanes) {
    lane.next = [&, lane = &lane] {
      lane->start = Clock::now();
      call([&, lane](bool ok) {
        lane->latencies.push_back(std::chrono::duration<float, std::micro>(Clock::now() - lane->start).count());
        if (!ok) failed = true;
        if (stop || failed) return running.DecrementCount(), void();
        lane->next();
      });
    };
  }
  const double cpu = CpuSeconds(servers);
  const Clock::time_point start = Clock::now();
  for (Lane& lane : lanes) lane.next();
  while (Clock::now() - start < std::chrono::duration<double>(seconds) && !failed)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stop = true;
  running.Wait();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  if (failed) Fail("a call failed");
  std::vector<float> all;
  for (const Lane& lane : lanes) all.insert(all.end(), lane.latencies.begin(), lane.latencies.end());
  std::sort(all.begin(), all.end());
  return {all.size() / elapsed, all[all.size() / 2], all[all.size() * 99 / 100],
          (CpuSeconds(servers) - cpu) * 1e6 / all.size()};
}

// One call of a stub's method with context and response of its own.
// Sends a token unless it is empty.
template <typename Request, typename Response, typename Start>
Caller MakeCaller(const Request& request, const std::string& token, Start start) {
  struct State {
    grpc::ClientContext context;
    Response response;
  };
  return [&request, &token, start](std::function<void(bool)> done) {
    auto* state = new State;
    if (!token.empty()) state->context.AddMetadata("authorization", token);
    start(&state->context, &request, &state->response, [state, done = std::move(done)](const grpc::Status& status) {
      if (!status.ok()) std::fprintf(stderr, "service_benchmark: %s\n", status.error_message().c_str());
      delete state;
      done(status.ok());
    });
  };
}

Figures Median(std::vector<Figures> rounds) {
  std::sort(rounds.begin(), rounds.end(),
            [](const Figures& a, const Figures& b) { return a.calls_per_second < b.calls_per_second; });
  return rounds[rounds.size() / 2];
}

void Print(const char* what, int outstanding, const Figures& figures) {
  std::printf("%-30s %2d outstanding: %8.0f calls/s   p50 %7.1f us   p99 %7.1f us   cpu %5.1f us\n", what,
              outstanding, figures.calls_per_second, figures.p50_us, figures.p99_us, figures.cpu_us);
}

void PrintRatio(const char* what, int outstanding, const Figures& a, const Figures& b) {
  std::printf("%-30s %2d outstanding: %8.3f of the calls/s, %.3f of the calls per processor second\n", what, outstanding,
              a.calls_per_second / b.calls_per_second, b.cpu_us / a.cpu_us);
}

void Measure(const std::array<Caller, kServers>& callers, int outstanding, double seconds, pid_t servers) {
  for (const Caller& caller : callers) Drive(caller, outstanding, seconds / 4, servers);  // warm-up
  std::array<std::vector<Figures>, kServers> rounds;
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < callers.size(); ++i) rounds[i].push_back(Drive(callers[i], outstanding, seconds, servers));
  const Figures bare = Median(rounds[kEcho]), open = Median(rounds[kOpen]), guarded = Median(rounds[kGuarded]);
  Print("bare callback echo", outstanding, bare);
  Print("cached CompareKernels", outstanding, open);
  Print("the same with token and audit", outstanding, guarded);
  PrintRatio("CompareKernels to echo", outstanding, open, bare);
  PrintRatio("with token to without", outstanding, guarded, open);
}

// Registers the kernels and asks once.
v1::CompareKernelsRequest MakeRequest(v1::KernelService::Stub& stub, const std::string& token) {
  v1::CompareKernelsRequest request;
  int padding = 0;
  for (v1::KernelLaunch* side : {request.mutable_a(), request.mutable_b()}) {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", token);
    v1::RegisterKernelRequest registration;
    registration.set_text(kText + std::string(++padding, '\n'));
    v1::Kernel kernel;
    if (const grpc::Status status = stub.RegisterKernel(&context, registration, &kernel); !status.ok())
      Fail("registration failed: " + status.error_message());
    side->set_kernel(kernel.name());
    v1::Launch* launch = side->mutable_launch();
    launch->set_entry("scale");
    launch->mutable_block()->set_x(128);
    launch->mutable_block()->set_y(1);
    launch->mutable_block()->set_z(1);
    *launch->mutable_grid() = launch->block();
    launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("x");
    launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("y");
  }
  grpc::ClientContext context;
  if (!token.empty()) context.AddMetadata("authorization", token);
  v1::CompareKernelsResponse response;
  if (const grpc::Status status = stub.CompareKernels(&context, request, &response); !status.ok())
    Fail("comparison failed: " + status.error_message());
  if (response.comparison().verdict() != v1::Comparison::EQUIVALENT) Fail("a kernel does not equal itself");
  return request;
}

int PortOf(const std::string& address) { return std::atoi(address.c_str() + address.rfind(':') + 1); }

std::unique_ptr<server::Server> StartServer(const std::string& tokens, const std::string& audit) {
  server::ServerConfig config;
  config.listen = config.metrics_listen = "127.0.0.1:0";
  config.log_level = server::LogLevel::kWarning;
  config.token_file = tokens;
  config.audit_file = audit;
  auto server = server::Server::Start(config);
  if (!server.ok()) Fail(std::string(server.status().message()));
  return *std::move(server);
}

// Serves until `stop` closes; writes the ports to `ports`. `folder` holds the file of tokens.
void Serve(int ports, int stop, const std::string& folder) {
  const auto open = StartServer("", ""), guarded = StartServer(folder + "/tokens", folder + "/audit");
  EchoService echo;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> echo_server = builder.BuildAndStart();
  if (echo_server == nullptr) Fail("the echo server does not start");
  const std::array<int, kServers> all = {port, PortOf(open->address()), PortOf(guarded->address())};
  char end;
  if (write(ports, &all, sizeof(all)) != sizeof(all) || read(stop, &end, 1) != 0) Fail("the parent is gone");
  echo_server->Shutdown();
}

std::unique_ptr<v1::KernelService::Stub> Connect(int port) {
  return v1::KernelService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
}

Caller MakeComparer(v1::KernelService::Stub& stub, const v1::CompareKernelsRequest& request, const std::string& token) {
  return MakeCaller<v1::CompareKernelsRequest, v1::CompareKernelsResponse>(
      request, token, [&stub](auto* context, auto* in, auto* out, auto done) {
        stub.async()->CompareKernels(context, in, out, std::move(done));
      });
}

void Run(const std::array<int, kServers>& ports, const std::string& token, double seconds, pid_t servers) {
  const auto echo_stub = Connect(ports[kEcho]), open = Connect(ports[kOpen]), guarded = Connect(ports[kGuarded]);
  const std::string none;
  v1::GetKernelRequest echo_request;
  echo_request.set_name(std::string(100, 'e'));
  const v1::CompareKernelsRequest request = MakeRequest(*open, none);
  MakeRequest(*guarded, token);
  const Caller echo = MakeCaller<v1::GetKernelRequest, v1::Kernel>(
      echo_request, none, [&](auto* context, auto* in, auto* out, auto done) {
        echo_stub->async()->GetKernel(context, in, out, std::move(done));
      });
  const std::array<Caller, kServers> callers = {echo, MakeComparer(*open, request, none),
                                                MakeComparer(*guarded, request, token)};
  Measure(callers, 8, seconds, servers);
  Measure(callers, 1, seconds, servers);
}

// A file of one submitter among a hundred others; the authorization that it sends.
std::string WriteTokens(const std::string& folder) {
  std::ofstream out(folder + "/tokens");
  std::string token;
  for (int i = 0; i <= 100; ++i) {
    const auto secret = MakeSecret();
    if (!secret.ok()) Fail("no secret");
    out << Sha256Hex(*secret) << " submitter user" << i << "\n";
    token = "Bearer " + *secret;
  }
  if (!out.flush()) Fail("no token file");
  return token;
}

int Main(double seconds) {
  umask(077);
  char folder[] = "/tmp/service_benchmark_XXXXXX";
  if (mkdtemp(folder) == nullptr) Fail("no folder for the tokens");
  const std::string token = WriteTokens(folder);
  int ports[2], stop[2];
  if (pipe(ports) != 0 || pipe(stop) != 0) Fail("no pipes");
  const pid_t child = fork();  // before gRPC has threads
  if (child == 0) {
    close(stop[1]);
    Serve(ports[1], stop[0], folder);
    return 0;
  }
  close(stop[0]);
  close(ports[1]);
  std::array<int, kServers> all;
  if (read(ports[0], &all, sizeof(all)) != sizeof(all)) Fail("the servers do not start");
  Run(all, token, seconds, child);
  close(stop[1]);
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace samebits

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  if (!(seconds > 0)) {
    std::fprintf(stderr, "usage: service_benchmark [seconds per measurement]\n");
    return 2;
  }
  return samebits::Main(seconds);
}
