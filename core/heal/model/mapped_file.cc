#include "core/heal/model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

absl::Status Failure(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failure(path, errno);
  struct stat about = {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(file);
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a plain file"));
  }
  const size_t size = static_cast<size_t>(about.st_size);
  void* const address = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (address == MAP_FAILED) return Failure(path, error);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, {static_cast<const uint8_t*>(address), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace samebits::heal
