#ifndef SAMEBITS_CORE_INTERPRETER_FRAGMENTS_H_
#define SAMEBITS_CORE_INTERPRETER_FRAGMENTS_H_

// Where element `i` of a lane's fragment lies in its matrix, for mma.sync and, by warp, wgmma (PTX ISA, section
// "Matrix Fragments for mma"). Registers of 32 bits hold 32 / bits neighbouring elements; wider elements fill one each.

namespace samebits::interpreter {

struct Coordinate {
  int row = 0, column = 0;
};

// First factor, m x k, with m = 8 or 16: registers alternate between rows g and g + 8, then move right.
inline Coordinate FactorCoordinate(int m, int bits, int lane, int i) {
  const int per_register = bits >= 32 ? 1 : 32 / bits;
  const int reg = i / per_register, within = i % per_register;
  const int group = lane / 4, thread = lane % 4;
  const int down = m == 16 ? reg % 2 : 0, right = m == 16 ? reg / 2 : reg;
  return {group + 8 * down, per_register * (thread + 4 * right) + within};
}

// Second factor, k x 8: rows run with the lane's place in its group, columns with the group.
inline Coordinate SecondFactorCoordinate(int bits, int lane, int i) {
  const int per_register = bits >= 32 ? 1 : 32 / bits;
  const int reg = i / per_register, within = i % per_register;
  return {per_register * (lane % 4 + 4 * reg) + within, lane / 4};
}

// Accumulator and result, m x 8.
inline Coordinate AccumulatorCoordinate(int lane, int i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_FRAGMENTS_H_
