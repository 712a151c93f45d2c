#ifndef SAMEBITS_CLIENT_RENDER_LAYOUT_H_
#define SAMEBITS_CLIENT_RENDER_LAYOUT_H_

// Tidy drawing of a tree: levels top down, parents centred over their children, subtrees as close as their outlines
// permit (Reingold and Tilford, Tidier Drawings of Trees, 1981, with nodes of any width).

#include <vector>

#include "core/checker/explain/tree_node.h"

namespace samebits::render {

struct Spot {
  double x = 0;   // of the node's centre
  int level = 0;  // 0: the root
};

struct Layout {
  std::vector<Spot> spots;  // by node
  double width = 0;         // everything lies in [0, width]
  int levels = 0;
};

// `widths`: of each node's box. `gap`: between boxes of one level. The tree's children come after their parents, and
// each node but the root has one parent.
Layout LayOut(const checker::Tree& tree, const std::vector<double>& widths, double gap);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_LAYOUT_H_
