#ifndef SAMEBITS_CORE_HEAL_MODEL_MAPPED_FILE_H_
#define SAMEBITS_CORE_HEAL_MODEL_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace samebits::heal {

// A file mapped for reading, as long as this lives. Whoever shortens it meanwhile kills the process (SIGBUS).
class MappedFile {
 public:
  // NOT_FOUND, INVALID_ARGUMENT (not a plain file), UNAVAILABLE with the path.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  MappedFile(std::string path, std::span<const uint8_t> bytes) : path_(std::move(path)), bytes_(bytes) {}
  const std::string path_;
  const std::span<const uint8_t> bytes_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_MAPPED_FILE_H_
