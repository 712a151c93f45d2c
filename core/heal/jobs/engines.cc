#include "core/heal/jobs/engines.h"

#include "core/heal/numerics/configuration.h"

namespace samebits::heal {

absl::StatusOr<Engine*> Engines::Get(const std::string& configuration, size_t keep) {
  for (auto it = open_.begin(); it != open_.end(); ++it) {
    if (it->configuration != configuration) continue;
    open_.splice(open_.begin(), open_, it);
    return open_.front().engine.get();
  }
  while (open_.size() > keep) open_.pop_back();
  absl::StatusOr<Configuration> parsed = ParseConfiguration(configuration);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<std::unique_ptr<Engine>> engine = backend_.Open(*parsed, capacity_);
  if (!engine.ok()) return engine.status();
  open_.push_front({configuration, *std::move(engine)});
  return open_.front().engine.get();
}

}  // namespace samebits::heal
