#ifndef SAMEBITS_TESTS_ADVERSARIAL_RUN_SIDE_H_
#define SAMEBITS_TESTS_ADVERSARIAL_RUN_SIDE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/adversarial/pair_table.h"

namespace samebits::adversarial {

// Draws of pseudo-random inputs; higher numbers are the pair's fills.
inline constexpr int kRandomDraws = 2;

// What one launch left in its output buffers.
struct Outputs {
  std::map<std::string, std::vector<uint8_t>> bytes;
  std::map<std::string, std::vector<bool>> written;
  bool approximate = false;  // a stand-in took the place of an approximate instruction

  bool operator==(const Outputs& other) const { return bytes == other.bytes && written == other.written; }
};

// Bytes of a buffer's inputs. Draw 0: ordinary magnitudes. Draw 1: the whole exponent range below 2^13 (f32, with
// subnormals). From kRandomDraws on: the pair's fills, and zeros where a fill names no pattern.
std::vector<uint8_t> InputBytes(const Pair& pair, const std::string& name, const Buffer& buffer, int draw);

// Interprets a launch whose grid is known. Both sides of a pair see equal inputs on equal draws.
absl::StatusOr<Outputs> RunSide(const Pair& pair, const Side& side, int draw);

}  // namespace samebits::adversarial

#endif  // SAMEBITS_TESTS_ADVERSARIAL_RUN_SIDE_H_
