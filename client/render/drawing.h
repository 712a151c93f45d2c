#ifndef SAMEBITS_CLIENT_RENDER_DRAWING_H_
#define SAMEBITS_CLIENT_RENDER_DRAWING_H_

// One tree as SVG elements.

#include <string>
#include <string_view>

#include "core/checker/explain/tree_node.h"

namespace samebits::render {

struct Drawing {
  std::string elements;  // in [0, width] x [0, height]
  double width = 0, height = 0;
};

// `side`: "a" or "b", for ids: node 3 is "a3", and names its partner "b5" in data-partner.
Drawing DrawTree(const checker::Tree& tree, std::string_view side);

// Legend of scopes and outlines, as DrawTree's elements.
Drawing DrawLegend();

// Rules for what the two draw, light and dark.
std::string_view DrawingStyle();

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_DRAWING_H_
