// Tells ThreadSanitizer what Abseil's locks order. Distributions build Abseil without the sanitizer, which then sees
// none of its synchronisation and reports races everywhere. Linked into tests of sanitizer builds only: defines the
// functions again, so that all calls come here, and calls the real ones.

#include <dlfcn.h>

#include <cstdlib>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);

// Conditions are evaluated inside Abseil, under the lock, after the release that is told of; and the reference counts
// of a Status are not seen.
const char* __tsan_default_suppressions() {
  return "race:absl::*::Mutex::UnlockSlow\nrace:absl::*::Mutex::LockSlow\nrace:absl::*::Mutex::Await\n"
         "race:absl::*::Condition::\nrace:absl::*::status_internal\n";
}
}

namespace {

template <typename Function>
Function Real(const char* symbol) {
  void* const found = dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function>(found);
}

// Mangled name of `absl::<inline namespace>::<rest>`.
#define SAMEBITS_STRING(x) #x
#define SAMEBITS_EXPAND(x) SAMEBITS_STRING(x)
#define SAMEBITS_REAL(rest, ...)                                                                              \
  static const auto real = Real<__VA_ARGS__>("_ZN4absl7" SAMEBITS_EXPAND(ABSL_OPTION_INLINE_NAMESPACE_NAME) rest)

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  SAMEBITS_REAL("5Mutex4LockEv", void (*)(Mutex*));
  real(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  SAMEBITS_REAL("5Mutex6UnlockEv", void (*)(Mutex*));
  __tsan_release(this);
  real(this);
}

void Mutex::Await(const Condition& condition) {
  SAMEBITS_REAL("5Mutex5AwaitERKNS0_9ConditionE", void (*)(Mutex*, const Condition&));
  __tsan_release(this);
  real(this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  SAMEBITS_REAL("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                bool (*)(Mutex*, const Condition&, Duration));
  __tsan_release(this);
  const bool result = real(this, condition, timeout);
  __tsan_acquire(this);
  return result;
}

void Notification::Notify() {
  SAMEBITS_REAL("12Notification6NotifyEv", void (*)(Notification*));
  __tsan_release(this);
  real(this);
}

void Notification::WaitForNotification() const {
  static const auto real = Real<void (*)(const Notification*)>(
      "_ZNK4absl7" SAMEBITS_EXPAND(ABSL_OPTION_INLINE_NAMESPACE_NAME) "12Notification19WaitForNotificationEv");
  real(this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static const auto real = Real<bool (*)(const Notification*, Duration)>(
      "_ZNK4absl7" SAMEBITS_EXPAND(ABSL_OPTION_INLINE_NAMESPACE_NAME)
      "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool result = real(this, timeout);
  __tsan_acquire(const_cast<Notification*>(this));
  return result;
}

bool BlockingCounter::DecrementCount() {
  SAMEBITS_REAL("15BlockingCounter14DecrementCountEv", bool (*)(BlockingCounter*));
  __tsan_release(this);
  return real(this);
}

void BlockingCounter::Wait() {
  SAMEBITS_REAL("15BlockingCounter4WaitEv", void (*)(BlockingCounter*));
  real(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
