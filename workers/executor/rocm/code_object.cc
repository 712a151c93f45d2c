#include "workers/executor/rocm/code_object.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/tools.h"
#include "workers/executor/rocm/comgr.h"

namespace samebits::workers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostWords = 1000;

class ComgrAssembler : public Assembler {
 public:
  explicit ComgrAssembler(std::shared_ptr<const Comgr> comgr) : comgr_(std::move(comgr)) {}
  std::string Version() const override { return absl::StrCat("comgr ", comgr_->version()); }
  absl::StatusOr<std::string> Assemble(const AssemblerInput& input) const override {
    return comgr_->Assemble(input.text, input.Triple());
  }

 private:
  const std::shared_ptr<const Comgr> comgr_;
};

// A folder of its own, removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "samebits-XXXXXX").string();
    if (!error && mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string path_;
};

class ClangAssembler : public Assembler {
 public:
  explicit ClangAssembler(std::string program) : program_(std::move(program)) {}
  std::string Version() const override {
    std::string said;
    const absl::Status status = heal::RunTool({program_, "--version"}, "", [&](std::string_view more) {
      said.append(more.substr(0, kMostWords));
      return absl::OkStatus();
    });
    constexpr std::string_view kMark = "clang version ";
    const size_t at = said.find(kMark);
    if (!status.ok() || at == std::string::npos) return "clang";
    const size_t begin = at + kMark.size();
    return absl::StrCat("clang ", said.substr(begin, said.find_first_of(" \n-+", begin) - begin));
  }
  absl::StatusOr<std::string> Assemble(const AssemblerInput& input) const override {
    const ScratchFolder folder;
    if (folder.path().empty()) return absl::UnavailableError("no folder of temporary files can be written on the worker");
    std::ofstream source(folder.path() + "/kernel.s", std::ios::binary);
    source << input.text;
    source.close();
    if (!source) return absl::UnavailableError("a temporary file cannot be written on the worker");
    const absl::Status status =
        heal::RunTool({program_, "-target", "amdgcn-amd-amdhsa", absl::StrCat("-mcpu=", input.processor), "-x", "assembler",
                       "kernel.s", "-o", "kernel.co"},
                      folder.path(), [](std::string_view) { return absl::OkStatus(); });
    if (absl::IsFailedPrecondition(status))
      return absl::InvalidArgumentError(absl::StrCat("the text does not assemble: ", status.message().substr(0, kMostWords)));
    if (!status.ok()) return status;
    std::ifstream made(folder.path() + "/kernel.co", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(made), {}};
    if (bytes.empty()) return absl::InternalError(absl::StrCat(program_, " made no code object"));
    return bytes;
  }

 private:
  const std::string program_;
};

bool IsProgram(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler(const std::string& clang) {
  if (IsProgram(clang)) return std::make_unique<ClangAssembler>(fs::absolute(clang).string());  // it runs in another folder
  if (!clang.empty()) return absl::UnavailableError(absl::StrCat("--amdgcn-clang: ", clang, " is no program"));
  absl::StatusOr<std::shared_ptr<const Comgr>> comgr = Comgr::Load();
  if (comgr.ok()) return std::make_unique<ComgrAssembler>(*std::move(comgr));
  for (const char* path : {"/opt/rocm/llvm/bin/clang", "/opt/rocm/lib/llvm/bin/clang"})
    if (IsProgram(path)) return std::make_unique<ClangAssembler>(path);
  return absl::UnavailableError(absl::StrCat("no assembler of AMDGCN: ", comgr.status().message(),
                                             "; --amdgcn-clang may name a clang with ld.lld beside it"));
}

}  // namespace samebits::workers
