// Kernels near valid ones, and any text: the checker answers within its limits, the same each time and whatever the
// names of registers and labels; and where it has a signature, its map evaluates to what the direct interpreter writes.
//
// Input: a mode byte; for generated kernels eight bytes of seed, then edits of four bytes each; for free text four
// bytes of launch, then the text.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/isa/ptx/rename.h"
#include "tests/support/evaluation/evaluation.h"
#include "tests/support/generator/generator.h"

namespace samebits {
namespace {

class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint64_t Take(size_t bytes) {
    uint64_t value = 0;
    bytes = std::min(bytes, size_);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return value;
  }
  std::string Rest() { return std::string(reinterpret_cast<const char*>(data_), size_); }

 private:
  const uint8_t* data_;
  size_t size_;
};

checker::Options SmallOptions() {
  checker::Options options;
  options.limits.max_text_bytes = 1u << 18;
  options.limits.max_steps = 2'000'000;
  options.limits.max_nodes = 200'000;
  options.limits.max_memory_bytes = 64u << 20;
  options.limits.max_grid_blocks = 4096;
  options.limits.max_grid_classes = 64;
  options.limits.max_wall = absl::Seconds(20);
  return options;
}

[[noreturn]] void Fail(const std::string& what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what.c_str(), text.c_str());
  std::abort();
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Replaces the `which`-th number of a line.
void ReplaceNumber(std::string* line, uint32_t which, int32_t value) {
  std::vector<size_t> starts;
  for (size_t i = 1; i < line->size(); ++i)
    if (std::isdigit((*line)[i]) && !std::isalnum((*line)[i - 1]) && (*line)[i - 1] != '.') starts.push_back(i);
  if (starts.empty()) return;
  const size_t at = starts[which % starts.size()];
  size_t end = at;
  while (end < line->size() && std::isdigit((*line)[end])) ++end;
  line->replace(at, end - at, std::to_string(value));
}

void Edit(Reader& input, std::vector<std::string>* lines) {
  const uint64_t word = input.Take(4);
  const size_t at = (word >> 8 & 0xffff) % lines->size();
  const uint32_t argument = static_cast<uint32_t>(word >> 24);
  static constexpr int32_t kNumbers[] = {0,     1,     -1,         2,           3,       4,   8,   15,   16,
                                         31,    32,    33,         63,          64,      255, 256, 1000, 4096,
                                         65535, 65536, 2147483647, -2147483647, 1 << 20, 7,   24};
  static constexpr const char* kTypes[] = {".s32",   ".u32", ".b32",  ".f32", ".s16",  ".u16",    ".b16",
                                           ".s64",   ".u64", ".b64",  ".f16", ".bf16", ".f16x2",  ".b8",
                                           ".pred",  ".rn",  ".rz",   ".ftz", ".sat",  ".global", ".shared",
                                           ".local", ".v2",  ".wide", ".lo",  ".hi"};
  std::string& line = (*lines)[at];
  switch (word & 7) {
    case 0: lines->erase(lines->begin() + static_cast<ptrdiff_t>(at)); break;
    case 1: lines->insert(lines->begin() + static_cast<ptrdiff_t>(at), std::string(line)); break;
    case 2: std::swap(line, (*lines)[(at + argument) % lines->size()]); break;
    case 3:
      ReplaceNumber(&line, static_cast<uint32_t>(word >> 3 & 31), kNumbers[argument % std::size(kNumbers)]);
      break;
    case 4: {  // a line of another kernel
      const auto other = Lines(generator::Generate(argument).Text());
      lines->insert(lines->begin() + static_cast<ptrdiff_t>(at), other[(word >> 3 & 31) * 7 % other.size()]);
      break;
    }
    case 5: {  // another type or modifier
      const size_t dot = line.find('.', (word >> 3 & 31) % (line.size() + 1));
      if (dot == std::string::npos) break;
      size_t end = dot + 1;
      while (end < line.size() && std::isalnum(line[end])) ++end;
      line.replace(dot, end - dot, argument % 5 == 0 ? "" : kTypes[argument % std::size(kTypes)]);
      break;
    }
    case 6:
      line.insert(
          0, argument % 2 ? "@%p" + std::to_string(argument % 5) + " " : "@!%p" + std::to_string(argument % 5) + " ");
      break;
    default:
      if (!line.empty()) line[argument % line.size()] = static_cast<char>("%r0123456789p.,;[]{}+-@!f"[word >> 3 & 23]);
  }
  if (lines->empty()) lines->emplace_back();
}

checker::Launch FreeLaunch(uint32_t word) {
  checker::Launch launch;
  static constexpr std::array<uint32_t, 3> kBlocks[] = {{1, 1, 1},   {32, 1, 1}, {64, 1, 1},
                                                        {128, 1, 1}, {8, 4, 1},  {5, 3, 2}};
  launch.block = kBlocks[word % std::size(kBlocks)];
  if (word >> 4 & 3) launch.grid = checker::Dim3{1 + (word >> 6 & 7), 1 + (word >> 9 & 1), 1};
  launch.shared_bytes = (word >> 12 & 15) * 256;
  return launch;
}

bool SameAnswer(const checker::Signature& a, const checker::Signature& b) {
  return a.status == b.status && a.digest == b.digest && a.reason_code == b.reason_code;
}

bool OutOfTime(const checker::Signature& s) { return s.reason_code == "TIME_LIMIT"; }

// The answer, after asking again and with other names.
bool CheckNames(const std::string& text, const checker::Launch& launch, checker::Signature* signature) {
  const checker::Options options = SmallOptions();
  const auto first = checker::ComputeSignature(text, launch, options),
             again = checker::ComputeSignature(text, launch, options);
  if (first.ok() != again.ok()) Fail("an error once", text);
  if (!first.ok()) return false;
  const std::string renamed = isa::ptx::RenameRegistersAndLabels(text, text.size());
  const auto other = checker::ComputeSignature(renamed, launch, options);
  if (OutOfTime(*first) || OutOfTime(*again)) return false;
  if (!SameAnswer(*first, *again)) Fail("two answers: " + first->reason + " / " + again->reason, text);
  if (!other.ok()) Fail("names matter: " + other.status().ToString(), text + "\n----\n" + renamed);
  if (!OutOfTime(*other) && !SameAnswer(*first, *other))
    Fail("names matter: " + first->reason + " / " + other->reason, text + "\n----\n" + renamed);
  *signature = *first;
  return true;
}

// Which NaN of several an f64 operation returns is open.
bool NanPatternsAreOpen(const checker::Signature& s) {
  return std::any_of(s.assumptions.begin(), s.assumptions.end(),
                     [](const std::string& a) { return a.find("NaN") != std::string::npos; });
}

void CheckBytes(const std::string& text, const generator::Program& program) {
  const auto evaluated = evaluation::EvaluateLaunch(text, program.launch, program.contents, SmallOptions());
  if (!evaluated.ok() || evaluated->signature.status != checker::SignatureStatus::kOk)
    return;  // an access outside a buffer
  const auto interpreted = evaluation::InterpretLaunch(text, program.launch, program.contents, 2'000'000);
  if (!interpreted.ok()) return;
  const std::string mismatch = FirstMismatch(evaluated->outcome, *interpreted);
  if (!mismatch.empty()) Fail(mismatch, text);
}

void Generated(Reader& input) {
  generator::GeneratorOptions small;
  small.max_statements = 10;
  const generator::Program program = generator::Generate(input.Take(8), small);
  std::vector<std::string> lines = Lines(program.Text());
  for (int i = 0; i < 24 && !input.empty(); ++i) Edit(input, &lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  checker::Signature signature;
  if (!CheckNames(text, program.launch, &signature)) return;
  if (signature.status == checker::SignatureStatus::kOk && !NanPatternsAreOpen(signature)) CheckBytes(text, program);
}

void Free(Reader& input) {
  const auto word = static_cast<uint32_t>(input.Take(4));
  checker::Signature signature;
  CheckNames(input.Rest(), FreeLaunch(word), &signature);
}

}  // namespace
}  // namespace samebits

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  samebits::Reader input(data, size);
  if (input.Take(1) % 4 != 0)
    samebits::Generated(input);
  else
    samebits::Free(input);
  return 0;
}
