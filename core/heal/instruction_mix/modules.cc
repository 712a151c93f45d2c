#include "core/heal/instruction_mix/modules.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/tools.h"

namespace samebits::heal {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderPrefix[] = "samebits-mix-";
constexpr time_t kAbandonedSeconds = 60;  // younger ones may not have their lock yet
constexpr uint64_t kMostImage = 1ull << 30;  // bytes of a code object that is read for its section names

// Folders whose locks nobody holds.
void RemoveAbandoned(const std::string& root) {
  std::error_code error;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(kFolderPrefix)) continue;
    const int fd = open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    const bool abandoned = fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
                           about.st_mtime + kAbandonedSeconds < time(nullptr) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    std::error_code ignored;
    if (abandoned) fs::remove_all(at->path(), ignored);
    if (fd >= 0) close(fd);
  }
}

absl::StatusOr<std::string> Head(const std::string& path, const std::string& name) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat(name, ": no such file"));
  if (fs::is_directory(path, error)) return absl::InvalidArgumentError(absl::StrCat(name, " is a folder: name its files"));
  std::ifstream in(path, std::ios::binary);
  std::string head(1024, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (in.bad() || (in.gcount() == 0 && !in.eof())) return absl::PermissionDeniedError(absl::StrCat(name, ": cannot be read"));
  head.resize(static_cast<size_t>(in.gcount()));
  if (head.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": empty"));
  return head;
}

absl::StatusOr<std::string> Members(const std::string& file, const std::string& target) {
  if (target.empty()) return "all";
  const bool named = target.starts_with("sm_") && target.size() <= 8 &&
                     std::all_of(target.begin() + 3, target.end(), [](unsigned char c) { return std::isalnum(c); });
  if (!named) return absl::InvalidArgumentError(absl::StrCat("target '", target, "' for ", file, ": expected sm_90, sm_90a, ..."));
  // Part of the members' names: "sm_90" also stands in "sm_90a".
  return absl::StrCat(".", target);
}

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (const uint64_t size = entry.file_size(error); !error) bytes += size;
  return bytes;
}

absl::StatusOr<std::vector<Module>> Extract(const std::string& path, const std::string& file, const std::string& target,
                                            const std::string& folder, uint64_t most_bytes) {
  const absl::StatusOr<std::string> tool = FindTool(Tool::kCuobjdump);
  if (!tool.ok()) return absl::Status(tool.status().code(), absl::StrCat(file, ": ", tool.status().message()));
  const absl::StatusOr<std::string> members = Members(file, target);
  if (!members.ok()) return members.status();
  std::string said;
  const auto check = [&] {
    if (most_bytes == 0 || BytesIn(folder) <= most_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("its code objects have more than ", most_bytes >> 20,
                                                     " MiB together: name a target, or count where the file is"));
  };
  absl::Status status = RunTool({*tool, "-xelf", *members, fs::absolute(path).string()}, folder, [&](std::string_view text) {
    said.append(text.substr(0, 2000 - std::min<size_t>(2000, said.size())));
    return check();
  });
  if (status.ok()) status = check();
  if (absl::IsResourceExhausted(status)) return absl::ResourceExhaustedError(absl::StrCat(file, ": ", status.message()));
  std::vector<Module> modules;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".cubin")) modules.push_back({entry.path().string(), absl::StrCat(file, ": ", name), FileKind::kCubin});
  }
  if (modules.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": no CUDA machine code", target.empty() ? "" : absl::StrCat(" for ", target), " in it (cuobjdump -lelf lists what it has",
        "; for AMD code in a host program extract it first: llvm-objdump --offloading). ", status.ok() ? said : std::string(status.message())));
  }
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(file, ": ", status.message(), " (space for extraction: TMPDIR)"));
  std::sort(modules.begin(), modules.end(), [](const Module& a, const Module& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return modules;
}

// Whether disassembling it can give a kernel that passes.
bool MayHaveKernels(const Module& module, const MixFilter& filter) {
  std::error_code error;
  const uint64_t size = fs::file_size(module.path, error);
  if (error || size > kMostImage) return true;
  std::string image(size, '\0');
  if (!std::ifstream(module.path, std::ios::binary).read(image.data(), static_cast<std::streamsize>(size))) return true;
  const auto names = TextSections(image);
  if (!names) return true;
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) { return IsKernel(filter, name); });
}

absl::StatusOr<DisassemblyMixes> Disassemble(const Module& module, Tool which, const std::vector<std::string>& flags,
                                             const std::string& target, const MixFilter& filter) {
  const absl::StatusOr<std::string> tool = FindTool(which);
  if (!tool.ok()) return absl::Status(tool.status().code(), absl::StrCat(module.name, ": ", tool.status().message()));
  std::vector<std::string> command = {*tool};
  command.insert(command.end(), flags.begin(), flags.end());
  command.push_back(fs::absolute(module.path).string());
  DisassemblyReader reader(module.name, target, filter);
  const absl::Status status = RunTool(command, "", [&](std::string_view text) { return reader.Feed(text); });
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(module.name, ": ", status.message()));
  absl::StatusOr<std::vector<KernelMix>> kernels = reader.Finish();
  if (!kernels.ok()) return kernels.status();
  return DisassemblyMixes{*std::move(kernels), reader.kernels_seen()};
}

}  // namespace

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  const char* variable = std::getenv("TMPDIR");
  const std::string root = variable == nullptr || *variable == '\0' ? "/tmp" : variable;
  RemoveAbandoned(root);
  std::string path = absl::StrCat(root, "/", kFolderPrefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::UnavailableError(absl::StrCat("cannot make a folder ", path, " (TMPDIR)"));
  const int lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0) flock(lock, LOCK_SH | LOCK_NB);
  return TemporaryFolder(path, lock);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<std::vector<Module>> ModulesOf(const std::string& path, const std::string& file, const std::string& target,
                                              const std::string& folder, uint64_t most_bytes) {
  const absl::StatusOr<std::string> head = Head(path, file);
  if (!head.ok()) return head.status();
  const FileKind kind = KindOf(*head);
  switch (kind) {
    case FileKind::kCubin:
    case FileKind::kAmdgcn:
    case FileKind::kText: return std::vector<Module>{{path, file, kind}};
    case FileKind::kHostElf:
    case FileKind::kFatbin:
    case FileKind::kArchive: return Extract(path, file, target, folder, most_bytes);
    case FileKind::kHipBundle:
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": a bundle of code objects; take one out first: clang-offload-bundler --unbundle --type=o --targets=TARGET --input=",
          file, " --output=OUT.co"));
    case FileKind::kPtx:
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": PTX is not machine code, its instructions are chosen later; compile it first: ptxas -arch=sm_90 -o OUT.cubin ", file));
  }
  return absl::InternalError("unknown kind of file");
}

absl::StatusOr<DisassemblyMixes> MixesOf(const Module& module, const MixFilter& filter) {
  switch (module.kind) {
    case FileKind::kCubin:
      if (!MayHaveKernels(module, filter)) return DisassemblyMixes();
      return Disassemble(module, Tool::kNvdisasm, {"-c", "-ndf"}, "", filter);
    case FileKind::kAmdgcn: {
      const absl::StatusOr<std::string> head = Head(module.path, module.name);
      if (!head.ok()) return head.status();
      return Disassemble(module, Tool::kLlvmObjdump, {"-d"}, AmdgcnTarget(*head), filter);
    }
    default: break;
  }
  std::ifstream text(module.path, std::ios::binary);
  return ReadDisassembly(text, module.name, filter);
}

}  // namespace samebits::heal
