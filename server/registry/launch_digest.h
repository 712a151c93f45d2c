#ifndef SAMEBITS_SERVER_REGISTRY_LAUNCH_DIGEST_H_
#define SAMEBITS_SERVER_REGISTRY_LAUNCH_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/checker/checker.h"
#include "server/registry/digest.h"

namespace samebits::server {

// What counts as equal; part of a signature's key.
struct CheckOptions {
  bool ignore_signed_zero = false;
  bool strict_contraction = false;
};

// The bytes that identify a launch and its options: one encoding per value, different values encode differently.
// Stored in databases by digest: a change of the encoding takes a new leading byte. `float_widths` as in KernelLaunch.
void EncodeLaunch(const checker::Launch& launch, const std::vector<uint8_t>& float_widths, const CheckOptions& options,
                  std::string* out);

// Digest of that encoding.
Digest LaunchDigest(const checker::Launch& launch, const std::vector<uint8_t>& float_widths,
                    const CheckOptions& options);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_LAUNCH_DIGEST_H_
