// Writes the machine code that a process loads onto its GPU, whatever loads it: for `samebits heal instruction-mix` of
// kernels that no file holds, as those that a library makes while it runs.
//
//   CUDA_INJECTION64_PATH=$PWD/libsamebits_module_dump.so SAMEBITS_MODULE_DUMP=FOLDER PROGRAM ...
//
// CUDA loads this library into the process and calls InitializeInjection (CUPTI, "Injection"). Each module becomes
// FOLDER/module-NUMBER.cubin; modules that were written before, by their bytes, are left out. libcupti.so is opened at run
// time; SAMEBITS_CUPTI names another. What goes wrong is said on standard error and stops the writing, not the program.

#include <cupti.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace {

constexpr int kMostModules = 20000;

struct Dump {
  std::mutex mutex;
  std::string folder;
  std::set<size_t> seen;  // hashes of bytes
  bool failed = false;
};

Dump& TheDump() {
  static Dump* dump = new Dump;  // callbacks may come while the process ends
  return *dump;
}

void Write(std::string_view cubin) {
  Dump& dump = TheDump();
  const std::lock_guard<std::mutex> lock(dump.mutex);
  if (dump.failed || dump.seen.size() >= kMostModules) return;
  if (!dump.seen.insert(std::hash<std::string_view>()(cubin)).second) return;
  const std::string path = dump.folder + "/module-" + std::to_string(dump.seen.size()) + ".cubin";
  std::ofstream out(path, std::ios::binary);
  if (out.write(cubin.data(), static_cast<std::streamsize>(cubin.size())) && out.flush()) return;
  dump.failed = true;
  std::fprintf(stderr, "module dump: %s cannot be written; SAMEBITS_MODULE_DUMP must name a folder\n", path.c_str());
}

void CUPTIAPI OnEvent(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor);
  if (module != nullptr && module->pCubin != nullptr) Write({module->pCubin, module->cubinSize});
}

bool Subscribe() {
  const char* named = std::getenv("SAMEBITS_CUPTI");
  void* library = dlopen(named != nullptr ? named : "libcupti.so", RTLD_NOW);
  if (library == nullptr && named == nullptr) library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) library = dlopen("libcupti.so.12", RTLD_NOW);
  if (library == nullptr) return false;
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto enable = reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(library, "cuptiEnableCallback"));
  static CUpti_SubscriberHandle subscriber = nullptr;
  return subscribe != nullptr && enable != nullptr && subscribe(&subscriber, OnEvent, nullptr) == CUPTI_SUCCESS &&
         enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED) == CUPTI_SUCCESS;
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* folder = std::getenv("SAMEBITS_MODULE_DUMP");
  if (folder == nullptr) {
    std::fprintf(stderr, "module dump: SAMEBITS_MODULE_DUMP names no folder; nothing is written\n");
    return 1;
  }
  TheDump().folder = folder;
  if (!Subscribe()) std::fprintf(stderr, "module dump: libcupti.so is not found or does not take part; nothing is written\n");
  return 1;
}
