#pragma once
#include <istream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Tables of published figures, as comma-separated lines under a line with the names of the columns.

namespace lockstep::clock {

// `read_row` takes a line's cells from a stream into a row and answers whether the row makes sense. Throws where it does not, with the
// line.
template <class Row, class ReadRow>
std::vector<Row> published_rows(std::string_view table, const std::string& name, ReadRow read_row) {
  std::vector<Row> rows;
  std::istringstream lines{std::string(table)};
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    Row row;
    if (!read_row(cells, row) || !cells) throw std::runtime_error(name + ": not a row: " + line);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace lockstep::clock
