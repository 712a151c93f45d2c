#include "storage/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::storage::sqlite {

absl::StatusOr<FileLock> FileLock::Acquire(const std::string& path) {
  FileLock lock;
  lock.fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock.fd_ < 0) return absl::FailedPreconditionError(absl::StrCat("cannot create ", path, ": ", strerror(errno)));
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is locked: another server uses this database; stop it or give another path"));
  return lock;
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace samebits::storage::sqlite
