// History as SVG: a panel for each metric, in the colours of the text around it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "engine/display/html.h"
#include "lockstep/display.h"

namespace lockstep {
namespace {

constexpr double kWidth = 340, kHeight = 230, kLeft = 48, kRight = 12, kTop = 30, kBottom = 34;

constexpr const char *kTraining = "#3b8fd6", *kValidation = "#e0702f";  // told apart from white and from black

struct Panel {
  std::vector<double> training, validation;
  std::vector<double> other_training, other_validation;  // by epoch, from the first; not a number: not known
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
  for (const auto* more : {&panel.validation, &panel.other_training, &panel.other_validation})
    all.insert(all.end(), more->begin(), more->end());
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

// Values of another run: single points, since those between may not be known.
std::string rings(const std::vector<double>& values, const std::vector<int>& epochs, const Range& range, const char* color) {
  std::string svg;
  const double first = epochs.empty() ? 0 : epochs.front(), span = epochs.empty() ? 1 : std::max(1, epochs.back() - epochs.front());
  for (std::size_t i = 0; i < values.size() && i < epochs.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double x = kLeft + (epochs.size() == 1 ? 0.5 : (epochs[i] - first) / span) * (kWidth - kLeft - kRight);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"><title>{:.4f}</title></circle>", x,
        range.place(values[i]), color, values[i]);
  }
  return svg;
}

std::string draw(const std::string& name, const Panel& panel, const std::vector<int>& epochs, const std::string& other_name) {
  double step = 1;
  const Range range = range_of(panel, step);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"11\">"
      "<text x=\"{2}\" y=\"18\" font-size=\"13\" font-weight=\"bold\" fill=\"currentColor\">{3}</text>",
      kWidth, kHeight, kLeft, escaped(name));
  for (int i = 0; range.low + i * step <= range.high + step / 2; ++i) {
    const double value = range.low + i * step;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" stroke-opacity=\"0.15\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\" "
        "fill=\"currentColor\" fill-opacity=\"0.7\">{5}</text>",
        kLeft, kWidth - kRight, range.place(value), kLeft - 6, range.place(value) + 4,
        rounded(std::abs(value) < step / 1e6 ? 0 : value, 4));
  }
  const std::size_t every = std::max<std::size_t>(1, epochs.size() / 8);
  const double span = epochs.empty() ? 1 : std::max(1, epochs.back() - epochs.front());
  for (std::size_t i = 0; i < epochs.size(); i += every) {
    const double x = kLeft + (epochs.size() == 1 ? 0.5 : (epochs[i] - epochs.front()) / span) * (kWidth - kLeft - kRight);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\" fill-opacity=\"0.7\">{}</text>", x,
                       kHeight - kBottom + 15, epochs[i] + 1);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\" fill-opacity=\"0.7\">epoch</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 5);
  svg +=
      line(panel.training, epochs, range, kTraining, "") + line(panel.validation, epochs, range, kValidation, " stroke-dasharray=\"5 3\"");
  svg += rings(panel.other_training, epochs, range, kTraining) + rings(panel.other_validation, epochs, range, kValidation);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{}\">training{}</text>", kWidth - kRight, kHeight - 5, kTraining,
                     panel.validation.empty() ? "" : fmt::format(" <tspan fill=\"{}\">validation</tspan>", kValidation));
  if (!other_name.empty())
    svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"currentColor\" fill-opacity=\"0.7\">rings: {}</text>", 4, kHeight - 5,
                       escaped(other_name));
  return svg + "</svg>";
}

}  // namespace

Rich training_curves(const History& history) { return training_curves(history, {}, ""); }

Rich training_curves(const History& history, const History& other, const std::string& other_name) {
  std::map<std::string, Panel> panels;
  for (const auto& [name, values] : history.history) {
    const bool validation = name.rfind("val_", 0) == 0;
    Panel& panel = panels[validation ? name.substr(4) : name];
    (validation ? panel.validation : panel.training) = values;
    const auto found = other.history.find(name);
    if (found != other.history.end()) (validation ? panel.other_validation : panel.other_training) = found->second;
  }
  Rich rich;
  for (const auto& [name, panel] : panels) {
    rich.html += draw(name, panel, history.epoch, other_name);
    rich.text += fmt::format("{}{}: ", rich.text.empty() ? "" : "\n", name);
    for (const double value : panel.training) rich.text += rounded(value, 4) + " ";
    if (!panel.validation.empty()) rich.text += "| validation: ";
    for (const double value : panel.validation) rich.text += rounded(value, 4) + " ";
  }
  rich.html = "<div style=\"display: flex; flex-wrap: wrap; gap: 12px\">" + rich.html + "</div>";
  return rich;
}

Callback growing_curves(std::function<void(const Rich& curves, bool first)> show) {
  Callback callback;
  auto so_far = std::make_shared<History>();
  callback.on_epoch_end = [so_far, show = std::move(show)](TrainingEvent& event) {
    so_far->epoch.push_back(event.epoch);
    for (const auto& [name, value] : *event.logs) so_far->history[name].push_back(value);
    show(training_curves(*so_far), so_far->epoch.size() == 1);
  };
  return callback;
}

}  // namespace lockstep
