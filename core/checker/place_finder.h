#ifndef SAMEBITS_CORE_CHECKER_PLACE_FINDER_H_
#define SAMEBITS_CORE_CHECKER_PLACE_FINDER_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/checker/place.h"
#include "core/isa/module.h"

namespace samebits::checker {

// Places of a text's instructions, by line: the instruction as it is written, the source from .loc, and where that was
// inlined into the kernel, from the .loc itself or from the comment that Triton writes behind it.
class PlaceFinder {
 public:
  // The module outlives this.
  explicit PlaceFinder(const isa::Module& module);
  // Line 0 and lines without an instruction have no place.
  Place Find(uint32_t line) const;

 private:
  std::string Statement(const isa::Instruction& instruction) const;
  std::string InlinedAt(uint32_t line) const;
  std::string_view Line(uint32_t line) const;

  const isa::Module& module_;
  std::unordered_map<uint32_t, const isa::Instruction*> instructions_;
  std::vector<size_t> starts_;  // of each line
};

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_PLACE_FINDER_H_
