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
#include "tests/support/generator/edit.h"
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
  options.limits.max_time = absl::Seconds(20);
  return options;
}

[[noreturn]] void Fail(const std::string& what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what.c_str(), text.c_str());
  std::abort();
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
  std::vector<std::string> lines = generator::Lines(program.Text());
  for (int i = 0; i < 24 && !input.empty(); ++i) generator::Edit(static_cast<uint32_t>(input.Take(4)), &lines);
  const std::string text = generator::Join(lines);
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
