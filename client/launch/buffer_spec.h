#ifndef SAMEBITS_CLIENT_LAUNCH_BUFFER_SPEC_H_
#define SAMEBITS_CLIENT_LAUNCH_BUFFER_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace samebits::launch {

// What a buffer holds when a launch is run: samebits.v1.BufferSpec as a user writes it. Types are the server's to check.
struct BufferDescription {
  enum class Role : uint8_t { kInOut, kIn, kOut };
  std::string name, type;
  uint64_t elements = 0;
  Role role = Role::kInOut;
  bool unit = false;
  std::optional<int64_t> low, high;
  friend bool operator==(const BufferDescription&, const BufferDescription&) = default;
};

// NAME=TYPE:ELEMENTS and then, each once and in any order, :in, :out or :inout, :unit, :LOW..HIGH. INVALID_ARGUMENT
// with the text and what to write.
absl::StatusOr<BufferDescription> ParseBuffer(std::string_view text);

// nullopt where `word` is no role.
std::optional<BufferDescription::Role> ParseRole(std::string_view word);

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_BUFFER_SPEC_H_
