#ifndef SAMEBITS_CORE_ISA_PTX_FOREIGN_TEXT_H_
#define SAMEBITS_CORE_ISA_PTX_FOREIGN_TEXT_H_

#include <string_view>

namespace samebits::isa::ptx {

// What a text that is not PTX seems to be, and how to come to PTX from it: "CUDA source: compile it with nvcc -ptx".
// Empty where its beginning shows nothing. Looks at a bounded part.
std::string_view DescribeForeignText(std::string_view text);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_FOREIGN_TEXT_H_
