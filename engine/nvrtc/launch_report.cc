// A launch's counts as a table, for a terminal and for a notebook.
#include <fmt/format.h>

#include <array>

#include "engine/display/html.h"
#include "lockstep/cuda_kernel.h"

namespace lockstep {

namespace {

using CountCells = std::array<std::string, 7>;

const CountCells& count_heads() {
  static const CountCells heads{"line", "instructions", "lanes", "diverging", "sectors / least", "passes / least", "turns / atomics"};
  return heads;
}

CountCells count_cells(const std::string& line, const WarpCounts& c) {
  const double lanes = c.instructions == 0 ? 0 : static_cast<double>(c.lanes) / static_cast<double>(c.instructions);
  return {line,
          std::to_string(c.instructions),
          fmt::format("{:.1f}", lanes),
          fmt::format("{} of {}", c.divergent, c.branches),
          fmt::format("{} / {}", c.sectors, c.fewest_sectors),
          fmt::format("{} / {}", c.passes, c.fewest_passes),
          fmt::format("{} / {}", c.turns, c.atomics)};
}

std::vector<CountCells> count_rows(const LaunchReport& report) {
  std::vector<CountCells> rows{count_cells("all", report.total)};
  for (const LaunchReport::Line& one : report.lines) rows.push_back(count_cells(std::to_string(one.line), one.counts));
  return rows;
}

std::string counted_nothing(const LaunchReport& report) { return report.kernel + ": done; a real GPU does not count what its warps do.\n"; }

}  // namespace

std::string LaunchReport::text() const {
  if (!counted) return counted_nothing(*this);
  std::string text = kernel + "\n";
  std::vector<CountCells> rows = count_rows(*this);
  rows.insert(rows.begin(), count_heads());
  for (const CountCells& c : rows)
    text += fmt::format("{:>6} {:>12} {:>6} {:>14} {:>16} {:>16} {:>16}\n", c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
  return text;
}

std::string LaunchReport::html() const {
  if (!counted) return "<p>" + escaped(counted_nothing(*this)) + "</p>";
  std::string html = "<p>" + escaped(kernel) + "</p><table><tr>";
  for (const std::string& head : count_heads()) html += "<th>" + head + "</th>";
  for (const CountCells& row : count_rows(*this)) {
    html += "</tr><tr>";
    for (const std::string& cell : row) html += "<td style=\"text-align: right\">" + cell + "</td>";
  }
  return html + "</tr></table>";
}

}  // namespace lockstep
