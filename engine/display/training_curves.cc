// History as SVG, by hand: a panel for each metric.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "html.h"
#include "lockstep/display.h"

namespace lockstep {
namespace {

constexpr double kWidth = 340, kHeight = 230, kLeft = 48, kRight = 12, kTop = 30, kBottom = 34;

struct Panel {
  std::vector<double> training, validation;
};

struct Range {
  double low = 0, high = 1;
  double place(double value) const { return kHeight - kBottom - (value - low) / (high - low) * (kHeight - kTop - kBottom); }
};

// Round numbers around the values; 1, 2 or 5 times a power of ten between lines.
double step_for(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span / 4)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (span / (factor * power) <= 5) return factor * power;
  }
  return 10 * power;
}

Range range_of(const Panel& panel, double& step) {
  std::vector<double> all = panel.training;
  all.insert(all.end(), panel.validation.begin(), panel.validation.end());
  all.erase(std::remove_if(all.begin(), all.end(), [](double v) { return !std::isfinite(v); }), all.end());
  if (all.empty()) all = {0, 1};
  auto [low, high] = std::minmax_element(all.begin(), all.end());
  Range range{*low, *high};
  const double span = std::max(range.high - range.low, std::max(1e-9, std::abs(range.high) * 0.02));
  step = step_for(span);
  range.low = std::floor(range.low / step) * step;
  range.high = std::ceil(range.high / step) * step;
  if (range.high <= range.low) range.high = range.low + step;
  return range;
}

std::string line(const std::vector<double>& values, const std::vector<int>& epochs, const Range& range, const char* color,
                 const char* dash) {
  if (values.empty()) return {};
  std::string points, dots;
  const double first = epochs.front(), span = std::max(1, epochs.back() - epochs.front());
  for (std::size_t i = 0; i < values.size() && i < epochs.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double x = kLeft + (epochs.size() == 1 ? 0.5 : (epochs[i] - first) / span) * (kWidth - kLeft - kRight);
    const double y = range.place(values[i]);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"><title>epoch {}: {:.4g}</title></circle>", x, y, color,
                        epochs[i] + 1, values[i]);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>{}", points, color, dash, dots);
}

std::string draw(const std::string& name, const Panel& panel, const std::vector<int>& epochs) {
  double step = 1;
  const Range range = range_of(panel, step);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"11\">"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/><text x=\"{2}\" y=\"18\" font-size=\"13\" font-weight=\"bold\">{3}</text>",
      kWidth, kHeight, kLeft, escaped(name));
  for (int i = 0; range.low + i * step <= range.high + step / 2; ++i) {
    const double value = range.low + i * step;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e4e4\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" "
        "fill=\"#555\">{5}</text>",
        kLeft, kWidth - kRight, range.place(value), kLeft - 6, range.place(value) + 4,
        rounded(std::abs(value) < step / 1e6 ? 0 : value, 4));
  }
  const std::size_t every = std::max<std::size_t>(1, epochs.size() / 8);
  const double span = epochs.empty() ? 1 : std::max(1, epochs.back() - epochs.front());
  for (std::size_t i = 0; i < epochs.size(); i += every) {
    const double x = kLeft + (epochs.size() == 1 ? 0.5 : (epochs[i] - epochs.front()) / span) * (kWidth - kLeft - kRight);
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>", x, kHeight - kBottom + 15, epochs[i] + 1);
  }
  svg +=
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">epoch</text>", (kLeft + kWidth - kRight) / 2, kHeight - 5);
  svg += line(panel.training, epochs, range, "#1f6fb4", "") + line(panel.validation, epochs, range, "#d9662c", " stroke-dasharray=\"5 3\"");
  svg += fmt::format("<text x=\"{}\" y=\"18\" text-anchor=\"end\" fill=\"#1f6fb4\">training{}</text>", kWidth - kRight,
                     panel.validation.empty() ? "" : " <tspan fill=\"#d9662c\">validation</tspan>");
  return svg + "</svg>";
}

}  // namespace

Rich training_curves(const History& history) {
  std::map<std::string, Panel> panels;
  for (const auto& [name, values] : history.history) {
    if (name.rfind("val_", 0) == 0) {
      panels[name.substr(4)].validation = values;
    } else {
      panels[name].training = values;
    }
  }
  Rich rich;
  for (const auto& [name, panel] : panels) {
    rich.html += draw(name, panel, history.epoch);
    rich.text += fmt::format("{}{}: ", rich.text.empty() ? "" : "\n", name);
    for (const double value : panel.training) rich.text += rounded(value, 4) + " ";
    if (!panel.validation.empty()) rich.text += "| validation: ";
    for (const double value : panel.validation) rich.text += rounded(value, 4) + " ";
  }
  rich.html = "<div style=\"display: flex; flex-wrap: wrap; gap: 12px\">" + rich.html + "</div>";
  return rich;
}

}  // namespace lockstep
