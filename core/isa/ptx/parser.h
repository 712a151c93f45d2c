#ifndef SAMEBITS_CORE_ISA_PTX_PARSER_H_
#define SAMEBITS_CORE_ISA_PTX_PARSER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/isa/module.h"

namespace samebits::isa::ptx {

// Bounds on one text. Over a bound: RESOURCE_EXHAUSTED naming it.
struct ParseLimits {
  uint64_t max_text_bytes = 64ull << 20;
  uint64_t max_instructions = 4'000'000;
  uint64_t max_operands = 12'000'000;
  uint64_t max_registers = 4'000'000;  // declared in one function
  uint32_t max_symbols = 1'000'000;
  uint32_t max_scope_depth = 256;
  uint64_t max_initializer_bytes = 64ull << 20;  // of all variables
};

// Where a parse failed; carried by the Status as a payload under kParseErrorUrl and spelled out in its message
// "line:column: what: 'fragment'".
struct ParseError {
  uint32_t line = 0, column = 0;  // 1-based; column counts bytes
  std::string what, fragment;
  bool is_amdgcn = false;  // of amdgcn::Parse, which uses kAmdgcnParseErrorUrl
};
inline constexpr char kParseErrorUrl[] = "samebits/ptx-parse-error";
inline constexpr char kAmdgcnParseErrorUrl[] = "samebits/amdgcn-parse-error";

// Parses PTX of versions 6.0 to 9.x. Any bytes may be given: the result is a module or INVALID_ARGUMENT (syntax;
// see ParseError) or RESOURCE_EXHAUSTED. Unknown opcodes and modifiers parse as instructions; unknown directives
// whose extent is known (those between the parameters and the body of a function) are skipped. Labels are resolved to
// instruction indices; a branch to a missing label is an error. Refused, although old or unusual PTX has them:
// registers outside of functions, functions with both .reg and .param parameters, lines that start with '#'. Operand
// counts and types are Verify's to check. Linear in the text; thread-safe.
absl::StatusOr<Module> Parse(std::string text, const ParseLimits& limits = {});

// The payload of a status that Parse, or amdgcn::Parse, returned, if it has one.
bool GetParseError(const absl::Status& status, ParseError* error);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_PARSER_H_
