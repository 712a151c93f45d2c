// With fake_hip_device.cc stands in for libamdhip64.so: devices with memory of their own, whose kernels the interpreter
// executes. It loads what fake_comgr.cc makes. Handles, sizes, kinds of copies and the order of calls are checked, with HIP's
// numbers of errors; a fault ends the process with the words of AMD's runtime. A text with "; stand-in: FUNCTION returns N"
// makes that function return N.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/interpreter/amdgcn/interpreter.h"
#include "core/isa/amdgcn/parser.h"
#include "tests/support/fake_gpu/fake_code_object.h"
#include "tests/support/fake_gpu/fake_hip_device.h"

namespace samebits::fake_gpu {
namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidDirection = 21, kInvalidImage = 200, kNoBinaryForGpu = 209,
              kInvalidHandle = 400, kNotFound = 500, kLaunchFailure = 719;

struct Module {
  std::string text;
  isa::Module parsed;
};
struct Function {
  const Module* module;
  std::string kernel;
};
struct Launch {
  Function function;
  interpreter::LaunchConfig config;
};

// Leaked: it is used until the process ends.
struct State {
  interpreter::Memory memory;
  std::map<uint64_t, uint64_t> allocations;  // bytes by address
  uint64_t used = 0;
  std::map<void*, std::unique_ptr<Module>> modules;
  std::map<void*, std::unique_ptr<Function>> functions;
  std::vector<Launch> queue;  // launches that have not begun
};
State& state() {
  static State* const state = new State();
  return *state;
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The bytes of device memory, nullptr where they are not all inside one allocation.
uint8_t* Device(const void* pointer, size_t bytes) {
  const uint64_t address = AddressOf(pointer);
  auto at = state().allocations.upper_bound(address);
  if (at == state().allocations.begin()) return nullptr;
  --at;
  if (address + bytes > at->first + at->second) return nullptr;
  return state().memory.Find(address, bytes);
}

// What a text makes `function` return.
int Told(const std::string& text, const char* function) {
  const std::string mark = std::string("; stand-in: ") + function + " returns ";
  const size_t at = text.find(mark);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
}

[[noreturn]] void Abort(const absl::Status& why) {
  std::fprintf(stderr, "%s\n", std::string(why.message()).c_str());
  std::fputs(absl::IsOutOfRange(why)
                 ? "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7000. Reason: Page not present or supervisor privilege.\n"
                 : ":0:rocdevice.cpp:3006: Callback: Queue 0x1 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a "
                   "hardware exception. code: 0x1016\n",
             stderr);
  std::abort();
}

int RunQueue() {
  std::vector<Launch> queue;
  queue.swap(state().queue);
  for (Launch& launch : queue) {
    if (const int told = Told(launch.function.module->text, "hipDeviceSynchronize"); told != 0) return told;
    const auto result = interpreter::RunAmdgcn(launch.function.module->parsed, launch.function.kernel, launch.config, state().memory);
    if (!result.ok()) Abort(result.status());
  }
  return 0;
}

}  // namespace
}  // namespace samebits::fake_gpu

using namespace samebits::fake_gpu;

extern "C" {

int hipMalloc(void** pointer, size_t bytes) {
  if (bytes == 0) return *pointer = nullptr, 0;
  if (state().used + bytes > kMemoryBytes) return kOutOfMemory;
  const uint64_t address = state().memory.Allocate(std::vector<uint8_t>(bytes, 0xab));
  state().allocations[address] = bytes;
  state().used += bytes;
  return *pointer = reinterpret_cast<void*>(address), 0;
}
int hipFree(void* pointer) {
  const auto at = state().allocations.find(AddressOf(pointer));
  if (at == state().allocations.end()) return pointer == nullptr ? 0 : kInvalidValue;
  const int error = RunQueue();
  state().used -= at->second;
  state().allocations.erase(at);
  return error;
}
int hipMemset(void* to, int value, size_t bytes) {
  uint8_t* const at = Device(to, bytes);
  if (at == nullptr) return kInvalidValue;
  if (const int error = RunQueue(); error != 0) return error;
  return std::memset(at, value, bytes), 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  if (kind != 1 && kind != 2) return kInvalidDirection;
  uint8_t* const at = Device(kind == 1 ? to : from, bytes);
  if (at == nullptr) return kInvalidValue;
  if (const int error = RunQueue(); error != 0) return error;
  return kind == 1 ? std::memcpy(at, from, bytes) : std::memcpy(to, at, bytes), 0;
}
int hipMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, int) { return kInvalidValue; }
int hipDeviceSynchronize() { return RunQueue(); }

int hipModuleLoadData(void** module, const void* image) {
  std::optional<std::string> text = TextOf(kExecutable, static_cast<const char*>(image));
  if (!text) return kInvalidImage;
  if (const int told = Told(*text, "hipModuleLoadData"); told != 0) return told;
  auto parsed = samebits::isa::amdgcn::Parse(*text);
  if (!parsed.ok()) return kInvalidImage;
  const std::string processor = CurrentDevice().architecture;
  if (processor.substr(0, processor.find(':')) != parsed->amdgcn->target) return kNoBinaryForGpu;
  auto loaded = std::make_unique<Module>(Module{*std::move(text), *std::move(parsed)});
  *module = loaded.get();
  state().modules[*module] = std::move(loaded);
  return 0;
}
int hipModuleUnload(void* module) {
  if (!state().modules.contains(module)) return kInvalidHandle;
  const int error = RunQueue();
  std::erase_if(state().functions, [&](const auto& f) { return f.second->module == module; });
  state().modules.erase(module);
  return error;
}
int hipModuleGetFunction(void** function, void* module, const char* kernel) {
  if (!state().modules.contains(module)) return kInvalidHandle;
  const Module& found = *state().modules[module];
  if (*kernel == '\0' || found.parsed.FindEntry(kernel) == samebits::isa::kNone32) return kNotFound;
  auto made = std::make_unique<Function>(Function{&found, kernel});
  *function = made.get();
  state().functions[*function] = std::move(made);
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_bytes, void* stream, void** parameters, void** extra) {
  if (!state().functions.contains(function)) return kInvalidHandle;
  const Function& found = *state().functions[function];
  if (const int told = Told(found.module->text, "hipModuleLaunchKernel"); told != 0) return told;
  const auto& kernel = found.module->parsed.amdgcn->kernels[found.module->parsed.FindEntry(found.kernel)];
  const uint64_t items = uint64_t{bx} * by * bz;
  if (stream != nullptr || extra != nullptr || gx == 0 || gy == 0 || gz == 0 || items == 0 || items > 1024) return kInvalidValue;
  if (kernel.group_segment_bytes + uint64_t{shared_bytes} > kLdsBytes) return kInvalidValue;
  if (kernel.explicit_arguments != 0 && parameters == nullptr) return kInvalidValue;
  if (kernel.max_workgroup != 0 && items > kernel.max_workgroup) return kLaunchFailure;
  Launch launch{found, {}};
  launch.config.grid = {gx, gy, gz};
  launch.config.block = {bx, by, bz};
  launch.config.shared_bytes = shared_bytes;
  launch.config.max_steps = ~uint64_t{0};
  for (uint32_t i = 0; i < kernel.explicit_arguments; ++i) {
    const auto* bytes = static_cast<const uint8_t*>(parameters[i]);
    launch.config.args.emplace_back(bytes, bytes + kernel.arguments[i].size);
  }
  state().queue.push_back(std::move(launch));
  return 0;
}

// Allocations and modules that are still there.
int samebits_fake_hip_live() { return static_cast<int>(state().allocations.size() + state().modules.size()); }

}  // extern "C"
