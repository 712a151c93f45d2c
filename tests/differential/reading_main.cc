// How the parser reads AMDGCN texts. tests/differential/amdgcn_reading.py compares it with an assembler.

#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/isa/amdgcn/parser.h"
#include "tests/differential/reading.h"

namespace samebits::differential {
namespace {

constexpr char kUsage[] =
    R"(usage: amdgcn_reading FILE...
       amdgcn_reading --lines [--target gfx942] < LINES

Prints how AMDGCN texts are read, one instruction a line, fields separated by tabs: file, kernel, index, source line,
target index of a branch or -1, and the instruction as spelled from what was read (empty: not modelled). With --lines each
line of the input is one instruction: "ok" with its spelling, "unmodelled", or "error" with the message.
)";

int Files(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const auto module = isa::amdgcn::Parse(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!module.ok()) {
      std::cerr << argv[i] << ": " << module.status() << "\n";
      return 1;
    }
    for (const auto& kernel : module->amdgcn->kernels)
      for (size_t n = 0; n < kernel.instructions.size(); ++n) {
        const auto& in = kernel.instructions[n];
        const bool branch = in.operand_count == 1 && in.operands[0].kind == isa::amdgcn::OperandKind::kLabel;
        std::cout << argv[i] << "\t" << kernel.name << "\t" << n << "\t" << in.line << "\t" << (branch ? in.operands[0].imm : -1) << "\t"
                  << Spell(in) << "\n";
      }
  }
  return 0;
}

int Lines(const std::string& target) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto module = isa::amdgcn::Parse(absl::StrCat("\t.amdgcn_target \"amdgcn-amd-amdhsa--", target, "\"\n\t.text\nk:\n\t", line,
                                                        "\n\ts_endpgm\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n"));
    if (!module.ok()) {
      std::cout << "error\t" << module.status().message() << "\n";
      continue;
    }
    const std::string spelled = Spell(module->amdgcn->kernels[0].instructions[0]);
    std::cout << (spelled.empty() ? "unmodelled\t" : "ok\t") << spelled << "\n";
  }
  return 0;
}

int Main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "--help";
  if (first == "--lines") return Lines(argc == 4 && std::string(argv[2]) == "--target" ? argv[3] : "gfx942");
  if (first == "--help") {
    std::cout << kUsage;
    return 2;
  }
  return Files(argc, argv);
}

}  // namespace
}  // namespace samebits::differential

int main(int argc, char** argv) { return samebits::differential::Main(argc, argv); }
