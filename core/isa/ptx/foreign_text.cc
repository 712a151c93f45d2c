#include "core/isa/ptx/foreign_text.h"

#include <algorithm>

namespace samebits::isa::ptx {
namespace {

using std::literals::operator""sv;

struct Sign {
  std::string_view sign, what;
};

constexpr Sign kBeginnings[] = {
    {"\x7f" "ELF"sv, "an ELF file (cubin, object or library): cuobjdump -ptx prints the PTX in it"},
    {"\x50\xed\x55\xba"sv, "a fat binary: cuobjdump -ptx prints the PTX in it"},
    {"!<arch>\n"sv, "a static library: cuobjdump -ptx prints the PTX in it"},
    {"BC\xc0\xde"sv, "LLVM bitcode: llc -march=nvptx64 makes PTX of it"},
    {"version https://git-lfs"sv, "a pointer of Git LFS: git lfs pull fetches the file"},
    {"{"sv, "JSON: give a launch file as KERNEL@LAUNCH.json, a manifest with --manifest"},
    {"; ModuleID"sv, "LLVM IR: llc -march=nvptx64 makes PTX of it"},
    {"Fatbin "sv, "a listing of cuobjdump: its lines from .version on are PTX"},
};

constexpr Sign kInside[] = {
    {"__global__"sv, "CUDA source: nvcc -ptx makes PTX of it"},
    {"#include"sv, "C++ source: nvcc -ptx makes PTX of it"},
    {"/*0000*/"sv, "SASS, machine code as text: the same kernel's PTX is needed"},
    {"@triton.jit"sv, "Python source of Triton: kernel.asm[\"ptx\"] is its PTX"},
    {"tt.func"sv, "Triton's IR: kernel.asm[\"ptx\"] is its PTX"},
    {"target triple ="sv, "LLVM IR: llc -march=nvptx64 makes PTX of it"},
};

constexpr size_t kHead = 64 << 10;

}  // namespace

std::string_view DescribeForeignText(std::string_view text) {
  const std::string_view head = text.substr(0, std::min(text.size(), kHead));
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return text.size() > kHead ? "" : "an empty file";
  for (const Sign& s : kBeginnings)
    if (head.substr(first).starts_with(s.sign)) return s.what;
  if (head.find('\0') != std::string_view::npos) return "binary data: PTX is text";
  for (const Sign& s : kInside)
    if (head.find(s.sign) != std::string_view::npos) return s.what;
  return "";
}

}  // namespace samebits::isa::ptx
