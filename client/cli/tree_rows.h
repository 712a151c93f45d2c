#ifndef SAMEBITS_CLIENT_CLI_TREE_ROWS_H_
#define SAMEBITS_CLIENT_CLI_TREE_ROWS_H_

// Two trees of an explanation as rows of text beside each other.

#include <string>
#include <vector>

#include "client/cli/terminal.h"
#include "core/checker/checker.h"

namespace samebits::cli {

// One node on one side of a row.
struct TreeCell {
  std::string text;      // indented; empty where this side has nothing
  checker::Scope scope = checker::Scope::kUnknown;  // how its operands came together; of a load: global
  bool is_same = false;  // both trees hold it
};

struct TreeRow {
  TreeCell a, b;
  bool differs = false;  // the sides have different things here
};

// The trees from the root, what stands at one place in one row.
std::vector<TreeRow> TreeRows(const checker::Tree& a, const checker::Tree& b);

// The cell in `width` columns: cut or filled, coloured by scope.
std::string ShowCell(const TreeCell& cell, size_t width, const Style& style);

// What colours and marks mean: lines, coloured.
std::vector<std::string> TreeLegend(const Style& style);

// "@12  add.f32 %f1, %f2, %f3  k.py:9" for each line that the tree's nodes name, at most `limit`.
std::vector<std::string> TreePlaces(const checker::Tree& tree, size_t limit);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_TREE_ROWS_H_
