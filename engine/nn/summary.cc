#include "summary.h"

#include <array>
#include <cstdio>
#include <vector>

namespace lockstep {
namespace {

// Keras cuts a terminal of 80 columns, less 4, at 45 % and 80 %; what is left inside the borders and their spaces is for text.
constexpr std::array<int, 3> kWidths = {31, 22, 13};

std::string repeat(const char* piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::string rule(const char* left, const char* line, const char* cross, const char* right) {
  std::string text = left;
  for (std::size_t c = 0; c < kWidths.size(); ++c) text += (c ? cross : "") + repeat(line, kWidths[c] + 2);
  return text + right + "\n";
}

// Cuts text that is too long and ends it in an ellipsis, which takes one column.
std::string cut(const std::string& text, int width) {
  return static_cast<int>(text.size()) <= width ? text : text.substr(0, static_cast<std::size_t>(width) - 1) + "…";
}

int columns(const std::string& utf8) {
  int n = 0;
  for (const char c : utf8) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return n;
}

// Words of a cell over as many lines as they need.
std::vector<std::string> wrap(const std::vector<std::string>& words, int width) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (!lines.empty() && columns(lines.back()) + 1 + static_cast<int>(word.size()) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(cut(word, width));
    }
  }
  return lines;
}

std::string row(const char* border, const std::array<std::vector<std::string>, 3>& cells) {
  std::size_t lines = 1;
  for (const auto& cell : cells) lines = std::max(lines, cell.size());
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    text += border;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string piece = line < cells[c].size() ? cells[c][line] : "";
      const std::string space(static_cast<std::size_t>(kWidths[c] - columns(piece)), ' ');
      text += " " + (c == 2 ? space + piece : piece + space) + " " + border;
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found(1);
  for (const char c : text) {
    if (c == ' ')
      found.emplace_back();
    else
      found.back() += c;
  }
  return found;
}

}  // namespace

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string readable_memory(double bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "KB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) bytes /= 1024, ++unit;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", bytes, kUnits[unit]);
  return text.data();
}

std::string summary_text(const Graph& graph, const std::string& model_name) {
  std::string text = "Model: \"" + model_name + "\"\n";
  text += rule("┏", "━", "┳", "┓");
  text += row("┃", {{{"Layer (type)"}, {"Output Shape"}, {"Param #"}}});
  text += rule("┡", "━", "╇", "┩");
  const std::vector<VariableSpec>& specs = graph.layout().specs();
  std::int64_t trained = 0, kept = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::int64_t parameters = 0;
    for (int v = 0; v < graph.variable_count(static_cast<int>(i)); ++v) {
      const int index = graph.first_variable(static_cast<int>(i)) + v;
      const VariableSpec& spec = specs[static_cast<std::size_t>(index)];
      parameters += spec.shape.size();
      (spec.trainable ? trained : kept) += spec.shape.size();
    }
    std::string shape = "(None";
    for (const std::int64_t extent : node.output.extents()) shape += ", " + std::to_string(extent);
    if (i) text += rule("├", "─", "┼", "┤");
    text += row("│", {wrap({node.layer->name(), "(" + node.layer->class_name() + ")"}, kWidths[0]), wrap(words(shape + ")"), kWidths[1]),
                      wrap({with_commas(parameters)}, kWidths[2])});
  }
  text += rule("└", "─", "┴", "┘");
  const auto line = [](const char* what, std::int64_t n) {
    return " " + std::string(what) + " params: " + with_commas(n) + " (" + readable_memory(static_cast<double>(n) * sizeof(float)) + ")\n";
  };
  return text + line("Total", trained + kept) + line("Trainable", trained) + line("Non-trainable", kept);
}

}  // namespace lockstep
