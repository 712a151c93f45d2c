#ifndef SAMEBITS_SERVER_RPC_CALL_GATE_H_
#define SAMEBITS_SERVER_RPC_CALL_GATE_H_

#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace samebits::server {

// Counts the calls inside, and refuses new ones once closed. gRPC's own shutdown breaks off calls that arrive while
// it begins; behind a closed gate they get a proper answer. Thread-safe.
class CallGate {
 public:
  // False once closed; each true needs one Leave.
  bool Enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return true;
    inside_.fetch_sub(1);
    return false;
  }
  void Leave() { inside_.fetch_sub(1); }
  void Close() { closed_.store(true); }
  // Waits until nobody is inside; false if that takes beyond `deadline`.
  bool AwaitEmpty(absl::Time deadline) const {
    while (inside_.load() != 0) {
      if (absl::Now() >= deadline) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }

 private:
  std::atomic<int64_t> inside_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_CALL_GATE_H_
