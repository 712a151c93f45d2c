#include "proto/convert/device.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace samebits::proto {

std::string LibrariesText(const v1::Device& device) {
  return absl::StrJoin(device.libraries(), ", ", [](std::string* out, const v1::Device::Library& library) {
    absl::StrAppend(out, library.name(), " ", library.version());
  });
}

}  // namespace samebits::proto
