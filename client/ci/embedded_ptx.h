#ifndef SAMEBITS_CLIENT_CI_EMBEDDED_PTX_H_
#define SAMEBITS_CLIENT_CI_EMBEDDED_PTX_H_

// PTX inside compiled files: fat binaries, and objects, libraries and programs that hold some.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace samebits::ci {

struct EmbeddedPtx {
  std::string text;
  uint32_t architecture = 0;  // 90 for sm_90
};

// Bounds on one file.
inline constexpr size_t kMaxEmbeddedTexts = 4096;
inline constexpr size_t kMaxEmbeddedTextBytes = 16u << 20;  // of one text
inline constexpr size_t kMaxEmbeddedBytes = 1u << 30;       // of all

// Texts in the order of the file; plain ones and those compressed by LZ4 or Zstandard, which are what nvcc writes.
// NOT_FOUND where the file holds machine code but no PTX, or nothing of the kind at all; INVALID_ARGUMENT where a
// container is damaged; UNIMPLEMENTED for another compression; RESOURCE_EXHAUSTED beyond a bound.
absl::StatusOr<std::vector<EmbeddedPtx>> ExtractPtx(std::string_view bytes);

}  // namespace samebits::ci

#endif  // SAMEBITS_CLIENT_CI_EMBEDDED_PTX_H_
