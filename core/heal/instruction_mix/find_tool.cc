#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/heal/instruction_mix/tools.h"

namespace samebits::heal {
namespace {

namespace fs = std::filesystem;

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsProgram(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

std::vector<std::string> PathFolders() { return absl::StrSplit(Env("PATH"), ':', absl::SkipEmpty()); }

// Folders of Triton's copies of NVIDIA's tools.
std::vector<std::string> TritonFolders() {
  std::vector<std::string> roots;
  if (const std::string root = Env("VIRTUAL_ENV"); !root.empty()) roots.push_back(root);
  for (const std::string& folder : PathFolders())
    if (IsProgram(folder + "/python3")) roots.push_back(fs::path(folder).parent_path().string());
  roots.insert(roots.end(), {"/usr", "/usr/local"});
  if (const std::string home = Env("HOME"); !home.empty()) roots.push_back(home + "/.local");
  std::vector<std::string> out;
  for (const std::string& root : roots)
    for (const char* packages : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages", "/lib/python3/dist-packages"})
      for (const std::string& found : Glob(absl::StrCat(root, packages, "/triton/backends/nvidia/bin"))) out.push_back(found);
  return out;
}

absl::StatusOr<std::string> FindNvidia(const std::string& name) {
  if (name == "nvdisasm") {
    const std::string given = Env("NVDISASM_PATH");
    if (IsProgram(given)) return given;
    if (IsProgram(given + "/nvdisasm")) return given + "/nvdisasm";
  }
  std::vector<std::string> folders = PathFolders();
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string root = Env(variable); !root.empty()) folders.push_back(root + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  for (std::string& folder : TritonFolders()) folders.push_back(std::move(folder));
  for (const std::string& folder : folders)
    if (IsProgram(absl::StrCat(folder, "/", name))) return absl::StrCat(folder, "/", name);
  return absl::NotFoundError(absl::StrCat(
      name, " is not on PATH, in bin of CUDA_HOME, CUDA_PATH or /usr/local/cuda, nor in a Triton package of the Python on ",
      "PATH. It comes with the CUDA toolkit (package cuda-", name, "-13-0 of NVIDIA's repositories) and with `pip install ",
      "triton`; or disassemble elsewhere and give the text"));
}

int VersionOf(const std::string& path) {
  int version = 0;
  return absl::SimpleAtoi(path.substr(path.rfind('-') + 1), &version) ? version : 0;
}

absl::StatusOr<std::string> FindLlvm() {
  for (const std::string& root : {Env("ROCM_PATH"), std::string("/opt/rocm")})
    if (!root.empty() && IsProgram(root + "/llvm/bin/llvm-objdump")) return root + "/llvm/bin/llvm-objdump";
  std::vector<std::string> found;
  std::string plain;
  for (const std::string& folder : PathFolders()) {
    if (plain.empty() && IsProgram(folder + "/llvm-objdump")) plain = folder + "/llvm-objdump";
    for (std::string& path : Glob(folder + "/llvm-objdump-[1-9]*"))
      if (IsProgram(path)) found.push_back(std::move(path));
  }
  const auto best = std::max_element(found.begin(), found.end(),
                                     [](const auto& a, const auto& b) { return VersionOf(a) < VersionOf(b); });
  if (best != found.end()) return *best;
  if (!plain.empty()) return plain;
  return absl::NotFoundError(
      "llvm-objdump is not in ROCM_PATH, /opt/rocm/llvm/bin or on PATH. It comes with ROCm and with `apt install llvm` (of a "
      "version that knows the target); or disassemble elsewhere and give the text");
}

}  // namespace

absl::StatusOr<std::string> FindTool(Tool tool) {
  switch (tool) {
    case Tool::kCuobjdump: return FindNvidia("cuobjdump");
    case Tool::kNvdisasm: return FindNvidia("nvdisasm");
    case Tool::kLlvmObjdump: return FindLlvm();
  }
  return absl::InternalError("no such tool");
}

}  // namespace samebits::heal
