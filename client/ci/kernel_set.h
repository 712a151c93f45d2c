#ifndef SAMEBITS_CLIENT_CI_KERNEL_SET_H_
#define SAMEBITS_CLIENT_CI_KERNEL_SET_H_

// The kernels of a build, as files on disk.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launch/launch_spec.h"

namespace samebits::ci {

// One entry of one text.
struct SetKernel {
  // What a kernel is found again by in another build; several kernels of a build may share it. A file's path below the
  // folder without its suffix, "#ENTRY" where the text has several; of a Triton cache, whose paths name contents,
  // "NAME [sm_90, 4 warps, 3 stages]" or "NAME [gfx942, ...]"; of a manifest the id.
  std::string key;
  std::string path;                         // of the file
  std::shared_ptr<const std::string> text;  // null where `status` says why
  launch::LaunchSpec spec;
  std::string digest;                       // of text and launch: equal digests are one program
  absl::Status status;
};

// Bounds on one set.
inline constexpr size_t kMaxSetFiles = 200'000;
inline constexpr uint64_t kMaxSetBytes = 8ull << 30;

// Reads `path`, in the order of paths: a folder of PTX, AMDGCN assembler texts (.amdgcn, .s), fat binaries, objects and libraries (a Triton cache is known by
// its metadata; launches lie beside texts as docs/cli.md says), one such file, or a manifest (*.jsonl). A file that
// cannot be used is a kernel with its status set, which names the file. An error only for the set as a whole: no such
// path, no kernels, over a bound.
absl::StatusOr<std::vector<SetKernel>> ReadKernelSet(const std::string& path);

}  // namespace samebits::ci

#endif  // SAMEBITS_CLIENT_CI_KERNEL_SET_H_
