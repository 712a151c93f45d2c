#ifndef SAMEBITS_CORE_EXPR_SOFT_FORMAT_H_
#define SAMEBITS_CORE_EXPR_SOFT_FORMAT_H_

#include "core/expr/fn.h"
#include "core/softfloat/format.h"

namespace samebits::expr {

// The float format of a node's attribute, of 8 bits and more; null for narrower ones and for what is no float.
const softfloat::Format* SoftFormat(Format f);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_SOFT_FORMAT_H_
