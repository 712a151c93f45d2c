#ifndef SAMEBITS_CLIENT_LAUNCH_ARG_VALUE_H_
#define SAMEBITS_CLIENT_LAUNCH_ARG_VALUE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/launch/launch_spec.h"

namespace samebits::launch {

// Value of an argument without its label, in the grammar of ParseArg. Label and origin are left to the caller; the
// message says what is wrong with `value` and what to write, without naming the argument.
absl::StatusOr<ArgSpec> ParseArgValue(std::string_view value);

// The argument of type `type` ("ptr", "i32", "u32", "i64", "u64", "f32", "f64", "bits", "bytes") with content `text`.
absl::StatusOr<ArgSpec> ParseTypedValue(std::string_view type, std::string_view text);

// Gives a kNumber or kPattern its meaning for a parameter; other forms need no type. Errors as above.
absl::StatusOr<checker::Argument> TypeByParameter(const ArgSpec& arg, const checker::ParameterInfo& parameter);

// Whether the value of a kTyped is one of the parameter's type: as wide, and a float only for a float or untyped bits.
// INVALID_ARGUMENT names both types. Integers may be written wider than parameters below 32 bits, whose types have no
// name here, if the value fits.
absl::Status CheckType(const ArgSpec& arg, const checker::ParameterInfo& parameter);

// The argument for every form but kNumber and kPattern.
checker::Argument ToArgument(const ArgSpec& arg);

// Whether the parameter's type is needed to know what `arg` means.
inline bool NeedsType(const ArgSpec& arg) {
  return arg.form == ArgSpec::Form::kNumber || arg.form == ArgSpec::Form::kPattern;
}

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_ARG_VALUE_H_
