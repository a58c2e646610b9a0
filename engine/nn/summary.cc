#include "engine/nn/summary.h"

#include <array>
#include <cstdio>
#include <vector>

namespace lockstep {
namespace {

// Keras cuts a terminal of 80 columns, less 4; what is left inside the borders and their spaces is for text. A functional model with
// branches has a fourth column.
const std::vector<int> kChain = {31, 22, 13};
const std::vector<int> kBranches = {19, 17, 10, 17};
constexpr std::size_t kRightAligned = 2;

std::string repeat(const char* piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::string rule(const std::vector<int>& widths, const char* left, const char* line, const char* cross, const char* right) {
  std::string text = left;
  for (std::size_t c = 0; c < widths.size(); ++c) text += (c ? cross : "") + repeat(line, widths[c] + 2);
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

std::string row(const std::vector<int>& widths, const char* border, const std::vector<std::vector<std::string>>& cells) {
  std::size_t lines = 1;
  for (const auto& cell : cells) lines = std::max(lines, cell.size());
  std::string text;
  for (std::size_t line = 0; line < lines; ++line) {
    text += border;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string piece = line < cells[c].size() ? cells[c][line] : "";
      const std::string space(static_cast<std::size_t>(widths[c] - columns(piece)), ' ');
      text += " " + (c == kRightAligned ? space + piece : piece + space) + " " + border;
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

std::string summary_text(const Graph& graph, const std::string& model_name, const std::optional<OptimizerSize>& optimizer) {
  bool branches = false;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    branches = branches || graph.nodes()[i].inputs != std::vector<int>{static_cast<int>(i) - 1};
  branches = branches && graph.functional();
  const std::vector<int>& widths = branches ? kBranches : kChain;
  const std::string input_name = "input_layer";
  const auto shape_text = [](const Shape& sample) {
    std::string shape = "(None";
    for (const std::int64_t extent : sample.extents()) shape += ", " + std::to_string(extent);
    return shape + ")";
  };
  const auto layer_row = [&](const std::string& name, const std::string& type, const Shape& sample, std::int64_t parameters,
                             const std::string& connected) {
    std::vector<std::vector<std::string>> cells{wrap({name, "(" + type + ")"}, widths[0]), wrap(words(shape_text(sample)), widths[1]),
                                                wrap({with_commas(parameters)}, widths[2])};
    if (branches) cells.push_back(wrap(words(connected), widths[3]));
    return row(widths, "│", cells);
  };

  std::string text = "Model: \"" + model_name + "\"\n";
  text += rule(widths, "┏", "━", "┳", "┓");
  text += row(widths, "┃", {{"Layer (type)"}, {"Output Shape"}, {"Param #"}, {"Connected to"}});
  text += rule(widths, "┡", "━", "╇", "┩");
  if (graph.functional()) text += layer_row(input_name, "InputLayer", graph.input(), 0, "-");
  const std::vector<VariableSpec>& specs = graph.layout().specs();
  std::int64_t trained = 0, kept = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::int64_t parameters = 0;
    const VariableRange own = graph.variables(static_cast<int>(i));
    for (int v = own.first; v < own.end; ++v) {
      const VariableSpec& spec = specs[static_cast<std::size_t>(v)];
      parameters += spec.shape.size();
      (spec.trainable ? trained : kept) += spec.shape.size();
    }
    std::string connected;
    for (const int from : node.inputs) {
      connected += (connected.empty() ? "" : ", ");
      connected += (from < 0 ? input_name : graph.nodes()[static_cast<std::size_t>(from)].layer->name()) + "[0][0]";
    }
    if (i || graph.functional()) text += rule(widths, "├", "─", "┼", "┤");
    text += layer_row(node.layer->name(), node.layer->class_name(), node.output, parameters, connected);
  }
  text += rule(widths, "└", "─", "┴", "┘");
  const auto line = [](const char* what, std::int64_t n, std::int64_t bytes) {
    return " " + std::string(what) + " params: " + with_commas(n) + " (" + readable_memory(static_cast<double>(bytes)) + ")\n";
  };
  const OptimizerSize beside = optimizer.value_or(OptimizerSize{});
  text += line("Total", trained + kept + beside.values, 4 * (trained + kept) + beside.bytes);
  text += line("Trainable", trained, 4 * trained) + line("Non-trainable", kept, 4 * kept);
  return optimizer ? text + line("Optimizer", beside.values, beside.bytes) : text;
}

}  // namespace lockstep
