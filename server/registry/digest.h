#ifndef SAMEBITS_SERVER_REGISTRY_DIGEST_H_
#define SAMEBITS_SERVER_REGISTRY_DIGEST_H_

// Content digests and the resource names made of them.

#include <optional>
#include <string>
#include <string_view>

#include "storage/kernel_store.h"

namespace samebits::server {

using storage::Digest;

// SHA-256, by the processor's instructions where it has them.
Digest ContentDigest(std::string_view bytes);

std::string DigestHex(const Digest& digest);                // 64 lower-case hex digits
std::optional<Digest> ParseDigestHex(std::string_view hex);  // of exactly that form

std::string KernelName(const Digest& digest);               // "kernels/{sha256}"
std::optional<Digest> ParseKernelName(std::string_view name);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_DIGEST_H_
