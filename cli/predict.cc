// `lockstep predict FILE image.jpg ...`: classifies pictures with a trained model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/command.h"
#include "cli/validators.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

struct PredictOptions {
  std::string model;
  std::vector<std::string> images;
  std::vector<std::string> classes;
  int top = 3;
  bool json = false;
  bool invert = false;
};

std::vector<std::string> class_names(const PredictOptions& options, std::int64_t count) {
  if (!options.classes.empty()) {
    if (static_cast<std::int64_t>(options.classes.size()) != count)
      throw Error(fmt::format("--classes names {} classes, but {} has {}", options.classes.size(), options.model, count));
    return options.classes;
  }
  if (count == 2) return {"cat", "dog"};
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// Probabilities, also for a model whose output is scores.
std::vector<double> probabilities(const float* row, std::int64_t count) {
  std::vector<double> p(row, row + count);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  const bool already = std::all_of(p.begin(), p.end(), [](double x) { return x >= 0; }) && std::abs(sum - 1) < 1e-3;
  if (already) return p;
  const double largest = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (double& x : p) total += x = std::exp(x - largest);
  for (double& x : p) x /= total;
  return p;
}

// As a JSON string; bytes of a file's name that are not UTF-8 are replaced.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

void show(const PredictOptions& options, const std::string& image, const std::vector<double>& p, const std::vector<std::string>& names) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(options.top)));
  std::string text;
  for (const std::size_t k : order) {
    text += options.json ? fmt::format("{}{{\"class\": {}, \"probability\": {:.6g}}}", text.empty() ? "" : ", ", quoted(names[k]), p[k])
                         : fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", names[k], 100 * p[k]);
  }
  if (options.json)
    fmt::print("{{\"image\": {}, \"predictions\": [{}]}}\n", quoted(image), text);
  else
    fmt::print("{}: {}\n", image, text);
}

int predict(const PredictOptions& options) {
  Model model = OneDeviceStrategy().scope([&] { return load_model(options.model); });
  const Shape sample = model.input_shape();
  if (sample.rank() != 3)
    throw Error(fmt::format("{} takes samples of shape {}, not pictures (height, width, channels)", options.model, sample.str()));
  const std::vector<std::string> names = class_names(options, model.output_shape().size());
  for (const std::string& path : options.images) {
    Array picture = load_image(path, static_cast<int>(sample[0]), static_cast<int>(sample[1]), static_cast<int>(sample[2]));
    for (std::int64_t i = 0; i < picture.size(); ++i) {
      float& pixel = picture.data<float>()[i];
      pixel = (options.invert ? 255 - pixel : pixel) / 255;
    }
    const Array scores = model.predict(picture.reshaped(Shape{1, sample[0], sample[1], sample[2]}));
    if (!std::all_of(scores.data<float>(), scores.data<float>() + scores.size(), [](float score) { return std::isfinite(score); }))
      throw Error(fmt::format("{} gives NaN or infinity for {}: its weights are not finite, or too large", options.model, path));
    show(options, path, probabilities(scores.data<float>(), scores.size()), names);
  }
  return 0;
}

}  // namespace

Command add_predict(CLI::App& app) {
  CLI::App* command = app.add_subcommand("predict", "Classify pictures with a trained model");
  auto options = std::make_shared<PredictOptions>();
  command->add_option("model", options->model, "A model saved by `run --save` or by Keras (.keras, .h5)")
      ->required()
      ->check(model_file())
      ->check(file_to_read());
  command->add_option("images", options->images, "JPEG, PNG, GIF or BMP files")->required()->check(file_to_read());
  command->add_option("--classes", options->classes, "Names of the classes, as cat,dog")->delimiter(',')->type_name("NAME");
  command->add_option("--top", options->top, "The number of classes to show")->check(whole_number(1, 1000))->capture_default_str();
  command->add_flag("--invert", options->invert, "Swap dark and light first: MNIST's digits are white on black");
  command->add_flag("--json", options->json, "Print a line of JSON for each picture");
  command->footer(
      "Pixels are scaled to 0..1, as the reference programs do.\n\nExamples:\n  lockstep predict my_mnist_model.h5 --invert seven.png\n"
      "  lockstep predict pets.keras photo1.jpg photo2.jpg --classes cat,dog");
  return {command, [options] { return predict(*options); }};
}

}  // namespace lockstep::cli
