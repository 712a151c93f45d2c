#ifndef SAMEBITS_TESTS_SUPPORT_GENERATOR_WRITER_H_
#define SAMEBITS_TESTS_SUPPORT_GENERATOR_WRITER_H_

// What the parts of the generator share: register pools and the choice of operands.

#include <string>
#include <string_view>

#include "tests/support/generator/generator.h"

namespace samebits::generator {

// Pools, all of them set at the kernel's start. Other registers are the frame's.
inline constexpr int kHalves = 6;      // %h0.. : .b16
inline constexpr int kWords = 12;      // %r0.. : .b32
inline constexpr int kLongs = 5;       // %rd0.. : .b64
inline constexpr int kDoubles = 4;     // %d0.. : .f64, never NaN with a payload of its own
inline constexpr int kPredicates = 5;  // %p0.. : .pred

class Writer {
 public:
  Writer(Random& random, const GeneratorOptions& options) : random(random), options(options) {}

  std::string H() { return Register("%h", kHalves); }
  std::string R() { return Register("%r", kWords); }
  std::string RD() { return Register("%rd", kLongs); }
  std::string D() { return Register("%d", kDoubles); }
  std::string P() { return Register("%p", kPredicates); }
  std::string IntegerImmediate(int bits);
  std::string FloatImmediate();
  std::string DoubleImmediate();
  std::string RI() { return random.OneIn(3) ? IntegerImmediate(32) : R(); }  // word or literal
  std::string HI() { return random.OneIn(4) ? IntegerImmediate(16) : H(); }
  std::string RDI() { return random.OneIn(3) ? IntegerImmediate(64) : RD(); }
  std::string FI() { return random.OneIn(4) ? FloatImmediate() : R(); }
  std::string DI() { return random.OneIn(4) ? DoubleImmediate() : D(); }
  // One of `options`, separated by '|'; "" among them may be written as nothing.
  std::string OneOf(std::string_view options);

  Random& random;
  const GeneratorOptions& options;

 private:
  std::string Register(const char* prefix, int count) {
    return prefix + std::to_string(random.Below(static_cast<uint32_t>(count)));
  }
};

// One instruction that computes from registers to registers in one lane: no control flow, no memory, no other lanes.
std::string PureInstruction(Writer& w);

}  // namespace samebits::generator

#endif  // SAMEBITS_TESTS_SUPPORT_GENERATOR_WRITER_H_
