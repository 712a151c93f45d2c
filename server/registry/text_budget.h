#ifndef SAMEBITS_SERVER_REGISTRY_TEXT_BUDGET_H_
#define SAMEBITS_SERVER_REGISTRY_TEXT_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/registry/errors.h"

namespace samebits::server {

// Bounds the bytes of texts that calls hold. Thread-safe; outlives the texts.
class TextBudget {
 public:
  explicit TextBudget(uint64_t maximum) : maximum_(maximum) {}

  // A copy of `text` that counts until its last owner goes; QUEUE_FULL if it does not fit.
  absl::StatusOr<std::shared_ptr<const std::string>> Hold(std::string_view text) {
    const uint64_t size = text.size();
    if (held_.fetch_add(size) + size > maximum_) {
      held_.fetch_sub(size);
      return QueueFull("max_pending_text_bytes", maximum_);
    }
    return std::shared_ptr<const std::string>(new std::string(text), [this, size](const std::string* held) {
      delete held;
      held_.fetch_sub(size);
    });
  }
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  const uint64_t maximum_;
  std::atomic<uint64_t> held_{0};
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_TEXT_BUDGET_H_
