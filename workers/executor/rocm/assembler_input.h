#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_ASSEMBLER_INPUT_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_ASSEMBLER_INPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

// A text as assemblers of every release take it, line by line, and the processor as they name it. Compilers spell a
// processor's triple differently from release to release, so it is written anew, where it stands in the text too; sizes of
// symbols, which nothing loads by, are left out, for they may refer to labels that a stripped text lacks.
struct AssemblerInput {
  std::string text;
  std::string processor;  // "gfx942", "gfx90a:sramecc+:xnack-"
  std::string Triple() const { return "amdgcn-amd-amdhsa--" + processor; }
};

// INVALID_ARGUMENT where the text names no processor or two, or does not pass CheckDirectives.
absl::StatusOr<AssemblerInput> PrepareForAssembler(std::string_view text);

// The texts are foreign, and the assembler runs on the worker. INVALID_ARGUMENT, with the line, where one has a directive
// that reads a file, repeats or defines text, or makes a linker read a file; or where its paddings and fillings have more
// than 64 MiB, or a length that is no plain number. Directives count wherever they stand, in upper and lower case, for an
// assembler finds them behind others of a line too; .incbin and .include even within strings and comments.
absl::Status CheckDirectives(std::string_view text);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_ASSEMBLER_INPUT_H_
