#ifndef SAMEBITS_STORAGE_SQLITE_TIMES_H_
#define SAMEBITS_STORAGE_SQLITE_TIMES_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace samebits::storage::sqlite {

// Times as stored: microseconds since the epoch; InfiniteFuture is the largest number.
inline int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
inline absl::Time FromMicros(int64_t micros) {
  return micros == std::numeric_limits<int64_t>::max() ? absl::InfiniteFuture() : absl::FromUnixMicros(micros);
}

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_TIMES_H_
