#include "storage/sqlite/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/file_lock.h"
#include "storage/sqlite/migrations.h"

namespace samebits::storage::sqlite {
namespace {

constexpr absl::Duration kBusyTimeout = absl::Seconds(10);
constexpr int kFirstSchemaWithJobs = 2;
// More leases and sessions than any server gives between two backups.
constexpr char kSkipCounters[] =
    "UPDATE counters SET value = value + 4294967296 WHERE name IN ('lease_token', 'session')";

absl::Status AtPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status SystemError(const std::string& path, const char* what) {
  const int error = errno;
  const absl::StatusCode code = error == ENOSPC || error == EDQUOT ? absl::StatusCode::kResourceExhausted
                                : error == EEXIST                  ? absl::StatusCode::kAlreadyExists
                                                                   : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code, absl::StrCat(path, ": ", what, ": ", strerror(error)));
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status Sync(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "cannot be opened");
  const bool ok = fsync(fd) == 0;
  const absl::Status status = ok ? absl::OkStatus() : SystemError(path, "cannot be written to disk");
  close(fd);
  return status;
}

// A file beside the target that goes with the object unless it took the target's place.
class PartialFile {
 public:
  static absl::StatusOr<PartialFile> Create(const std::string& target) {
    PartialFile file;
    std::string path = target + ".partial.XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return SystemError(target, "cannot be made");
    close(fd);
    file.path_ = path;
    return file;
  }
  PartialFile(PartialFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile() {
    if (path_.empty()) return;
    for (const char* part : {"", "-journal", "-wal", "-shm"}) unlink((path_ + part).c_str());
  }
  const std::string& path() const { return path_; }

  // Takes the place of `target`, which is not there.
  absl::Status Become(const std::string& target) {
    if (absl::Status status = Sync(path_, O_RDWR); !status.ok()) return status;
    bool done = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0;
    if (!done && errno == EINVAL) {  // the file system knows no such flag
      done = link(path_.c_str(), target.c_str()) == 0;
      if (done) unlink(path_.c_str());
    }
    if (!done) return SystemError(target, "cannot be made");
    path_.clear();
    return Sync(FolderOf(target), O_RDONLY | O_DIRECTORY);
  }

 private:
  PartialFile() = default;
  std::string path_;
};

// Copies, and makes the copy a file that needs no other.
absl::Status Copy(const std::string& from, const std::string& to, bool skip_counters) {
  absl::StatusOr<Connection> source = Connection::Open(from, Connection::Mode::kReadOnly, kBusyTimeout);
  if (!source.ok()) return AtPath(from, source.status());
  const absl::StatusOr<int> version = ReadSchemaVersion(*source);
  if (!version.ok()) return AtPath(from, version.status());
  absl::StatusOr<Connection> target = Connection::Open(to, Connection::Mode::kReadWriteCreate, kBusyTimeout);
  if (!target.ok()) return AtPath(to, target.status());
  if (absl::Status status = source->CopyInto(*target); !status.ok()) return AtPath(to, status);
  const absl::StatusOr<std::string> mode = target->QueryText("PRAGMA journal_mode = DELETE");
  if (!mode.ok()) return AtPath(to, mode.status());
  if (*mode != "delete") return absl::InternalError(absl::StrCat(to, ": the copy keeps a log of its own"));
  const absl::StatusOr<std::string> damage = target->QueryText("PRAGMA quick_check(1)");
  if (!damage.ok()) return AtPath(to, damage.status());
  if (*damage != "ok") return absl::DataLossError(absl::StrCat(from, ": damaged: ", *damage));
  if (!skip_counters || *version < kFirstSchemaWithJobs) return absl::OkStatus();
  absl::Status status = target->Execute(kSkipCounters);
  return status.ok() ? status : AtPath(to, status);
}

// Moves the database with its log aside.
absl::StatusOr<std::string> MoveAside(const std::string& path) {
  const std::string aside =
      absl::StrCat(path, ".before-", absl::FormatTime("%Y%m%dT%H%M%E6S", absl::Now(), absl::UTCTimeZone()));
  const bool was_there = Exists(path);
  for (const char* part : {"", "-wal", "-shm"})
    if (Exists(path + part) && rename((path + part).c_str(), (aside + part).c_str()) != 0)
      return SystemError(path + part, "cannot be moved aside");
  return was_there ? aside : std::string();
}

}  // namespace

absl::Status CopyDatabase(const std::string& path, const std::string& copy) {
  if (!Exists(path)) return absl::NotFoundError(absl::StrCat(path, ": there is no database"));
  if (Exists(copy)) return absl::AlreadyExistsError(absl::StrCat(copy, ": is there already; give a new name"));
  absl::StatusOr<PartialFile> partial = PartialFile::Create(copy);
  if (!partial.ok()) return partial.status();
  if (absl::Status status = Copy(path, partial->path(), /*skip_counters=*/false); !status.ok()) return status;
  return partial->Become(copy);
}

absl::StatusOr<std::string> RestoreDatabase(const std::string& backup, const std::string& path, bool replace) {
  if (!Exists(backup)) return absl::NotFoundError(absl::StrCat(backup, ": there is no such file"));
  absl::StatusOr<FileLock> lock = FileLock::Acquire(path + ".lock");
  if (!lock.ok()) return lock.status();
  if (Exists(path) && !replace)
    return absl::AlreadyExistsError(absl::StrCat(path, ": a database is there already"));
  absl::StatusOr<PartialFile> partial = PartialFile::Create(path);
  if (!partial.ok()) return partial.status();
  if (absl::Status status = Copy(backup, partial->path(), /*skip_counters=*/true); !status.ok()) return status;
  absl::StatusOr<std::string> aside = MoveAside(path);
  if (!aside.ok()) return aside.status();
  if (absl::Status status = partial->Become(path); !status.ok()) return status;
  return aside;
}

}  // namespace samebits::storage::sqlite
