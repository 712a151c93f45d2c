#ifndef SAMEBITS_CORE_BASE_JSON_DEPTH_H_
#define SAMEBITS_CORE_BASE_JSON_DEPTH_H_

#include <string_view>

namespace samebits {

// Whether brackets outside strings nest deeper than `most`. To ask before the text is given to a JSON library, which works
// recursively. The text need not be JSON.
bool JsonNestsDeeperThan(std::string_view text, int most);

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_JSON_DEPTH_H_
