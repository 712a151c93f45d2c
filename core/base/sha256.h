#ifndef SAMEBITS_CORE_BASE_SHA256_H_
#define SAMEBITS_CORE_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace samebits {

// SHA-256 (FIPS 180-4) of `data`.
std::array<uint8_t, 32> Sha256(std::string_view data);
// Lower-case hex of the whole digest.
std::string Sha256Hex(std::string_view data);

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_SHA256_H_
