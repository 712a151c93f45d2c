#include "server/registry/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace samebits::server {
namespace {

constexpr std::string_view kKernels = "kernels/";

// Value of each hex digit, -1 for other characters.
constexpr std::array<int8_t, 256> MakeDigitTable() {
  std::array<int8_t, 256> table{};
  for (int8_t& v : table) v = -1;
  for (int i = 0; i < 10; ++i) table['0' + i] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) table['a' + i] = static_cast<int8_t>(10 + i);
  return table;
}
constexpr std::array<int8_t, 256> kDigits = MakeDigitTable();

}  // namespace

Digest ContentDigest(std::string_view bytes) {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Digest digest;
  unsigned int size = 0;
  const bool ok = algorithm != nullptr &&
                  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm, nullptr) == 1 &&
                  size == digest.size();
  if (!ok) {
    std::fputs("samebits: libcrypto computes no SHA-256\n", stderr);
    std::abort();
  }
  return digest;
}

std::string DigestHex(const Digest& digest) {
  std::string hex;
  hex.reserve(64);
  for (const uint8_t byte : digest) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

std::optional<Digest> ParseDigestHex(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = kDigits[static_cast<uint8_t>(hex[2 * i])], low = kDigits[static_cast<uint8_t>(hex[2 * i + 1])];
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string KernelName(const Digest& digest) { return std::string(kKernels) + DigestHex(digest); }

std::optional<Digest> ParseKernelName(std::string_view name) {
  if (name.substr(0, kKernels.size()) != kKernels) return std::nullopt;
  return ParseDigestHex(name.substr(kKernels.size()));
}

}  // namespace samebits::server
