#ifndef SAMEBITS_CORE_CHECKER_MEMO_H_
#define SAMEBITS_CORE_CHECKER_MEMO_H_

// Signatures of texts that were seen before under other names or with other debug lines.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/hash.h"
#include "core/checker/checker.h"
#include "core/isa/module.h"

namespace samebits::checker {

// Thread-safe. Keeps only status OK: what else a check answers names lines of its text, or depends on limits.
class SignatureMemo {
 public:
  // `capacity`: signatures kept; when there are more, all are dropped.
  explicit SignatureMemo(size_t capacity = 1 << 16) : capacity_(capacity) {}

  // Equal keys: an equal computation (isa::Fingerprint) under an equal launch and options.
  static Digest128 KeyOf(const isa::Module& module, uint32_t entry, const Launch& launch, const Options& options);

  std::shared_ptr<const Signature> Find(const Digest128& key) const;  // null if none is known
  void Keep(const Digest128& key, const Signature& signature);
  size_t size() const;

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::map<Digest128, std::shared_ptr<const Signature>> known_;
};

// As ComputeSignature (checker.h); a text whose computation `memo` knows is parsed but not executed, its times of those
// stages and its counts of steps and nodes are then zero.
absl::StatusOr<Signature> ComputeSignature(std::string_view text, const Launch& launch, const Options& options,
                                           SignatureMemo* memo);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_MEMO_H_
