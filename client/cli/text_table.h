#ifndef SAMEBITS_CLIENT_CLI_TEXT_TABLE_H_
#define SAMEBITS_CLIENT_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "client/cli/terminal.h"

namespace samebits::cli {

// Columns as wide as their widest cell: the first on the left, the others on the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Lines with a head in bold; cells are made free of control characters.
  std::string Text(const Style& style) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_TEXT_TABLE_H_
