#ifndef SAMEBITS_CORE_CHECKER_PLACE_H_
#define SAMEBITS_CORE_CHECKER_PLACE_H_

#include <cstdint>
#include <string>

namespace samebits::checker {

// Place in the submitted text that a reason or an explanation points to.
struct Place {
  uint32_t line = 0, column = 0;     // of the kernel text; 0 where none
  std::string instruction;           // the fragment
  std::string source;                // "file.py:12" from .loc, empty where none
};

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_PLACE_H_
