// Pictures side by side, with what a model says about them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/display/html.h"
#include "engine/display/png.h"
#include "lockstep/display.h"

namespace lockstep {
namespace {

constexpr std::int64_t kShown = 16;

std::string picture(const Array& images, std::int64_t index, float low, float high) {
  const auto height = static_cast<int>(images.shape()[1]), width = static_cast<int>(images.shape()[2]);
  const auto channels = images.shape().rank() == 4 ? static_cast<int>(images.shape()[3]) : 1;
  const std::size_t count = static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  const float* values = images.data<float>() + static_cast<std::size_t>(index) * count;
  std::vector<std::uint8_t> pixels(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float share = (values[i] - low) / (high - low);
    pixels[i] = static_cast<std::uint8_t>(std::lround(std::clamp(std::isfinite(share) ? share : 0.0F, 0.0F, 1.0F) * 255));
  }
  const int shown = std::max(64, std::min(128, std::max(height, width)));
  return fmt::format("<img width=\"{}\" height=\"{}\" style=\"image-rendering: pixelated\" src=\"data:image/png;base64,{}\"/>",
                     shown * width / height, shown, base64(png(pixels, height, width, channels)));
}

void check_images(const Array& images, const char* who) {
  const std::size_t rank = images.shape().extents().size();
  const bool grey = rank == 3 || (rank == 4 && images.shape()[3] == 1);
  if (!(grey || (rank == 4 && images.shape()[3] == 3)))
    throw Error(fmt::format("{}: pictures have the shape (n, height, width, 1 or 3), not {}", who, images.shape().str()));
}

struct Caption {
  std::string text, color;
};

Rich grid(const Array& images, const std::vector<Caption>& captions, std::int64_t count, float low, float high) {
  Rich rich;
  rich.html = "<div style=\"display: flex; flex-wrap: wrap; gap: 8px\">";
  for (std::int64_t i = 0; i < count; ++i) {
    const Caption caption = static_cast<std::size_t>(i) < captions.size() ? captions[static_cast<std::size_t>(i)] : Caption{};
    rich.html += fmt::format(
        "<figure style=\"margin: 0; text-align: center\">{}<figcaption style=\"font-size: 12px; color: {}\">{}</figcaption></figure>",
        picture(images, i, low, high), caption.color.empty() ? "inherit" : caption.color, escaped(caption.text));
    rich.text += (i ? ", " : "") + (caption.text.empty() ? "picture " + std::to_string(i) : caption.text);
  }
  rich.html += "</div>";
  return rich;
}

std::string name_of(std::int64_t label, const std::vector<std::string>& names) {
  return label >= 0 && static_cast<std::size_t>(label) < names.size() ? names[static_cast<std::size_t>(label)] : std::to_string(label);
}

// Rows that are no probabilities yet are made so.
double probability(const float* row, std::int64_t classes, std::int64_t chosen) {
  double sum = 0, least = 0;
  for (std::int64_t k = 0; k < classes; ++k) sum += row[k], least = std::min<double>(least, row[k]);
  if (least >= 0 && std::abs(sum - 1) < 1e-3) return row[chosen];
  double total = 0;
  for (std::int64_t k = 0; k < classes; ++k) total += std::exp(static_cast<double>(row[k]) - row[chosen]);
  return 1 / total;
}

}  // namespace

std::vector<std::int32_t> argmax(const Array& outputs) {
  const std::int64_t samples = outputs.samples(), classes = samples ? outputs.size() / samples : 0;
  std::vector<std::int32_t> best(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) {
    const float* row = outputs.data<float>() + i * classes;
    best[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::max_element(row, row + classes) - row);
  }
  return best;
}

Rich image_grid(const Array& images, const std::vector<std::string>& captions, float low, float high) {
  check_images(images, "image_grid");
  std::vector<Caption> all;
  for (const std::string& caption : captions) all.push_back({caption, ""});
  const std::int64_t wanted = captions.empty() ? kShown : static_cast<std::int64_t>(captions.size());
  return grid(images, all, std::min(images.samples(), wanted), low, high);
}

Rich image_predictions(const Array& images, const Array& labels, const Array& outputs, const std::vector<std::string>& names,
                       std::int64_t most, float low, float high) {
  check_images(images, "image_predictions");
  const std::int64_t count = std::min({images.samples(), labels.samples(), outputs.samples(), most});
  const std::int64_t classes = outputs.samples() ? outputs.size() / outputs.samples() : 0;
  const std::vector<std::int32_t> best = argmax(outputs);
  std::vector<Caption> captions;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t said = best[static_cast<std::size_t>(i)], is = labels.data<std::int32_t>()[i];
    const double sure = probability(outputs.data<float>() + i * classes, classes, said);
    const std::string text = fmt::format("{} {:.0f} %", name_of(said, names), 100 * sure);
    captions.push_back(said == is ? Caption{text, ""} : Caption{text + ", is " + name_of(is, names), "#e04040"});
  }
  return grid(images, captions, count, low, high);
}

}  // namespace lockstep
