#include "storage/sqlite/group_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace samebits::storage::sqlite {

absl::StatusOr<GroupSync> GroupSync::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return absl::FailedPreconditionError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  return GroupSync(fd);
}

GroupSync::State::~State() { close(fd); }

void GroupSync::Wrote() {
  absl::MutexLock lock(&state_->mutex);
  ++state_->written;
}

bool GroupSync::IsSynced() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->synced == state_->written;
}

absl::Status GroupSync::health() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->error;
}

absl::Status GroupSync::Await() {
  State& s = *state_;
  absl::MutexLock lock(&s.mutex);
  const uint64_t wanted = s.written;
  while (s.synced < wanted && s.error.ok()) {
    if (s.syncing) {
      s.mutex.Await(absl::Condition(+[](State* state) { return !state->syncing; }, &s));
      continue;
    }
    s.syncing = true;
    const uint64_t covered = s.written;
    s.mutex.Unlock();
    const int error = fdatasync(s.fd) == 0 ? 0 : errno;
    s.mutex.Lock();
    s.syncing = false;
    if (error == 0) {
      s.synced = covered;
    } else {
      s.error = absl::InternalError(absl::StrCat("the database cannot be written to disk (", strerror(error),
                                                 "); restart the server when the disk is sound"));
    }
  }
  return s.error;
}

}  // namespace samebits::storage::sqlite
