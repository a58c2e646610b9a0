#include "cli/project/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<std::string> groups_of(const Validation& validation) {
  std::vector<std::string> names;
  for (const ValidatedRow& row : validation.rows) {
    if (std::find(names.begin(), names.end(), row.group) == names.end()) names.push_back(row.group);
  }
  return names;
}

struct GroupErrors {
  MeanAndWorst fitted, held_out;
  int rows = 0;  // a row may count in both
};

GroupErrors errors_of(const Validation& validation, const std::string& group) {
  GroupErrors errors;
  for (const ValidatedRow& row : validation.rows) {
    if (row.group != group) continue;
    ++errors.rows;
    if (row.fitted) errors.fitted.add(row.error());
    if (row.held_out) errors.held_out.add(*row.held_out_error());
  }
  return errors;
}

std::string percent(double part) { return fmt::format("{:+.1f} %", 100 * part); }

std::string mean_and_worst(const MeanAndWorst& errors) {
  return errors.rows == 0 ? fmt::format("{:>9} {:>9}", "", "")
                          : fmt::format("{:>7.1f} % {:>7.1f} %", 100 * errors.average(), 100 * errors.worst);
}

// Groups of one family (what their names have before the comma) share a shape, and their colours differ.
struct Marker {
  std::size_t colour = 0, shape = 0;

  std::string at(double x, double y, double size, const std::string& attributes, const std::string& title) const {
    static constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                            "#e69f00", "#56b4e9", "#8a6d3b", "#444444"};
    // In units of the size: a circle, a square, a triangle, a diamond, a triangle on its point, and a cross.
    static constexpr std::array<const char*, 6> kShapes = {
        "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0-1 0Z", "M-.9-.9H.9V.9H-.9Z",  "M0-1.2L1.1.8H-1.1Z",
        "M0-1.3L1.3 0L0 1.3L-1.3 0Z",         "M0 1.2L1.1-.8H-1.1Z", "M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z"};
    return fmt::format("<path transform='translate({:.1f} {:.1f}) scale({})' d='{}' fill='{}'{}>{}</path>", x, y, size,
                       kShapes[shape % kShapes.size()], kColours[colour % kColours.size()], attributes, title);
  }
};

std::vector<Marker> markers_of(const std::vector<std::string>& groups) {
  std::vector<std::string> families;
  std::vector<Marker> markers;
  for (const std::string& group : groups) {
    const std::string family = group.substr(0, group.find(','));
    const auto found = std::find(families.begin(), families.end(), family);
    markers.push_back({markers.size(), static_cast<std::size_t>(found - families.begin())});
    if (found == families.end()) families.push_back(family);
  }
  return markers;
}

}  // namespace

std::optional<double> ValidatedRow::held_out_error() const {
  return held_out ? std::optional<double>(*held_out / published - 1) : std::nullopt;
}

bool Validation::holds() const {
  return std::all_of(bounds.begin(), bounds.end(), [](const ValidatedBound& bound) { return bound.holds(); });
}

void MeanAndWorst::add(double error) {
  mean += std::abs(error);
  worst = std::max(worst, std::abs(error));
  ++rows;
}

std::string table_of(const Validation& validation) {
  std::string text;
  for (const std::string& group : groups_of(validation)) {
    text += fmt::format("{:<38} {:>10} {:>10} {:>8} {:>9}\n", group, "published", "model", "error", "held out");
    for (const ValidatedRow& row : validation.rows) {
      if (row.group != group) continue;
      text += fmt::format("  {:<36} {:>10.5g} {:>10.5g} {:>8} {:>9}  {}\n", row.name, row.published, row.model,
                          row.fitted ? percent(row.error()) : "", row.held_out ? percent(*row.held_out_error()) : "", row.unit);
    }
    text += "\n";
  }
  text += fmt::format("{:<38} {:>4} {:^19}  {:^19}\n{:<38} {:>4} {:>9} {:>9}  {:>9} {:>9}\n", "", "", "fitted", "held out", "group", "rows",
                      "mean", "worst", "mean", "worst");
  for (const std::string& group : groups_of(validation)) {
    const GroupErrors errors = errors_of(validation, group);
    text += fmt::format("{:<38} {:>4} {}  {}\n", group, errors.rows, mean_and_worst(errors.fitted), mean_and_worst(errors.held_out));
  }
  text += "\n";
  for (const ValidatedBound& bound : validation.bounds) {
    text += fmt::format("{:<72} {:>6.1f} %", bound.what, 100 * bound.value);
    text += bound.most == 0 ? "\n" : fmt::format("  {} {:.0f} %\n", bound.holds() ? "at most" : "EXCEEDS", 100 * bound.most);
  }
  return text;
}

std::string json_of(const Validation& validation) {
  OrderedJson json;
  json["holds"] = validation.holds();
  json["bounds"] = OrderedJson::array();
  for (const ValidatedBound& bound : validation.bounds) {
    OrderedJson one = {{"what", bound.what}, {"value", bound.value}};
    if (bound.most > 0) one["most"] = bound.most;
    one["holds"] = bound.holds();
    json["bounds"].push_back(one);
  }
  json["groups"] = OrderedJson::array();
  for (const std::string& group : groups_of(validation)) {
    const GroupErrors errors = errors_of(validation, group);
    OrderedJson one = {{"group", group}, {"rows", errors.rows}};
    if (errors.fitted.rows > 0) one["fitted"] = {{"mean", errors.fitted.average()}, {"worst", errors.fitted.worst}};
    if (errors.held_out.rows > 0) one["held_out"] = {{"mean", errors.held_out.average()}, {"worst", errors.held_out.worst}};
    json["groups"].push_back(one);
  }
  json["rows"] = OrderedJson::array();
  for (const ValidatedRow& row : validation.rows) {
    OrderedJson one = {{"group", row.group}, {"name", row.name},     {"published", row.published}, {"model", row.model},
                       {"unit", row.unit},   {"error", row.error()}, {"fitted", row.fitted}};
    if (row.held_out) one["held_out_model"] = *row.held_out;
    if (row.held_out) one["held_out_error"] = *row.held_out_error();
    one["source"] = row.source;
    json["rows"].push_back(one);
  }
  return json.dump(2) + "\n";
}

std::string svg_of(const Validation& validation) {
  constexpr double kSize = 560, kLeft = 70, kTop = 40, kLegend = 290;
  double least = 1e300, most = 0;
  for (const ValidatedRow& row : validation.rows) {
    least = std::min({least, row.published, row.model});
    most = std::max({most, row.published, row.model});
  }
  const double first = std::floor(std::log10(least)), last = std::ceil(std::log10(most));
  const double side = kSize - kLeft - 20;
  const auto x = [&](double value) { return kLeft + (std::log10(value) - first) / (last - first) * side; };
  const auto y = [&](double value) { return kTop + side - (std::log10(value) - first) / (last - first) * side; };
  std::string body;
  for (int decade = static_cast<int>(first); decade <= static_cast<int>(last); ++decade) {
    const double value = std::pow(10, decade);
    body += fmt::format("<path d='M{:.1f} {:.1f} V{:.1f} M{:.1f} {:.1f} H{:.1f}' class='grid'/>", x(value), kTop, kTop + side, kLeft,
                        y(value), kLeft + side);
    body +=
        fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:g}</text><text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:g}</text>",
                    x(value), kTop + side + 18, value, kLeft - 6, y(value) + 4, value);
  }
  const double low = std::pow(10, first), high = std::pow(10, last);
  for (const double factor : {0.8, 1.0, 1.25})
    body +=
        fmt::format("<path d='M{:.1f} {:.1f} L{:.1f} {:.1f}' class='{}'/>", x(std::max(low, low / factor)), y(std::max(low, low * factor)),
                    x(std::min(high, high / factor)), y(std::min(high, high * factor)), factor == 1 ? "same" : "near");
  const std::vector<std::string> groups = groups_of(validation);
  const std::vector<Marker> markers = markers_of(groups);
  for (std::size_t number = 0; number < groups.size(); ++number) {
    const std::string& group = groups[number];
    const Marker& marker = markers[number];
    const double line = kTop + 12 + 20 * static_cast<double>(number);
    body += marker.at(kSize + 10, line, 4.5, "", "") + fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>", kSize + 20, line + 4, group);
    for (const ValidatedRow& row : validation.rows) {
      if (row.group != group) continue;
      body += marker.at(x(row.published), y(row.model), 3.5, " fill-opacity='0.7'",
                        fmt::format("<title>{}, {}: {:g} {}, model {:g}</title>", group, row.name, row.published, row.unit, row.model));
    }
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='system-ui, sans-serif' font-size='12'>"
      "<style>.grid{{stroke:#ddd;fill:none}}.same{{stroke:#444;fill:none}}.near{{stroke:#999;stroke-dasharray:5 4;fill:none}}"
      "text{{fill:#444}}</style><rect width='100%' height='100%' fill='#fff'/>"
      "<text x='{}' y='24' font-size='15'>Modelled against published</text>{}"
      "<text x='{}' y='{}' text-anchor='middle'>published (dashed: 25 % off)</text>"
      "<text x='16' y='{}' transform='rotate(-90 16 {})' text-anchor='middle'>modelled</text></svg>\n",
      kSize + kLegend, kSize, kLeft, body, kLeft + side / 2, kTop + side + 40, kTop + side / 2, kTop + side / 2);
}

}  // namespace lockstep::cli
