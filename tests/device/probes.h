#ifndef SAMEBITS_TESTS_DEVICE_PROBES_H_
#define SAMEBITS_TESTS_DEVICE_PROBES_H_

// Kernels of one instruction each, for comparing the interpreter with hardware bit by bit.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace samebits::device_test {

// What the operands of a probe look like.
enum class Inputs : uint8_t {
  kF16,  // scalars: edges, near exponents, random
  kBf16,
  kF32,
  kF64,
  kHalves,      // pairs of f16
  kBrains,      // pairs of bf16
  kBytes,       // fp8 pairs: every pattern
  kInteger,     // edges and random
  kShift,       // a any integer, b and c small
  kSpecialF32,  // zeros, infinities, NaNs: where even approximate instructions are fixed
};
inline constexpr size_t kInputsCount = 10;

// A probe's text reads %d1..%d3, %w1..%w3, %h1..%h3 (the operands' 64, 32 and 16 low bits) and predicate %q, and
// writes any of %d0, %w0, %w4, %h0, %p, %p2.
struct Probe {
  std::string text;
  Inputs inputs;
};

std::vector<Probe> ScalarProbes();
std::string ScalarKernel(const Probe& probe);

// Rows of three operands.
struct Row {
  uint64_t a, b, c;
};
const std::vector<Row>& RowsFor(Inputs inputs);  // not thread-safe

// Contents of words, by their element type.
enum class Words : uint8_t { kF16, kBf16, kF32, kF64, kE4m3, kE5m2, kAny };

// An instruction of a warp or warpgroup. Its text reads the lane's words %x0..%x15 (%z0..%z7: the same in pairs), reads
// and writes %y0.. (64-bit results: %v0..), and may use shared memory: %base is its address, %row an address of 16
// bytes, another one for each lane. Before it runs, shared memory is filled from the input.
struct MatrixProbe {
  std::string text;
  Words factors = Words::kF16;
  Words results = Words::kF32;  // contents of %y before
  int threads = 32;
  int result_words = 4;  // of a lane
  uint32_t shared_bytes = 0;
  bool stores_to_shared = false;  // the results are the first words of shared memory
};

std::vector<MatrixProbe> MatrixProbes();
std::string MatrixKernel(const MatrixProbe& probe);

// The input of `blocks` blocks: for each shared memory, then 16 words a lane, then the results' words a lane. Blocks
// take turns in four flavours: numbers near 1, a wide range, zeros and tiny numbers, and a few infinities and NaNs.
std::vector<uint32_t> MatrixInput(const MatrixProbe& probe, int blocks);

// A recording holds what a device returned: for each probe (its text) or kernel (its name) a line of the name, a line
// of the byte count, and the bytes.

// Shape of the launches that a recording holds.
inline constexpr int kScalarRows = 8192, kScalarResultBytes = 24, kMatrixBlocks = 16;

// A launch of a whole kernel, one a line of a text file:
//   name path entry block.x block.y block.z grid.x grid.y grid.z shared_bytes arguments...
// where an argument is "p" for a buffer or its bytes in hexadecimal, in the order of the parameters.
struct KernelLaunch {
  std::string name, path, entry;
  uint32_t block[3] = {1, 1, 1}, grid[3] = {1, 1, 1}, shared_bytes = 0;
  std::vector<std::string> args;
};
bool ParseKernelLaunch(const std::string& line, KernelLaunch* launch);
std::vector<uint8_t> ArgumentBytes(const std::string& hexadecimal);

// Buffers of whole kernels hold pairs of f16 numbers in [1/8, 2). The recording holds a hash of each 4 KiB page of each
// buffer after the launch.
inline constexpr size_t kBufferBytes = 4 << 20, kPageBytes = 4096;
std::vector<uint8_t> BufferContents(size_t index);
void AppendPageHashes(const uint8_t* bytes, size_t count, std::vector<uint8_t>* hashes);

}  // namespace samebits::device_test

#endif  // SAMEBITS_TESTS_DEVICE_PROBES_H_
