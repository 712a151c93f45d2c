#ifndef SAMEBITS_TESTS_UNIT_CORE_ISA_PTX_TEST_UTIL_H_
#define SAMEBITS_TESTS_UNIT_CORE_ISA_PTX_TEST_UTIL_H_

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/isa/module.h"
#include "core/isa/ptx/parser.h"
#include "gtest/gtest.h"

namespace samebits::isa::ptx {

// Three lines, so that what follows starts on line 4.
inline constexpr char kHeader[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";

// The module of a text behind the header; a parse error fails the test and gives an empty module.
inline Module ParseText(const std::string& body) {
  absl::StatusOr<Module> module = Parse(kHeader + body);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << body;
  return module.ok() ? *std::move(module) : Module{};
}

// An entry with a register range of each class, a shared and two module variables, and `body`.
inline std::string EntryText(const std::string& body) {
  return ".global .align 16 .b8 gmem[64];\n.const .align 4 .b8 cmem[64];\n"
         ".visible .entry k(.param .u64 p)\n{\n"
         ".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 %f<9>; .reg .f64 %d<3>; .reg .b16 %h<5>;\n"
         ".reg .b128 %q<3>; .shared .align 128 .b8 smem[4096];\n" +
         body + "\n}\n";
}

inline const Operand& OperandAt(const Function& function, size_t instruction, uint32_t operand) {
  return function.operand_pool[function.instructions[instruction].first_operand + operand];
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

inline std::string TestData(const std::string& name) {
  return ReadFile(std::string(SAMEBITS_SOURCE_DIR) + "/tests/unit/core/isa/ptx/testdata/" + name);
}

// The first difference between the structures of two modules, empty if there is none. Names of registers, labels and
// local variables, lines, and the order in which module-level symbols were declared do not count.
std::string StructureDifference(const Module& a, const Module& b);

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_TESTS_UNIT_CORE_ISA_PTX_TEST_UTIL_H_
