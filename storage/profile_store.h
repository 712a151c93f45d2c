#ifndef SAMEBITS_STORAGE_PROFILE_STORE_H_
#define SAMEBITS_STORAGE_PROFILE_STORE_H_

// Arch profiles and their texts. Implementations: memory/, sqlite/.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/kernel_store.h"

namespace samebits::storage {

struct ProfileRecord {
  Digest digest{};           // of the text
  absl::Time create_time;    // kept to the microsecond
  std::string description;   // what the text holds; the store does not look into it
};

// Thread-safe; calls may block on I/O. Errors common to all calls as KernelStore's.
class ProfileStore {
 public:
  virtual ~ProfileStore() = default;

  // Stores the text under profile.digest, durably, and returns the record as stored; what was there before stays as it
  // was.
  virtual absl::StatusOr<ProfileRecord> PutProfile(const ProfileRecord& profile, std::string_view text) = 0;
  // NOT_FOUND where there is none.
  virtual absl::StatusOr<ProfileRecord> GetProfile(const Digest& digest) = 0;
  virtual absl::StatusOr<std::string> GetProfileText(const Digest& digest) = 0;
  virtual absl::StatusOr<std::vector<ProfileRecord>> ListProfiles() = 0;  // ascending by digest
  virtual absl::Status DeleteProfile(const Digest& digest) = 0;           // NOT_FOUND where there is none
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_PROFILE_STORE_H_
