#include "client/cli/heal_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/sha256.h"

namespace samebits::cli {
namespace {

// A line "samebits-heal-journal/1 SHA256"; then for each unit a line "unit INDEX SIZE SHA256", SIZE bytes, a line break.
constexpr char kMagic[] = "samebits-heal-journal/1 ";
constexpr off_t kMostBytes = off_t{4} << 30;

// The unit at `at`, and *at after it; nullopt where none is whole there.
std::optional<std::pair<int64_t, std::string>> TakeUnit(const std::string& text, size_t* at) {
  const size_t end = text.find('\n', *at);
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(text.substr(*at, end - *at), ' ');
  int64_t index = 0, size = 0;
  if (words.size() != 4 || words[0] != "unit" || !absl::SimpleAtoi(words[1], &index) || index < 0 ||
      !absl::SimpleAtoi(words[2], &size) || size < 0 || size > heal::kMostRecordBytes)
    return std::nullopt;
  const size_t begin = end + 1, next = begin + static_cast<size_t>(size) + 1;
  if (next > text.size() || text[next - 1] != '\n') return std::nullopt;
  std::string record = text.substr(begin, static_cast<size_t>(size));
  if (Sha256Hex(record) != words[3]) return std::nullopt;
  *at = next;
  return std::pair(index, std::move(record));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HealJournal>> HealJournal::Open(const std::string& path, const std::string& identity) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be opened: ", std::strerror(errno)));
  std::unique_ptr<HealJournal> journal(new HealJournal(path, fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(absl::StrCat(path, ": another process has it open"));
  if (absl::Status status = journal->Load(identity); !status.ok()) return status;
  return journal;
}

HealJournal::~HealJournal() { close(fd_); }

absl::Status HealJournal::Error(const char* what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", what, ": ", std::strerror(errno)));
}

absl::Status HealJournal::Load(const std::string& identity) {
  struct stat about;
  if (fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is no journal"));
  std::string text(static_cast<size_t>(about.st_size), '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = pread(fd_, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (n <= 0) return Error("cannot be read");
    at += static_cast<size_t>(n);
  }
  const std::string header = absl::StrCat(kMagic, Sha256Hex(identity), "\n");
  // A header that was cut off is one of a run that had no unit yet.
  if (text.empty() || (text.size() < header.size() && header.starts_with(text))) {
    if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return Error("cannot be written");
    return Write(header);
  }
  if (!text.starts_with(kMagic)) return absl::InvalidArgumentError(absl::StrCat(path_, ": is no journal"));
  if (!text.starts_with(header))
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is the journal of another job, model or device; give the "
                                                          "options that it was begun with, or another file"));
  size_t at = header.size();
  while (auto unit = TakeUnit(text, &at)) records_.insert(*std::move(unit));
  if (ftruncate(fd_, static_cast<off_t>(at)) != 0 || lseek(fd_, 0, SEEK_END) < 0) return Error("cannot be written");
  return absl::OkStatus();
}

absl::Status HealJournal::Write(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(fd_, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error("cannot be written");
    at += static_cast<size_t>(n);
  }
  return fdatasync(fd_) == 0 ? absl::OkStatus() : Error("cannot be written");
}

absl::Status HealJournal::Add(int64_t index, const std::string& record) {
  return Write(absl::StrCat("unit ", index, " ", record.size(), " ", Sha256Hex(record), "\n", record, "\n"));
}

}  // namespace samebits::cli
