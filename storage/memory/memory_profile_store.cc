#include "storage/memory/memory_profile_store.h"

namespace samebits::storage {
namespace {

absl::Status NotFound() { return absl::NotFoundError("no such arch profile"); }

}  // namespace

absl::StatusOr<ProfileRecord> MemoryProfileStore::PutProfile(const ProfileRecord& profile, std::string_view text) {
  absl::MutexLock lock(&mutex_);
  const auto [at, created] = profiles_.try_emplace(profile.digest, profile, std::string(text));
  ProfileRecord& stored = at->second.first;
  if (created) stored.create_time = absl::FromUnixMicros(absl::ToUnixMicros(stored.create_time));
  return stored;
}

absl::StatusOr<ProfileRecord> MemoryProfileStore::GetProfile(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  const auto at = profiles_.find(digest);
  return at == profiles_.end() ? absl::StatusOr<ProfileRecord>(NotFound()) : at->second.first;
}

absl::StatusOr<std::string> MemoryProfileStore::GetProfileText(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  const auto at = profiles_.find(digest);
  return at == profiles_.end() ? absl::StatusOr<std::string>(NotFound()) : at->second.second;
}

absl::StatusOr<std::vector<ProfileRecord>> MemoryProfileStore::ListProfiles() {
  absl::MutexLock lock(&mutex_);
  std::vector<ProfileRecord> profiles;
  for (const auto& [digest, profile] : profiles_) profiles.push_back(profile.first);
  return profiles;
}

absl::Status MemoryProfileStore::DeleteProfile(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  return profiles_.erase(digest) == 1 ? absl::OkStatus() : NotFound();
}

}  // namespace samebits::storage
