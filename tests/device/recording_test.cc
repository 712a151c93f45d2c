// The interpreter against recordings of a GPU, bit by bit. SAMEBITS_DEVICE_RECORDING names the recorder's output (see
// record_main.cc), built from the same probes; SAMEBITS_DEVICE_LAUNCHES the launches that it was given, for whole
// kernels.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "core/isa/ptx/parser.h"
#include "gtest/gtest.h"
#include "tests/device/probes.h"
#include "core/interpreter/interpreter.h"

namespace samebits::device_test {
namespace {

template <typename T>
std::vector<uint8_t> AsBytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

using Recording = std::map<std::string, std::vector<uint8_t>>;

Recording ReadRecording(const char* path) {
  Recording recording;
  std::ifstream file(path, std::ios::binary);
  for (std::string name, size; std::getline(file, name) && std::getline(file, size);) {
    std::vector<uint8_t>& bytes = recording[name];
    bytes.resize(std::stoull(size));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  return recording;
}

struct ProbeLaunch {
  std::string text, kernel;
  std::vector<uint8_t> input;
  size_t output_bytes = 0;
  uint32_t blocks = 1, threads = 32, shared_bytes = 0;
  size_t row_words = 1, input_row_words = 0;  // for messages
};

ProbeLaunch LaunchOf(const Probe& probe) {
  const std::vector<Row> rows = RowsFor(probe.inputs);
  return {probe.text, ScalarKernel(probe),    AsBytes(rows),  rows.size() * kScalarResultBytes, kScalarRows / 128, 128,
          0,          kScalarResultBytes / 4, sizeof(Row) / 4};
}

ProbeLaunch LaunchOf(const MatrixProbe& probe, int blocks) {
  const size_t block_words = static_cast<size_t>(probe.threads) * probe.result_words;
  return {probe.text,
          MatrixKernel(probe),
          AsBytes(MatrixInput(probe, blocks)),
          blocks * block_words * 4,
          static_cast<uint32_t>(blocks),
          static_cast<uint32_t>(probe.threads),
          probe.shared_bytes,
          block_words,
          0};
}

absl::StatusOr<std::vector<uint8_t>> Interpret(const ProbeLaunch& launch, uint32_t blocks) {
  const auto module = isa::ptx::Parse(launch.kernel);
  if (!module.ok()) return module.status();
  interpreter::Memory memory;
  const uint64_t out = memory.Allocate(launch.output_bytes);
  interpreter::LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {launch.threads, 1, 1};
  config.shared_bytes = launch.shared_bytes;
  config.sm = 90;
  config.args = {interpreter::Bytes(memory.Allocate(launch.input)), interpreter::Bytes(out)};
  const auto result = interpreter::Run(*module, "probe", config, memory);
  if (!result.ok()) return result.status();
  const auto bytes = memory.Buffer(out);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

uint32_t WordAt(const std::vector<uint8_t>& bytes, size_t index) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + 4 * index, 4);
  return word;
}

std::string Describe(const ProbeLaunch& launch, const std::vector<uint8_t>& hardware,
                     const std::vector<uint8_t>& interpreted) {
  std::ostringstream text;
  size_t differing = 0;
  for (size_t i = 0; i < hardware.size() / 4; ++i) {
    if (WordAt(hardware, i) == WordAt(interpreted, i) || ++differing > 6) continue;
    const size_t row = i / launch.row_words;
    text << std::hex << "  row " << row << " word " << i % launch.row_words << ": hardware " << WordAt(hardware, i)
         << ", interpreter " << WordAt(interpreted, i);
    for (size_t w = 0; w < launch.input_row_words; ++w)
      text << " " << WordAt(launch.input, row * launch.input_row_words + w);
    text << "\n";
  }
  text << std::dec << "  " << differing << " of " << hardware.size() / 4 << " words differ\n";
  return text.str();
}

// Compares one probe with the recording; prints and counts.
void Check(const Recording& recording, const ProbeLaunch& launch, int* compared) {
  const auto found = recording.find(launch.text);
  if (found == recording.end()) return;
  ++*compared;
  const auto interpreted = Interpret(launch, launch.blocks);
  ASSERT_TRUE(interpreted.ok()) << launch.text << " " << interpreted.status();
  EXPECT_TRUE(found->second == *interpreted) << launch.text << "\n" << Describe(launch, found->second, *interpreted);
}

TEST(Recording, Probes) {
  const char* path = std::getenv("SAMEBITS_DEVICE_RECORDING");
  if (path == nullptr) GTEST_SKIP() << "SAMEBITS_DEVICE_RECORDING is not set";
  const Recording recording = ReadRecording(path);
  int compared = 0;
  for (const Probe& probe : ScalarProbes()) Check(recording, LaunchOf(probe), &compared);
  for (const MatrixProbe& probe : MatrixProbes()) Check(recording, LaunchOf(probe, kMatrixBlocks), &compared);
  EXPECT_GT(compared, 0);
  std::printf("%d probes compared\n", compared);
}

void CheckKernel(const Recording& recording, const KernelLaunch& launch) {
  const auto found = recording.find(launch.name);
  if (found == recording.end()) return;
  std::ifstream source(launch.path);
  std::stringstream text;
  text << source.rdbuf();
  const auto module = isa::ptx::Parse(text.str());
  ASSERT_TRUE(module.ok()) << launch.name << module.status();
  interpreter::Memory memory;
  interpreter::LaunchConfig config;
  std::copy_n(launch.block, 3, config.block.begin());
  std::copy_n(launch.grid, 3, config.grid.begin());
  config.shared_bytes = launch.shared_bytes;
  config.sm = 90;
  std::vector<uint64_t> buffers;
  for (const std::string& arg : launch.args) {
    if (arg == "p") buffers.push_back(memory.Allocate(BufferContents(buffers.size())));
    config.args.push_back(arg == "p" ? interpreter::Bytes(buffers.back()) : ArgumentBytes(arg));
  }
  const auto result = interpreter::Run(*module, launch.entry, config, memory);
  ASSERT_TRUE(result.ok()) << launch.name << " " << result.status();
  std::vector<uint8_t> hashes;
  for (uint64_t buffer : buffers) AppendPageHashes(memory.Buffer(buffer).data(), kBufferBytes, &hashes);
  const bool equal = hashes == found->second;
  std::printf("%s %s: %llu results of stand-ins\n", equal ? "equal  " : "differs", launch.name.c_str(),
              static_cast<unsigned long long>(result->model_results));
  EXPECT_TRUE(equal || result->model_results != 0) << launch.name;
}

TEST(Recording, WholeKernels) {
  const char* path = std::getenv("SAMEBITS_DEVICE_RECORDING");
  const char* launches = std::getenv("SAMEBITS_DEVICE_LAUNCHES");
  if (path == nullptr || launches == nullptr) GTEST_SKIP() << "SAMEBITS_DEVICE_LAUNCHES is not set";
  const Recording recording = ReadRecording(path);
  std::ifstream lines(launches);
  for (std::string line; std::getline(lines, line);) {
    KernelLaunch launch;
    ASSERT_TRUE(ParseKernelLaunch(line, &launch)) << line;
    CheckKernel(recording, launch);
  }
}

// Without a recording: every probe's kernel parses, and the interpreter runs it.
TEST(Probes, RunInTheInterpreter) {
  for (const Probe& probe : ScalarProbes()) {
    const auto result = Interpret(LaunchOf(probe), 1);
    EXPECT_TRUE(result.ok()) << probe.text << result.status();
  }
  for (const MatrixProbe& probe : MatrixProbes()) {
    const auto result = Interpret(LaunchOf(probe, 1), 1);
    EXPECT_TRUE(result.ok()) << probe.text << result.status();
  }
}

}  // namespace
}  // namespace samebits::device_test
