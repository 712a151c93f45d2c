#ifndef SAMEBITS_CLIENT_LAUNCH_LAUNCH_SPEC_H_
#define SAMEBITS_CLIENT_LAUNCH_LAUNCH_SPEC_H_

// A launch as a user wrote it: any part may be missing, and arguments may wait for the type of their parameter.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launch/buffer_spec.h"
#include "core/checker/checker.h"

namespace samebits::launch {

// One argument as written.
struct ArgSpec {
  enum class Form : uint8_t {
    kUnknown,  // left open
    kPointer,  // `text`: buffer name, empty: identified by position
    kScratch,
    kBytes,    // `bytes`
    kTyped,    // `bits` of a value whose type was written: `is_float`, `width`
    kNumber,   // `text`: decimal number, typed by the parameter
    kPattern,  // `bits`: pattern of the parameter's own width
  };
  Form form = Form::kUnknown;
  std::string label;  // name before '=', empty where none
  std::string text;
  std::vector<uint8_t> bytes;
  uint64_t bits = 0;
  bool is_float = false;
  bool is_signed = false;  // of an integer kTyped: bits are sign-extended from `width`
  int width = 0;           // 32 or 64, of kTyped
  std::string origin;      // as written and where ("--arg n=4096"), for messages
};

// Parts of a launch. A part that is not set leaves the word to the layer below it.
struct LaunchSpec {
  std::optional<std::string> entry;
  std::optional<checker::Dim3> block;
  bool grid_set = false;
  std::optional<checker::Dim3> grid;  // nullopt with grid_set: explicitly open
  std::optional<uint32_t> shared_bytes;
  bool args_set = false;
  std::optional<std::vector<ArgSpec>> args;         // nullopt with args_set: explicitly open
  std::optional<std::vector<std::string>> outputs;  // empty: every buffer that is written
  std::vector<BufferDescription> buffers;           // for running it; those of a layer replace others of their names
};

// `base` with every part that `top` sets replaced. Arguments are replaced as a whole.
LaunchSpec Overlay(LaunchSpec base, const LaunchSpec& top);

// The launch for all sizes: its grid open, and of its arguments only pointers and scratch buffers kept.
LaunchSpec WithoutSizes(LaunchSpec spec);

// "128", "16,8" or "16x8x1"; each at least 1 and below 2^31. `origin` begins the message.
absl::StatusOr<checker::Dim3> ParseDim3(std::string_view text, std::string_view origin);

// One argument as on the command line: [LABEL=]VALUE, where VALUE is one of
//   ptr, ptr:BUFFER, scratch, unknown, i32:V, u32:V, i64:V, u64:V, f32:V, f64:V, bytes:HEX, 0xPATTERN, or a number.
// V of a typed value is a decimal number of that type's range or a 0x pattern of its width. INVALID_ARGUMENT with
// the argument as written after `flag`, what is wrong, and what to write.
absl::StatusOr<ArgSpec> ParseArg(std::string_view text, std::string_view flag = "--arg");

// Yields what the text declares. Called at most once by Resolve: where the launch cannot be told without, and to check
// types that were written (an error of it is then no error of the launch).
using DescribeFn = std::function<absl::StatusOr<checker::TextInfo>()>;

struct ResolvedLaunch {
  checker::Launch launch;
  std::vector<uint32_t> float_bytes;  // per argument: width of a float (4 or 8), 0 for others
};

// The launch that `spec` means. Labels that name parameters (full name, "param_2" or "2") place arguments there and
// leave the rest unknown; otherwise arguments stand in the order of the parameters. A number takes its parameter's
// type. A missing block is taken from .reqntid. INVALID_ARGUMENT names the part and the remedy.
absl::StatusOr<ResolvedLaunch> Resolve(const LaunchSpec& spec, const DescribeFn& describe);

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_LAUNCH_SPEC_H_
