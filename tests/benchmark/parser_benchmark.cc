// Bytes of PTX a second through the parser, on texts shaped like what compilers emit, next to the speed at which the
// same run copies such a text (`Copy`). With SAMEBITS_BENCHMARK_PTX naming a folder, also over all its *.ptx files.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/isa/ptx/parser.h"
#include "core/isa/ptx/printer.h"
#include "core/isa/ptx/verifier.h"

namespace samebits::isa::ptx {
namespace {

constexpr size_t kTextBytes = 256 * 1024;

constexpr char kHeader[] =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 global_smem[];\n"
    ".visible .entry kernel(\n\t.param .u64 .ptr .global .align 1 kernel_param_0,\n\t.param .u32 kernel_param_1\n)\n"
    ".reqntid 128\n{\n\t.reg .pred \t%p<4>;\n\t.reg .b32 \t%r<200>;\n\t.reg .b64 \t%rd<100>;\n";

// `line` with each # replaced by a number, repeated until the text is long enough.
std::string Repeat(const std::string& line, const std::string& end) {
  std::string text = kHeader;
  for (int i = 0; text.size() < kTextBytes; ++i) {
    int step = 0;
    for (char c : line) {
      if (c == '#') {
        text += std::to_string((i * 7 + step++ * 3) % 97);
      } else {
        text += c;
      }
    }
  }
  return text + end;
}

// What Triton writes: a location with its comment before most instructions, inline assembly with zeroed results.
std::string TritonText() {
  return Repeat(
      "\t.loc\t1 379 21                        // kernels.py:379:21\n\tmad.wide.s32 \t%rd#, %r#, 4, %rd#;\n"
      "\tand.b32 \t%r#, %r#, 127;\n"
      "\t.loc\t1 381 40                        // kernels.py:381:40\n\t// begin inline asm\n\tmov.u32 %r#, 0x0;\n"
      "\tld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd# + 0 ];\n\t// end inline asm\n"
      "\tfma.rn.f32 \t%r#, %r#, %r#, 0f3F800000;\n\tshfl.sync.bfly.b32 \t%r#, %r#, 16, 31, -1;\n",
      "\tret;\n}\n");
}

std::string DenseText() { return Repeat("add.s32 %r#,%r#,%r#;\n", "ret;}\n"); }

// Debug information, which is skipped.
std::string DebugText() {
  std::string text = std::string(kHeader) + "\tret;\n}\n\t.section\t.debug_info\n\t{\n";
  while (text.size() < kTextBytes) text += ".b8 114\n.b8 2                                   // DW_AT_name\n";
  return text + "\t}\n";
}

std::vector<std::string> FolderTexts(const char* folder) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream contents;
    contents << file.rdbuf();
    texts.push_back(contents.str());
  }
  return texts;
}

template <typename Run>
void MeasureTexts(benchmark::State& state, const std::vector<std::string>& texts, Run run) {
  int64_t bytes = 0;
  for (auto _ : state) {
    for (const std::string& text : texts) {
      if (!run(text)) state.SkipWithError("a text does not parse");
      bytes += static_cast<int64_t>(text.size());
    }
  }
  state.SetBytesProcessed(bytes);
}

bool CopyText(const std::string& text) {
  std::string copy(text);
  benchmark::DoNotOptimize(copy.data());
  return true;
}

bool ParseOnly(const std::string& text) { return Parse(text).ok(); }

bool ParseAndVerify(const std::string& text) {
  const absl::StatusOr<Module> module = Parse(text);
  return module.ok() && Verify(*module).ok();
}

bool ParseAndPrint(const std::string& text) {
  const absl::StatusOr<Module> module = Parse(text);
  return module.ok() && !Print(*module).empty();
}

void Register(const std::string& name, std::vector<std::string> texts, bool (*run)(const std::string&)) {
  benchmark::RegisterBenchmark(name.c_str(), [texts = std::move(texts), run](benchmark::State& state) {
    MeasureTexts(state, texts, run);
  })->Unit(benchmark::kMillisecond);
}

void RegisterAll() {
  Register("Copy/triton", {TritonText()}, CopyText);
  Register("Parse/triton", {TritonText()}, ParseOnly);
  Register("Parse/dense", {DenseText()}, ParseOnly);
  Register("Parse/debug", {DebugText()}, ParseOnly);
  Register("ParseAndVerify/triton", {TritonText()}, ParseAndVerify);
  Register("ParseAndPrint/triton", {TritonText()}, ParseAndPrint);
  if (const char* folder = std::getenv("SAMEBITS_BENCHMARK_PTX"); folder != nullptr) {
    Register("Parse/folder", FolderTexts(folder), ParseOnly);
  }
}

}  // namespace
}  // namespace samebits::isa::ptx

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  samebits::isa::ptx::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
