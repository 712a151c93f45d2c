#ifndef SAMEBITS_STORAGE_MEMORY_MEMORY_PROFILE_STORE_H_
#define SAMEBITS_STORAGE_MEMORY_MEMORY_PROFILE_STORE_H_

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "storage/profile_store.h"

namespace samebits::storage {

// Keeps everything in memory; lost with the object.
class MemoryProfileStore : public ProfileStore {
 public:
  absl::StatusOr<ProfileRecord> PutProfile(const ProfileRecord& profile, std::string_view text) override;
  absl::StatusOr<ProfileRecord> GetProfile(const Digest& digest) override;
  absl::StatusOr<std::string> GetProfileText(const Digest& digest) override;
  absl::StatusOr<std::vector<ProfileRecord>> ListProfiles() override;
  absl::Status DeleteProfile(const Digest& digest) override;

 private:
  absl::Mutex mutex_;
  std::map<Digest, std::pair<ProfileRecord, std::string>> profiles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_MEMORY_MEMORY_PROFILE_STORE_H_
