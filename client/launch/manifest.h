#ifndef SAMEBITS_CLIENT_LAUNCH_MANIFEST_H_
#define SAMEBITS_CLIENT_LAUNCH_MANIFEST_H_

// Launches in files: manifest rows (JSON Lines), sidecars (one JSON object beside a kernel), kernel texts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/launch/launch_spec.h"

namespace samebits::launch {

// One kernel of a manifest.
struct ManifestRow {
  std::string id;    // "line N" where the row could not be read
  std::string path;  // of the kernel text, resolved against the manifest's folder
  LaunchSpec spec;
  absl::Status status;  // why the row is unusable; names manifest and line
  size_t line = 0;      // 1-based
};

// Longest line and most rows that a manifest may have.
inline constexpr size_t kMaxJsonBytes = 16u << 20;
inline constexpr size_t kMaxManifestRows = 1'000'000;

// The launch in one JSON object: fields entry, block, grid, shared, args, outputs, buffers, each optional or null;
// others are ignored, but one that looks like a misspelt field is an error, and so is any other of a buffer. buffers: an object from names to objects with dtype, elements, role, values ("unit"), low, high. args: an array of null or of objects with one of ptr, scratch, i32, u32, i64, u64, f32, f64, bits, bytes.
// Numbers may be strings ("0x3f800000" is a pattern). `origin` begins each message.
absl::StatusOr<LaunchSpec> ParseLaunchJson(std::string_view json, std::string_view origin);

// Rows in file order; blank lines are skipped. A bad row, or an id that an earlier row has, is a row with its status
// set. An error only where the manifest as a whole is unusable: unreadable, no rows, or no row that can be read.
absl::StatusOr<std::vector<ManifestRow>> ReadManifest(const std::string& path);

// The same from text; `folder` resolves relative paths, `origin` names the manifest in messages.
absl::StatusOr<std::vector<ManifestRow>> ParseManifest(std::string_view text, std::string_view folder,
                                                       std::string_view origin);

// The sidecar of kernel `path` ("dir/a.ptx": "dir/a.launch.json", else "dir/a.json"), or nullopt.
std::optional<std::string> FindSidecar(const std::string& path);

// Reads and parses a launch file.
absl::StatusOr<LaunchSpec> ReadLaunchFile(const std::string& path);

// Whole content of a file, or of standard input for "-". RESOURCE_EXHAUSTED beyond `max_bytes`; otherwise the
// system's reason with the path.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_MANIFEST_H_
