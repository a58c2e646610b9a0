// A model's summary and a confusion matrix as tables.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/display/html.h"
#include "lockstep/display.h"

namespace lockstep {
namespace {

// "│ a │ b │" into its cells; lines of a frame have none.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (const std::string& bar : {std::string("│"), std::string("┃")}) {
    std::size_t at = line.find(bar);
    while (at != std::string::npos) {
      const std::size_t begin = at + bar.size(), end = line.find(bar, begin);
      if (end == std::string::npos) break;
      const std::string cell = line.substr(begin, end - begin);
      const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
      at = end;
    }
  }
  return cells;
}

}  // namespace

Rich summary_table(const Model& model) {
  Rich rich{"", model.summary()};
  std::istringstream lines(rich.text);
  std::string line, rows, rest;
  bool head = true;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty()) {
      const bool frame = line.find("━") != std::string::npos || line.find("─") != std::string::npos;
      if (!frame && !line.empty()) rest += escaped(line) + "<br/>";
      continue;
    }
    rows += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
      rows += fmt::format("<{0} style=\"text-align: {1}; padding: 2px 12px\">{2}</{0}>", head ? "th" : "td", i < 2 ? "left" : "right",
                          escaped(cells[i]));
    rows += "</tr>";
    head = false;
  }
  rich.html = rows.empty() ? "<pre>" + escaped(rich.text) + "</pre>" : "<table>" + rows + "</table><p>" + rest + "</p>";
  return rich;
}

Rich confusion_matrix(const Array& labels, const Array& outputs, const std::vector<std::string>& names) {
  const std::vector<std::int32_t> said = argmax(outputs);
  if (labels.samples() != outputs.samples())
    throw Error(fmt::format("confusion_matrix: {} labels for {} outputs", labels.samples(), outputs.samples()));
  const auto classes = static_cast<std::size_t>(outputs.samples() ? outputs.size() / outputs.samples() : 0);
  std::vector<std::vector<std::int64_t>> counts(classes, std::vector<std::int64_t>(classes));
  std::int64_t right = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::int32_t is = labels.data<std::int32_t>()[i];
    if (is < 0 || static_cast<std::size_t>(is) >= classes)
      throw Error(fmt::format("confusion_matrix: label {} of {} classes", is, classes));
    ++counts[static_cast<std::size_t>(is)][static_cast<std::size_t>(said[i])];
    right += is == said[i];
  }
  const auto name = [&](std::size_t k) { return k < names.size() ? names[k] : std::to_string(k); };
  Rich rich;
  const char* cell = "padding: 3px 7px; text-align: right; border: 1px solid rgba(128, 128, 128, 0.25)";
  rich.html = "<table style=\"border-collapse: collapse\"><tr><th>is \\ said</th>";
  for (std::size_t k = 0; k < classes; ++k) rich.html += fmt::format("<th style=\"{}\">{}</th>", cell, escaped(name(k)));
  rich.html += "</tr>";
  for (std::size_t i = 0; i < classes; ++i) {
    std::int64_t row = 0;
    for (const std::int64_t count : counts[i]) row += count;
    rich.html += fmt::format("<tr><th style=\"{}\">{}</th>", cell, escaped(name(i)));
    for (std::size_t k = 0; k < classes; ++k) {
      const double share = row ? static_cast<double>(counts[i][k]) / static_cast<double>(row) : 0;
      const std::string shade = counts[i][k] == 0 ? "transparent"
                                : i == k          ? fmt::format("rgba(31, 111, 180, {:.2f})", 0.1 + 0.6 * share)
                                                  : fmt::format("rgba(204, 34, 34, {:.2f})", std::min(0.6, 0.1 + 3 * share));
      rich.html += fmt::format("<td style=\"{}; background: {}\">{}</td>", cell, shade, counts[i][k] ? std::to_string(counts[i][k]) : "");
      rich.text += fmt::format("{:6}", counts[i][k]);
    }
    rich.html += "</tr>";
    rich.text += "\n";
  }
  rich.html += "</table>";
  rich.text += fmt::format("{} of {} right", right, said.size());
  rich.html += fmt::format("<p>{} of {} right</p>", right, said.size());
  return rich;
}

}  // namespace lockstep
