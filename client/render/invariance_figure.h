#ifndef SAMEBITS_CLIENT_RENDER_INVARIANCE_FIGURE_H_
#define SAMEBITS_CLIENT_RENDER_INVARIANCE_FIGURE_H_

// At which batch sizes the bits of a row change, as an SVG document.

#include <string>
#include <utility>
#include <vector>

#include "core/gemm/profile_report.h"

namespace samebits::render {

// A band of boxes for each report, over M on a logarithmic axis: parts of one colour owe a row the same bits, what is not
// known is a thin line. Names stand before the bands; where they are empty, n and k do. At most 200 bands are drawn.
std::string InvarianceFigure(const std::vector<std::pair<std::string, gemm::InvarianceReport>>& reports);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_INVARIANCE_FIGURE_H_
