#include "core/base/secret.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace samebits {
namespace {

constexpr char kPrefix[] = "samebits_";
constexpr size_t kSecretBytes = 32;

}  // namespace

absl::StatusOr<std::string> MakeSecret() {
  char bytes[kSecretBytes];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) return absl::InternalError("no random bytes");
  return absl::StrCat(kPrefix, absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes))));
}

absl::Status WriteSecretFile(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, ": is there"));
  const std::string line = text + "\n";
  const bool written = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                       fsync(fd) == 0;
  const std::string reason = std::strerror(errno);
  if (fd >= 0) close(fd);
  if (written) return absl::OkStatus();
  if (fd >= 0) unlink(path.c_str());
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written: ", reason));
}

}  // namespace samebits
