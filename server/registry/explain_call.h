#ifndef SAMEBITS_SERVER_REGISTRY_EXPLAIN_CALL_H_
#define SAMEBITS_SERVER_REGISTRY_EXPLAIN_CALL_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/registry/call.h"
#include "server/registry/registry.h"

namespace samebits::server {

// Runs both launches side by side on one thread of the pool, to show where they part.
class ExplainCall : public Call {
 public:
  struct Side {
    Subject subject;                          // its views point into this object
    std::shared_ptr<const std::string> text;  // null where registered
    checker::Launch launch;
    std::vector<uint8_t> float_widths;
  };
  ExplainCall(const CheckerBackend& checker, Metrics& metrics, Signatures& signatures, checker::Limits limits,
              Done<ComparisonAnswer> done)
      : checker_(checker), metrics_(metrics), signatures_(signatures), limits_(limits), done_(std::move(done)) {}

  std::array<Side, 2>& sides() { return sides_; }
  void Run();                                 // on a thread of the pool
  void Fail(const absl::Status& status) { done_.Deliver(status); }
  void Cancel() override {
    cancelled_ = true;
    done_.Deliver(Abandoned());
  }

 private:
  absl::StatusOr<ComparisonAnswer> Explain();
  absl::StatusOr<std::shared_ptr<const std::string>> Text(int side) const;

  const CheckerBackend& checker_;
  Metrics& metrics_;
  Signatures& signatures_;
  const checker::Limits limits_;
  std::array<Side, 2> sides_;
  std::atomic<bool> cancelled_{false};
  DoneOnce<ComparisonAnswer> done_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_EXPLAIN_CALL_H_
