#ifndef SAMEBITS_TESTS_UNIT_CORE_INTERPRETER_RUN_KERNEL_H_
#define SAMEBITS_TESTS_UNIT_CORE_INTERPRETER_RUN_KERNEL_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/isa/ptx/parser.h"
#include "core/interpreter/interpreter.h"

namespace samebits::interpreter {

inline std::string Header(const std::string& target = "sm_90a") {
  return ".version 8.7\n.target " + target + "\n.address_size 64\n";
}

struct Launch {
  Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint32_t shared_bytes = 0;
  uint64_t max_steps = 10'000'000;
};

// Runs `text`, whose only entry takes an input and an output buffer; the output has `out_words` words.
inline absl::StatusOr<std::vector<uint32_t>> RunText(const std::string& text, const std::vector<uint32_t>& in,
                                                     size_t out_words, const Launch& launch = {}) {
  const auto module = isa::ptx::Parse(text);
  if (!module.ok()) return module.status();
  Memory memory;
  const uint64_t in_address = memory.Allocate(in.size() * 4), out_address = memory.Allocate(out_words * 4);
  if (!in.empty()) std::memcpy(memory.Buffer(in_address).data(), in.data(), in.size() * 4);
  const LaunchConfig config{
      launch.grid, launch.block, launch.shared_bytes, {Bytes(in_address), Bytes(out_address)}, launch.max_steps};
  const auto result = Run(*module, "", config, memory);
  if (!result.ok()) return result.status();
  std::vector<uint32_t> out(out_words);
  std::memcpy(out.data(), memory.Buffer(out_address).data(), out_words * 4);
  return out;
}

// A kernel in which each thread of one block has its index in %tid0 and its addresses %in and %out (one word each),
// around `body`, which ends by storing what it wants.
inline std::string Kernel(const std::string& body, const std::string& module_scope = "") {
  return Header() + module_scope + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %d<16>, %in, %out, %off;
  .reg .b32 %r<32>, %tid0;
  .reg .b16 %h<8>;
  .reg .pred %p<8>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %tid0, %tid.x;
  mul.wide.u32 %off, %tid0, 4;
  add.s64 %in, %in, %off;
  add.s64 %out, %out, %off;
)" + body +
         "\n  ret;\n}\n";
}

}  // namespace samebits::interpreter

#endif  // SAMEBITS_TESTS_UNIT_CORE_INTERPRETER_RUN_KERNEL_H_
