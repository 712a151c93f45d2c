#ifndef SAMEBITS_CORE_BASE_SHA256_H_
#define SAMEBITS_CORE_BASE_SHA256_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace samebits {

// SHA-256 (FIPS 180-4) of `data`.
std::array<uint8_t, 32> Sha256(std::string_view data);
// Lower-case hex of the whole digest.
std::string Sha256Hex(std::string_view data);

// The same of data that comes in pieces, of which another process may take over after each.
class Sha256Stream {
 public:
  // The inverse of Save; nullopt for bytes that it does not give.
  static std::optional<Sha256Stream> Load(std::string_view state);
  void Update(std::string_view data);
  // Of what has come so far.
  std::array<uint8_t, 32> Digest() const;
  std::string Save() const;

 private:
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t bytes_ = 0;
  std::array<char, 64> tail_{};  // bytes_ % 64 of them wait for more
};

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_SHA256_H_
