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

constexpr char kVariable[] = "SAMEBITS_AMDGCN_CLANG";
constexpr size_t kMostWords = 1000;

std::string_view Strip(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

// "gfx942:xnack-" of a line that ends in `...-gfx942:xnack-"`; empty where there is none.
std::string ProcessorIn(std::string_view line) {
  const size_t begin = line.rfind("gfx");
  if (begin == std::string_view::npos) return "";
  size_t end = begin;
  while (end < line.size() && (absl::ascii_isalnum(static_cast<unsigned char>(line[end])) || line[end] == ':' ||
                               line[end] == '+' || line[end] == '-'))
    ++end;
  return std::string(line.substr(begin, end - begin));
}

class ComgrAssembler : public Assembler {
 public:
  explicit ComgrAssembler(std::shared_ptr<const Comgr> comgr) : comgr_(std::move(comgr)) {}
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

absl::StatusOr<AssemblerInput> PrepareForAssembler(std::string_view text) {
  AssemblerInput input;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at), stripped = Strip(line);
    at = end + 1;
    const bool is_target = stripped.substr(0, 14) == ".amdgcn_target";
    if (is_target || stripped.substr(0, 14) == "amdhsa.target:") {
      const std::string processor = ProcessorIn(stripped);
      if (is_target && input.processor.empty()) input.processor = processor;
      if (processor.empty() || input.processor != processor)
        return absl::InvalidArgumentError(absl::StrCat("the text names two processors, or none: ", std::string(stripped)));
      absl::StrAppend(&input.text, is_target ? ".amdgcn_target \"" : "amdhsa.target: '", input.Triple(), is_target ? "\"" : "'");
    } else if (stripped.substr(0, 5) != ".size" || (stripped.size() > 5 && stripped[5] != ' ' && stripped[5] != '\t')) {
      absl::StrAppend(&input.text, absl::string_view(line.data(), line.size()));
    }
    input.text += '\n';
  }
  if (input.processor.empty()) return absl::InvalidArgumentError("the text has no .amdgcn_target: the processor is not known");
  return input;
}

absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler() {
  if (const char* named = std::getenv(kVariable); named != nullptr && *named != '\0') {
    if (IsProgram(named)) return std::make_unique<ClangAssembler>(fs::absolute(named).string());  // it runs in another folder
    return absl::UnavailableError(absl::StrCat("--amdgcn-clang: ", named, " is no program"));
  }
  absl::StatusOr<std::shared_ptr<const Comgr>> comgr = Comgr::Load();
  if (comgr.ok()) return std::make_unique<ComgrAssembler>(*std::move(comgr));
  for (const char* path : {"/opt/rocm/llvm/bin/clang", "/opt/rocm/lib/llvm/bin/clang"})
    if (IsProgram(path)) return std::make_unique<ClangAssembler>(path);
  return absl::UnavailableError(absl::StrCat("no assembler of AMDGCN: ", comgr.status().message(),
                                             "; --amdgcn-clang may name a clang with ld.lld beside it"));
}

}  // namespace samebits::workers
