#ifndef SAMEBITS_CORE_CHECKER_DRAWS_H_
#define SAMEBITS_CORE_CHECKER_DRAWS_H_

// Inputs for the search of witnesses: the numbers that a program reads, and contents for them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/expr/program.h"

namespace samebits::checker {

// A number in memory, or a parameter, that draws assign.
struct Cell {
  expr::BufferId buffer = 0;
  int64_t offset = 0;
  size_t position = 0;  // in the image
  uint8_t bytes = 0;
  expr::Format format = expr::Format::kNone;  // what the program takes it for; kNone: unknown
  bool near = false;                          // read below the parting nodes
  bool address = false;                       // enters an address
};

// The cells of a program whose image is settled, in order of position. `targets` are the parting nodes' values.
std::vector<Cell> FindCells(const expr::Program& program, const expr::Image& image,
                            const std::vector<expr::ValueId>& targets);

// Format in which a value is a result; kNone where it is not clear. Integers count as unsigned.
expr::Format ResultFormat(const expr::Program& program, expr::ValueId id);

bool IsFloatFormat(expr::Format f);
// The pattern as a number with its format ("1.5 (f32)"); as an integer where the format is no float.
std::string Readable(expr::Format f, uint64_t bits, int bytes);
bool IsNanPattern(expr::Format f, uint64_t bits);
bool IsZeroPattern(expr::Format f, uint64_t bits);
uint64_t OnePattern(expr::Format f, int bytes);

// What a draw is after.
enum class Strategy : uint8_t {
  kUniform,
  kScales,
  kCancellation,
  kSmallIntegers,
  kSprinkledSpecials,
  kBuffers,
  kRareCancellation,
  kHalfway,
  kNearCancellation,
  kWide,
  kAbsorption,
  kLogAbsorption,
  kFill,
  kSpecials,
  kSubnormal,
  kSparse,
  kNearSpecials,
  kNearSubnormal,
  kRawBits,
};
inline constexpr int kStrategies = 19;

// Deterministic: equal seeds give equal contents. Fills the cells of the image, all else stays.
void DrawContents(Strategy strategy, uint64_t seed, const std::vector<Cell>& cells, expr::Image* image);

// Fills the cells `chosen` with numbers of like magnitude, whatever their strategy.
void DrawVariation(uint64_t seed, const std::vector<Cell>& cells, const std::vector<size_t>& chosen,
                   expr::Image* image);

// The pattern nearest to minus the number `bits` of format `from` in the cell's format; 0 where either is no float.
uint64_t Opposite(const Cell& cell, expr::Format from, uint64_t bits);

// Writes a pattern into the cell.
void Put(const Cell& cell, uint64_t bits, expr::Image* image);

// Strategies in the order to try for nodes of this operation that part.
std::vector<Strategy> OrderFor(expr::Fn fn, uint64_t attr_a, uint64_t attr_b);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_DRAWS_H_
