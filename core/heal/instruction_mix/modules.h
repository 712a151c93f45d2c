#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_MODULES_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_MODULES_H_

// Files with machine code -> their code objects, each of which one disassembler reads.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/code_object.h"
#include "core/heal/instruction_mix/disassembly.h"

namespace samebits::heal {

// A folder of its own below TMPDIR (/tmp), removed with all in it. Those that killed processes of this user left there are
// removed when the next is made.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)), lock_(other.lock_) {
    other.path_.clear();
    other.lock_ = -1;
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // descriptor that is locked as long as the folder is in use
};

struct Module {
  std::string path;
  std::string name;  // for people: the file; "libx.so: libx.7.sm_90a.cubin" of a member
  FileKind kind = FileKind::kCubin;
};

// The code objects of a file, which people know as `name`, extracted into `folder` where it holds several: at most
// `most_bytes` together (RESOURCE_EXHAUSTED; 0: any number). A file of text is a module of itself.
absl::StatusOr<std::vector<Module>> ModulesOf(const std::string& path, const std::string& name, const std::string& target,
                                              const std::string& folder, uint64_t most_bytes = 0);

// The mixes of a module's kernels. Modules without a kernel that passes the filter are not disassembled.
absl::StatusOr<DisassemblyMixes> MixesOf(const Module& module, const MixFilter& filter);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_MODULES_H_
