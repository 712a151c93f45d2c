#ifndef SAMEBITS_CORE_HEAL_JOBS_ENGINES_H_
#define SAMEBITS_CORE_HEAL_JOBS_ENGINES_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"

namespace samebits::heal {

// Engines of one capacity by configuration; the ones used last stay open.
class Engines {
 public:
  Engines(Backend& backend, const Capacity& capacity) : backend_(backend), capacity_(capacity) {}

  // Opens it if need be, after closing all but the `keep` used last. Valid until the next call with a smaller `keep`
  // or another configuration that pushes it out.
  absl::StatusOr<Engine*> Get(const std::string& configuration, size_t keep = 0);

  Backend& backend() { return backend_; }
  void Close() { open_.clear(); }

 private:
  struct Open {
    std::string configuration;
    std::unique_ptr<Engine> engine;
  };
  Backend& backend_;
  const Capacity capacity_;
  std::list<Open> open_;  // the last used first
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_ENGINES_H_
