#ifndef SAMEBITS_STORAGE_SQLITE_FILE_LOCK_H_
#define SAMEBITS_STORAGE_SQLITE_FILE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace samebits::storage::sqlite {

// Exclusive advisory lock on a file of its own, held by the process until the object goes or the process dies.
class FileLock {
 public:
  // FAILED_PRECONDITION where another process or object holds it, or the file cannot be made.
  static absl::StatusOr<FileLock> Acquire(const std::string& path);
  FileLock() = default;
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  int fd_ = -1;
};

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_FILE_LOCK_H_
