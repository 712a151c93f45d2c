// Cached CompareKernels against a bare callback echo in one run: calls a second, their ratio, and latencies, at 8
// calls outstanding and at 1.
//
//   service_benchmark [seconds per measurement, default 2]
//
// Both servers use gRPC's callback API on loopback, in one child process, and are driven by the same client loop. The
// echo returns 100 bytes and does nothing else; it is the ceiling of this machine. CompareKernels names two registered
// kernels whose signatures are in memory. Echo and compare alternate, and the median round counts. Exit code 0 where
// all calls succeeded. The processor time of a call (both processes, both ends) is printed too: on a machine that does
// other things it is the steadier figure.

#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "server/server.h"

namespace samebits {
namespace {

using Clock = std::chrono::steady_clock;

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
template <typename Request, typename Response, typename Start>
Caller MakeCaller(const Request& request, Start start) {
  struct State {
    grpc::ClientContext context;
    Response response;
  };
  return [&request, start](std::function<void(bool)> done) {
    auto* state = new State;
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
  std::printf("%-22s %2d outstanding: %8.0f calls/s   p50 %7.1f us   p99 %7.1f us   cpu %5.1f us\n", what,
              outstanding, figures.calls_per_second, figures.p50_us, figures.p99_us, figures.cpu_us);
}

void Measure(const Caller& echo, const Caller& compare, int outstanding, double seconds, pid_t servers) {
  Drive(echo, outstanding, seconds / 4, servers);  // warm-up
  Drive(compare, outstanding, seconds / 4, servers);
  std::vector<Figures> echoes, compares;
  for (int round = 0; round < 3; ++round) {
    echoes.push_back(Drive(echo, outstanding, seconds, servers));
    compares.push_back(Drive(compare, outstanding, seconds, servers));
  }
  const Figures bare = Median(echoes), cached = Median(compares);
  Print("bare callback echo", outstanding, bare);
  Print("cached CompareKernels", outstanding, cached);
  std::printf("%-22s %2d outstanding: %8.3f of the calls/s, %.3f of the calls per processor second\n", "ratio",
              outstanding, cached.calls_per_second / bare.calls_per_second, bare.cpu_us / cached.cpu_us);
}

v1::CompareKernelsRequest MakeRequest(v1::KernelService::Stub& stub) {
  v1::CompareKernelsRequest request;
  int padding = 0;
  for (v1::KernelLaunch* side : {request.mutable_a(), request.mutable_b()}) {
    grpc::ClientContext context;
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
  v1::CompareKernelsResponse response;
  if (const grpc::Status status = stub.CompareKernels(&context, request, &response); !status.ok())
    Fail("comparison failed: " + status.error_message());
  if (response.comparison().verdict() != v1::Comparison::EQUIVALENT) Fail("a kernel does not equal itself");
  return request;
}

// Serves both until `stop` closes; writes the two ports to `ports`.
void Serve(int ports, int stop) {
  server::ServerConfig config;
  config.listen = "127.0.0.1:0";
  config.metrics_listen = "127.0.0.1:0";
  config.log_level = server::LogLevel::kWarning;
  const auto server = server::Server::Start(config);
  if (!server.ok()) Fail(std::string(server.status().message()));
  EchoService echo;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> echo_server = builder.BuildAndStart();
  if (echo_server == nullptr) Fail("the echo server does not start");
  const std::string address = (*server)->address();
  const int both[2] = {port, std::atoi(address.c_str() + address.rfind(':') + 1)};
  char end;
  if (write(ports, both, sizeof(both)) != sizeof(both) || read(stop, &end, 1) != 0) Fail("the parent is gone");
  echo_server->Shutdown();
}

std::unique_ptr<v1::KernelService::Stub> Connect(int port) {
  return v1::KernelService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
}

void Run(int echo_port, int port, double seconds, pid_t servers) {
  const auto stub = Connect(port), echo_stub = Connect(echo_port);
  v1::GetKernelRequest echo_request;
  echo_request.set_name(std::string(100, 'e'));
  const v1::CompareKernelsRequest request = MakeRequest(*stub);
  const Caller echo = MakeCaller<v1::GetKernelRequest, v1::Kernel>(
      echo_request, [&](auto* context, auto* in, auto* out, auto done) {
        echo_stub->async()->GetKernel(context, in, out, std::move(done));
      });
  const Caller compare = MakeCaller<v1::CompareKernelsRequest, v1::CompareKernelsResponse>(
      request, [&](auto* context, auto* in, auto* out, auto done) {
        stub->async()->CompareKernels(context, in, out, std::move(done));
      });
  Measure(echo, compare, 8, seconds, servers);
  Measure(echo, compare, 1, seconds, servers);
}

int Main(double seconds) {
  int ports[2], stop[2];
  if (pipe(ports) != 0 || pipe(stop) != 0) Fail("no pipes");
  const pid_t child = fork();  // before gRPC has threads
  if (child == 0) {
    close(stop[1]);
    Serve(ports[1], stop[0]);
    return 0;
  }
  close(stop[0]);
  close(ports[1]);
  int both[2];
  if (read(ports[0], both, sizeof(both)) != sizeof(both)) Fail("the servers do not start");
  Run(both[0], both[1], seconds, child);
  close(stop[1]);
  int status = 0;
  waitpid(child, &status, 0);
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
