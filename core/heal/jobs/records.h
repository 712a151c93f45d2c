#ifndef SAMEBITS_CORE_HEAL_JOBS_RECORDS_H_
#define SAMEBITS_CORE_HEAL_JOBS_RECORDS_H_

// Reading and writing of records. Private to this folder; RecordError and Json's exceptions end in job.cc.

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/heal/statistics/summary.h"
#include "nlohmann/json.hpp"

namespace samebits::heal {

using Json = nlohmann::json;

class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Many doubles, bit for bit: base64 of their little-endian bytes.
std::string PackDoubles(std::span<const double> values);
std::vector<double> UnpackDoubles(const Json& packed, size_t count);  // throws RecordError for another count

// [count, mean, squares].
Json ToJson(const Moments& moments);
Moments MomentsFrom(const Json& json);

// The array at `key`, which must have `count` elements.
template <typename T>
std::vector<T> ReadList(const Json& record, const char* key, size_t count) {
  std::vector<T> list = record.at(key).get<std::vector<T>>();
  if (list.size() != count) throw RecordError(std::string(key) + " has another length than planned");
  return list;
}

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_RECORDS_H_
