#ifndef SAMEBITS_CORE_HEAL_MODEL_MARK_OF_WEIGHTS_H_
#define SAMEBITS_CORE_HEAL_MODEL_MARK_OF_WEIGHTS_H_

#include <string>

#include "core/heal/model/checkpoint.h"

namespace samebits::heal {

// Tells models apart whose files changed under the same name: a digest of up to 4,096 values of every tensor, spread
// evenly. Empty for synthetic weights, which their name tells.
std::string MarkOfWeights(const Checkpoint& checkpoint);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_MARK_OF_WEIGHTS_H_
