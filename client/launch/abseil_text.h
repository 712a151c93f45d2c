#ifndef SAMEBITS_CLIENT_LAUNCH_ABSEIL_TEXT_H_
#define SAMEBITS_CLIENT_LAUNCH_ABSEIL_TEXT_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace samebits::launch {

// Abseil's view of a text, for builds of Abseil in which the two kinds of view do not convert.
inline absl::string_view Abseil(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view Standard(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_ABSEIL_TEXT_H_
