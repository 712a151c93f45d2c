#include "client/cli/text_table.h"

#include <algorithm>

namespace samebits::cli {

std::string TextTable::Text(const Style& style) const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const std::vector<std::string>& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(OneLine(row[i])));
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string cell = OneLine(rows_[r][i]);
      const std::string space(widths[i] - DisplayWidth(cell), ' ');
      line += i == 0 ? cell + space : "  " + space + cell;
    }
    out += (r == 0 ? style.Bold(line) : line) + "\n";
  }
  return out;
}

}  // namespace samebits::cli
