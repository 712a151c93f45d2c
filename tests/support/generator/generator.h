#ifndef SAMEBITS_TESTS_SUPPORT_GENERATOR_GENERATOR_H_
#define SAMEBITS_TESTS_SUPPORT_GENERATOR_GENERATOR_H_

// Small random PTX kernels with a launch and contents for their buffers. Every register is set before it is used, every
// address is inside its buffer, warp-wide instructions stand where all lanes arrive, and threads never race: what such
// a kernel writes is defined by the ISA.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/checker/checker.h"

namespace samebits::generator {

// A deterministic stream of choices.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {}
  uint64_t Next();
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>((Next() >> 32) * n >> 32); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  template <typename T, size_t N>
  const T& Pick(const T (&list)[N]) {
    return list[Below(N)];
  }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[Below(static_cast<uint32_t>(list.size()))];
  }

 private:
  uint64_t state_;
};

// Text with nested statements; any statement may be left out and the kernel stays valid.
struct Statement {
  std::string before;
  std::vector<Statement> body;
  std::string middle;
  std::vector<Statement> other;
  std::string after;
  bool removed = false;
};

struct Program {
  std::string header;  // up to the kernel's first statement
  std::vector<Statement> statements;
  std::string footer;
  checker::Launch launch;
  std::map<std::string, std::vector<uint8_t>> contents;

  std::string Text() const;
  // All statements, outer before inner.
  std::vector<Statement*> AllStatements();
};

struct GeneratorOptions {
  uint32_t min_statements = 4, max_statements = 24;
  bool approximate = true;  // ex2, rsqrt, div.full, ...
  bool matrix = true;       // mma.sync, ldmatrix, stmatrix
};

// The same program for the same seed and options.
Program Generate(uint64_t seed, const GeneratorOptions& options = {});

// A word with patterns that arithmetic treats apart: zeros of both signs, subnormals, infinities, NaNs of several
// payloads, halfway cases, small integers, in f32, f16 or bf16.
uint32_t AdversarialWord(Random& random);
// The same for f64, without NaN (whose payloads the ISA leaves open).
uint64_t AdversarialDouble(Random& random);

}  // namespace samebits::generator

#endif  // SAMEBITS_TESTS_SUPPORT_GENERATOR_GENERATOR_H_
