#include "core/heal/jobs/records.h"

#include <bit>
#include <cstring>

#include "absl/strings/escaping.h"

namespace samebits::heal {

static_assert(std::endian::native == std::endian::little);

std::string PackDoubles(std::span<const double> values) {
  return absl::Base64Escape(
      absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)));
}

std::vector<double> UnpackDoubles(const Json& packed, size_t count) {
  std::string bytes;
  if (!absl::Base64Unescape(packed.get<std::string>(), &bytes) || bytes.size() != count * sizeof(double)) {
    throw RecordError("packed numbers are cut or damaged");
  }
  std::vector<double> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Json ToJson(const Moments& moments) { return Json::array({moments.count(), moments.mean(), moments.squares()}); }

Moments MomentsFrom(const Json& json) {
  if (!json.is_array() || json.size() != 3) throw RecordError("moments need three numbers");
  return Moments(json[0].get<int64_t>(), json[1].get<double>(), json[2].get<double>());
}

}  // namespace samebits::heal
