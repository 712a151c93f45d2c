#ifndef SAMEBITS_CORE_SYMEXEC_VALUE_H_
#define SAMEBITS_CORE_SYMEXEC_VALUE_H_

// The content of one register in all lanes.

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "core/symexec/lanes.h"

namespace samebits::symexec {

// Buffers that are address spaces of the block, not kernel arguments.
inline constexpr expr::BufferId kSharedSpace = 0xfffe, kLocalSpace = 0xfffd;

// `bits` bits of data, the same cut in every lane.
struct Piece {
  Lanes lanes;
  uint8_t bits = 0;
};

struct Value {
  enum class Kind : uint8_t {
    kUndef,      // never written
    kInt,        // per lane array + constant + symbolic, modulo 2^width; offset into `buffer` if that is set
    kPredicate,  // known truth value per lane: mask
    kBits,       // data: pieces from the least significant; with `buffer` set, an address: base + data
  };
  Kind kind = Kind::kUndef;
  uint8_t width = 32;
  expr::BufferId buffer = 0;
  ArrayId array = 0;
  SymbolicId symbolic = 0;
  MaskId mask = 0;  // kPredicate; of a kInt: lanes that hold kOutside instead (amdgcn/), none in PTX
  int64_t constant = 0;
  absl::InlinedVector<Piece, 1> pieces;

  bool is_int() const { return kind == Kind::kInt; }
  bool is_bits() const { return kind == Kind::kBits; }
  bool is_predicate() const { return kind == Kind::kPredicate; }
  bool is_uniform_const() const { return kind == Kind::kInt && array == 0 && symbolic == 0 && buffer == 0; }

  static Value Int(int64_t constant, int width) {
    Value v;
    v.kind = Kind::kInt;
    v.width = static_cast<uint8_t>(width);
    v.constant = constant;
    return v;
  }
  static Value Predicate(MaskId mask) {
    Value v;
    v.kind = Kind::kPredicate;
    v.width = 1;
    v.mask = mask;
    return v;
  }
  static Value Bits(Lanes lanes, int width) {
    Value v;
    v.kind = Kind::kBits;
    v.width = static_cast<uint8_t>(width);
    v.pieces.push_back({std::move(lanes), static_cast<uint8_t>(width)});
    return v;
  }
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_VALUE_H_
