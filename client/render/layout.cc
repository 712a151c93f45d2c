#include "client/render/layout.h"

#include <algorithm>

namespace samebits::render {
namespace {

// Left and right edge of a subtree on each of its levels, the node's own centre being 0.
struct Outline {
  std::vector<double> left, right;
};

class Tidy {
 public:
  Tidy(const checker::Tree& tree, const std::vector<double>& widths, double gap)
      : tree_(tree), widths_(widths), gap_(gap), offsets_(tree.size(), 0), outlines_(tree.size()) {}

  Layout Run() {
    Layout out;
    out.spots.resize(tree_.size());
    if (tree_.empty()) return out;
    for (size_t i = tree_.size(); i-- > 0;) Place(i);
    const Outline& all = outlines_[0];
    const double shift = -*std::min_element(all.left.begin(), all.left.end());
    out.width = shift + *std::max_element(all.right.begin(), all.right.end());
    out.levels = static_cast<int>(all.left.size());
    out.spots[0].x = shift;
    for (size_t i = 0; i < tree_.size(); ++i)
      for (const uint32_t child : tree_[i].children)
        out.spots[child] = {out.spots[i].x + offsets_[child], out.spots[i].level + 1};
    return out;
  }

 private:
  // Puts the children, which are placed, beside each other below node `i`.
  void Place(size_t i) {
    Outline merged;
    std::vector<double> at;
    for (const uint32_t child : tree_[i].children) {
      const Outline& next = outlines_[child];
      double x = 0;
      for (size_t level = 0; level < std::min(merged.right.size(), next.left.size()); ++level)
        x = std::max(x, merged.right[level] + gap_ - next.left[level]);
      if (!at.empty()) x = std::max(x, at.back());
      at.push_back(x);
      for (size_t level = 0; level < next.left.size(); ++level) {
        if (level == merged.left.size()) {
          merged.left.push_back(x + next.left[level]);
          merged.right.push_back(x + next.right[level]);
        } else {
          merged.right[level] = x + next.right[level];
        }
      }
    }
    const double centre = at.empty() ? 0 : (at.front() + at.back()) / 2;
    Outline own{{-widths_[i] / 2}, {widths_[i] / 2}};
    for (size_t level = 0; level < merged.left.size(); ++level) {
      own.left.push_back(merged.left[level] - centre);
      own.right.push_back(merged.right[level] - centre);
    }
    for (size_t c = 0; c < at.size(); ++c) {
      offsets_[tree_[i].children[c]] = at[c] - centre;
      outlines_[tree_[i].children[c]] = {};
    }
    outlines_[i] = std::move(own);
  }

  const checker::Tree& tree_;
  const std::vector<double>& widths_;
  const double gap_;
  std::vector<double> offsets_;  // from the parent's centre
  std::vector<Outline> outlines_;
};

}  // namespace

Layout LayOut(const checker::Tree& tree, const std::vector<double>& widths, double gap) {
  return Tidy(tree, widths, gap).Run();
}

}  // namespace samebits::render
