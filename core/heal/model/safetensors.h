#ifndef SAMEBITS_CORE_HEAL_MODEL_SAFETENSORS_H_
#define SAMEBITS_CORE_HEAL_MODEL_SAFETENSORS_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/heal/model/stored_tensor.h"

namespace samebits::heal {

// A folder's tensors: of the files that model.safetensors.index.json names, or of all *.safetensors where there is no
// index. INVALID_ARGUMENT with file and tensor where offsets, sizes or the index do not fit.
absl::StatusOr<StoredTensors> ReadSafetensorsFolder(const std::string& folder);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_SAFETENSORS_H_
