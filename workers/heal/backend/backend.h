#ifndef SAMEBITS_WORKERS_HEAL_BACKEND_BACKEND_H_
#define SAMEBITS_WORKERS_HEAL_BACKEND_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/model/checkpoint.h"

namespace samebits::workers {

// What computes on a device: "cpu" (whatever follows a colon) or "cuda:N" ("cuda": the first). INVALID_ARGUMENT for
// another text; UNIMPLEMENTED where this program has no engine for it; the engine's own errors.
absl::StatusOr<std::unique_ptr<heal::Backend>> OpenBackend(std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                           const std::string& device);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_HEAL_BACKEND_BACKEND_H_
