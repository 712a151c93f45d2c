#ifndef SAMEBITS_CORE_SYMEXEC_MATRIX_ARITHMETIC_H_
#define SAMEBITS_CORE_SYMEXEC_MATRIX_ARITHMETIC_H_

#include "core/symexec/machine.h"

namespace samebits::symexec {

// What a matrix instruction computes with, one group of products a step.
struct Machine::MatrixArithmetic {
  bool integer = false, half_acc = false;  // integer products; an f16 accumulator
  int bits = 0;                            // of an input element
  int group = 0;                           // products of a step
  uint64_t word = 0;                       // attribute of the steps
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_MATRIX_ARITHMETIC_H_
