#ifndef SAMEBITS_CORE_BASE_SECRET_H_
#define SAMEBITS_CORE_BASE_SECRET_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits {

// 256 bits of the system's random source as text: "samebits_" and 64 hex digits.
absl::StatusOr<std::string> MakeSecret();

// Makes a file that only its owner may read, with this text and a line break; it is on the disk when this returns.
// ALREADY_EXISTS where the path is taken, INVALID_ARGUMENT with the system's reason where it cannot be written.
absl::Status WriteSecretFile(const std::string& path, const std::string& text);

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_SECRET_H_
