#include "core/expr/soft_format.h"

namespace samebits::expr {

const softfloat::Format* SoftFormat(Format f) {
  switch (f) {
    case Format::kF16: return &softfloat::kF16;
    case Format::kBf16: return &softfloat::kBf16;
    case Format::kF32: return &softfloat::kF32;
    case Format::kTf32: return &softfloat::kTf32;
    case Format::kF64: return &softfloat::kF64;
    case Format::kE4m3: return &softfloat::kE4m3;
    case Format::kE5m2: return &softfloat::kE5m2;
    default: return nullptr;
  }
}

}  // namespace samebits::expr
