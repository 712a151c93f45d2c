// samebits-worker: runs the server's tasks on the devices of this machine.

#include <grpcpp/grpcpp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cpp/channel.h"
#include "workers/agent/agent.h"
#include "workers/agent/enrol.h"
#include "workers/executor/cpu/cpu_executor.h"
#include "workers/executor/cuda/cuda_executor.h"
#include "workers/executor/rocm/rocm_executor.h"
#include "workers/gemm_jobs/gemm_task.h"
#include "workers/heal/mix_task.h"

namespace samebits::workers {
namespace {

constexpr size_t kMostModels = 32;
constexpr absl::Duration kAssemblerVersionTime = absl::Seconds(20);

constexpr char kHelp[] =
    R"help(Example:
  samebits-worker --server 127.0.0.1:7433 --allow-submitted-kernels

Takes tasks from the server until SIGINT or SIGTERM. Devices: the CPU (an interpreter of PTX and AMDGCN, which refuses what
it cannot compute to the bit), the GPUs that the NVIDIA driver shows, and those that AMD's HIP shows, libamdhip64.so of
ROCm 6 or 7 (compiles and agrees with stand-ins; never executed on an AMD GPU). Kernels that users submit run only with
--allow-submitted-kernels, each task in a child process with limits of time and memory. Jobs of numerics (samebits heal)
run no foreign code; they may use synthetic models, those that --model names, and the disassemblers that are on PATH
(samebits heal instruction-mix --server). Nor do studies of libraries of matrix products (samebits profile build --server,
samebits gemm probe --server), which may use those that this machine has, and emulations (samebits gemm emulate --server):
  samebits-worker --model smollm2=/models/smollm2
Kernels run as the driver's assembler makes them, unless --ptxas names the one whose code is to be verified; reports say
which. Triton's own:
  --ptxas "$(python3 -c 'import triton, os; print(os.path.dirname(triton.__file__) + "/backends/nvidia/bin/ptxas")')")help";

struct Options {
  std::string server = "127.0.0.1:7433", id, tls_ca, tls_cert, tls_key, token_file, enrolment_file, amdgcn_clang;
  std::vector<std::string> models;
  bool no_numerics = false, no_disassembly = false, no_profiles = false, no_emulation = false;
  bool token_over_plaintext = false, no_cpu = false, no_cuda = false, no_rocm = false, allow_submitted_kernels = false;
  int cpu_sm = 0, cpu_slots = 1;
  double launch_seconds = 60;
  std::string ptxas;
  uint64_t task_memory_mib = 4096;
};

std::string HostName() {
  char name[65] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "worker";
}

void AddOptions(CLI::App* app, Options* o) {
  app->add_option("--server", o->server, "Server to work for")->envname("SAMEBITS_SERVER")->type_name("HOST:PORT");
  const auto file = [&](const char* name, std::string& value, const char* variable, const char* what) {
    app->add_option(name, value, what)->envname(variable)->type_name("FILE");
  };
  file("--tls-ca", o->tls_ca, "SAMEBITS_TLS_CA", "Certificates that sign the server's; encrypts the connection");
  file("--tls-cert", o->tls_cert, "SAMEBITS_TLS_CERT", "Certificate of this worker");
  file("--tls-key", o->tls_key, "SAMEBITS_TLS_KEY", "Its key");
  file("--token-file", o->token_file, "SAMEBITS_TOKEN_FILE", "Holds this worker's token");
  file("--enrolment", o->enrolment_file, "SAMEBITS_ENROLMENT_FILE",
       "Holds an enrolment (samebits fleet enrol), with which the token file is made where there is none");
  app->add_flag("--token-over-plaintext", o->token_over_plaintext,
                "Send the token without encryption to another machine");
  app->add_option("--id", o->id, "Name of this worker; default: the host's name")->type_name("NAME");
  app->add_flag("--allow-submitted-kernels", o->allow_submitted_kernels, "Run kernels that users submit");
  app->add_option("--model", o->models, "A model for jobs of numerics, repeatable: a folder with config.json and "
                  "safetensors, or a GGUF file, by the name that requests give it")
      ->type_name("NAME=PATH")->allow_extra_args(false);
  app->add_flag("--no-numerics", o->no_numerics, "Take no jobs of numerics");
  app->add_flag("--no-disassembly", o->no_disassembly, "Run no disassembler over submitted machine code, and compile no kernels of ours");
  app->add_flag("--no-profiles", o->no_profiles, "Take no studies of libraries of matrix products");
  app->add_flag("--no-emulation", o->no_emulation, "Emulate no matrix products (samebits gemm emulate --server) on the CPU");
  app->add_flag("--no-cpu", o->no_cpu, "Leave out the CPU");
  app->add_flag("--no-cuda", o->no_cuda, "Leave out NVIDIA GPUs");
  app->add_option("--ptxas", o->ptxas, "Assemble kernels for NVIDIA GPUs with this ptxas, as production does, and not with the driver")
      ->type_name("FILE");
  app->add_flag("--no-rocm", o->no_rocm, "Leave out AMD GPUs");
  app->add_option("--amdgcn-clang", o->amdgcn_clang, "A clang, with ld.lld beside it, that assembles AMDGCN for AMD GPUs; "
                  "default: libamd_comgr, else the clang of /opt/rocm")
      ->type_name("FILE");
  app->add_option("--cpu-sm", o->cpu_sm, "Architecture whose matrix units the CPU computes; default: each text's own")
      ->check(CLI::Range(50, 200).description(""))->type_name("N");
  app->add_option("--cpu-slots", o->cpu_slots, "Tasks at a time on the CPU")->check(CLI::Range(1, 64).description(""))
      ->type_name("N");
  app->add_option("--launch-seconds", o->launch_seconds, "Longest time of one launch on all inputs")
      ->check(CLI::Range(0.1, 86400.0).description(""))->type_name("SECONDS");
  app->add_option("--task-memory", o->task_memory_mib, "Memory of a task's process on the CPU")
      ->check(CLI::Range(64, 1 << 20).description(""))->type_name("MIB");
}

void AddGpus(const char* kind, const absl::StatusOr<std::vector<DeviceInfo>>& found, const std::string& assembler,
             std::vector<DeviceHandle>* devices) {
  if (!found.ok() && !absl::IsNotFound(found.status()))
    std::fprintf(stderr, "samebits-worker: no %s devices: %s\n", kind, std::string(found.status().message()).c_str());
  if (!found.ok()) return;
  for (size_t i = 0; i < found->size(); ++i)
    devices->push_back({(*found)[i], absl::StrCat((*found)[i].backend, ":", i), assembler});
}

std::vector<DeviceHandle> Devices(const Options& options) {
  std::vector<DeviceHandle> devices;
  for (int i = 0; !options.no_cpu && i < options.cpu_slots; ++i) {
    const auto index = static_cast<uint32_t>(devices.size());
    devices.push_back({MakeCpuExecutor({options.cpu_sm}, index)->device(), absl::StrCat("cpu:", options.cpu_sm), ""});
  }
  const auto next = [&] { return static_cast<uint32_t>(devices.size()); };
  if (!options.no_cuda) AddGpus("CUDA", ListCudaDevices(next()), "", &devices);
  if (!options.no_rocm)
    AddGpus("ROCm", ListRocmDevices(next(), options.amdgcn_clang), options.amdgcn_clang, &devices);
  return devices;
}

// Has the GPUs' kernels assembled by the program of --ptxas.
absl::Status UseAssembler(const Options& options, std::vector<DeviceHandle>* devices) {
  if (options.ptxas.empty()) return absl::OkStatus();
  char path[PATH_MAX];
  if (realpath(options.ptxas.c_str(), path) == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("--ptxas ", options.ptxas, ": ", std::strerror(errno)));
  const absl::StatusOr<std::string> version =
      AssemblerVersion({path, options.task_memory_mib << 20, kAssemblerVersionTime});
  if (!version.ok()) return absl::InvalidArgumentError(absl::StrCat("--ptxas: ", version.status().message()));
  bool has_gpu = false;
  for (DeviceHandle& device : *devices) {
    if (device.info.backend != "cuda") continue;
    has_gpu = true;
    device.assembler = path;
    device.info.assembler = *version;
  }
  return has_gpu ? absl::OkStatus() : absl::InvalidArgumentError("--ptxas: this worker has no NVIDIA GPU");
}

absl::StatusOr<std::map<std::string, std::string>> ModelsOf(const Options& options) {
  std::map<std::string, std::string> models;
  for (const std::string& text : options.models) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool is_name = !name.empty() && name.size() <= 64 && name != "synthetic" &&
                         std::all_of(name.begin(), name.end(), [](unsigned char c) {
                           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                         });
    if (equals == std::string::npos || !is_name)
      return absl::InvalidArgumentError(absl::StrCat("--model ", text, ": give NAME=PATH, the name of 1 to 64 letters, "
                                                     "digits, '-', '_' or '.', other than synthetic"));
    if (access(text.c_str() + equals + 1, R_OK) != 0)
      return absl::InvalidArgumentError(absl::StrCat("--model ", text, ": ", std::strerror(errno)));
    if (!models.emplace(name, text.substr(equals + 1)).second)
      return absl::InvalidArgumentError(absl::StrCat("--model ", text, ": the name is there twice"));
  }
  if (models.size() > kMostModels)
    return absl::InvalidArgumentError(absl::StrCat("--model: at most ", kMostModels, ", ", models.size(), " given"));
  return models;
}

AgentConfig ConfigOf(const Options& options) {
  AgentConfig config;
  config.worker = options.id.empty() ? HostName() : options.id;
  config.version = SAMEBITS_VERSION;
  config.devices = Devices(options);
  config.runs_submitted_kernels = options.allow_submitted_kernels;
  config.limits.launch_timeout = absl::Seconds(options.launch_seconds);
  config.limits.memory_bytes = config.numerics_limits.memory_bytes = config.profile_limits.memory_bytes =
      options.task_memory_mib << 20;
  config.runs_numerics = !options.no_numerics;
  config.cpu_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / options.cpu_slots);
  if (config.runs_numerics) config.instruction_sources = FindInstructionSources(!options.no_disassembly);
  for (const DeviceHandle& device : config.devices) {
    const std::string& backend = device.info.backend;
    config.emulates_gemms = config.emulates_gemms || (backend == "cpu" && !options.no_emulation);
    if (!options.no_profiles && !config.gemm_libraries.contains(backend)) config.gemm_libraries[backend] = ProfiledLibraries(backend);
  }
  return config;
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  client::ClientOptions file;
  file.token_file = path;
  return client::ReadToken(file);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "samebits-worker: error: %s\n", std::string(status.message()).c_str());
  return 2;
}

// A channel to the server, and the worker's token, which is made with the enrolment where there is none yet.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const Options& options, AgentConfig* config) {
  client::ClientOptions connection;
  connection.target = options.server;
  connection.tls_ca = options.tls_ca;
  connection.tls_cert = options.tls_cert;
  connection.tls_key = options.tls_key;
  connection.token_file = options.token_file;
  connection.token_over_plaintext = options.token_over_plaintext;
  if (!options.enrolment_file.empty() && options.token_file.empty())
    return absl::InvalidArgumentError("--enrolment needs --token-file, where the worker keeps its token");
  const auto credentials = client::MakeCredentials(connection);
  if (!credentials.ok())
    return absl::InvalidArgumentError(absl::StrReplaceAll(
        credentials.status().message(), {{"tls_ca", "--tls-ca"}, {"token_over_plaintext", "--token-over-plaintext"}}));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(options.server, *credentials, arguments);
  if (!options.enrolment_file.empty()) {
    const absl::StatusOr<std::string> enrolment = ReadTokenFile(options.enrolment_file);
    if (!enrolment.ok()) return enrolment.status();
    const absl::Status status = Enrol(channel, config->worker, *enrolment, options.token_file);
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::string> token = ReadTokenFile(options.token_file);
  if (!token.ok()) return token.status();
  config->token = *std::move(token);
  return channel;
}

int Work(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // threads started from here inherit it
  AgentConfig config = ConfigOf(options);
  absl::StatusOr<std::map<std::string, std::string>> models = ModelsOf(options);
  if (!models.ok()) return Fail(models.status());
  config.models = *std::move(models);
  if (const absl::Status status = UseAssembler(options, &config.devices); !status.ok()) return Fail(status);
  if (config.devices.empty()) return Fail(absl::InvalidArgumentError("no device to work with"));
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Connect(options, &config);
  if (!channel.ok()) return Fail(channel.status());
  const auto agent = MakeAgent(config, *channel);
  std::printf("samebits-worker %s, worker %s for %s, devices: %zu\n", SAMEBITS_VERSION, config.worker.c_str(),
              options.server.c_str(), config.devices.size());
  std::fflush(stdout);
  std::thread stopper([&] {
    int received = 0;
    sigwait(&signals, &received);
    agent->Stop();
  });
  const absl::Status status = agent->Run();
  pthread_kill(stopper.native_handle(), SIGUSR1);
  stopper.join();
  return status.ok() ? 0 : Fail(status);
}

}  // namespace
}  // namespace samebits::workers

int main(int argc, char** argv) {
  using namespace samebits::workers;
  if (argc > 1 && std::strcmp(argv[1], kChildCommand) == 0) return ChildMain(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], kNumericsChildCommand) == 0) return NumericsChildMain(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], kProfileChildCommand) == 0) return ProfileChildMain(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], kGemmChildCommand) == 0) return GemmChildMain(argc, argv);
  Options options;
  CLI::App app("samebits-worker: runs tasks of a samebits server on this machine's devices", "samebits-worker");
  app.footer(std::string("\n") + kHelp);
  app.set_version_flag("--version", std::string(SAMEBITS_VERSION));
  AddOptions(&app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return Work(options);
}
