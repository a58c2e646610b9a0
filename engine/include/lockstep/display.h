// Pictures and tables for notebooks: a cell whose last line is one of these shows it.
//
//   training_curves(history)
//   image_grid(x, {"3", "7", "1"})
//
// Anywhere else a Rich is just HTML to be written to a file. Not part of lockstep.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/array.h"
#include "lockstep/model.h"

namespace lockstep {

struct Rich {
  std::string html;
  std::string text;  // the same for those who see no HTML
};

// One panel for each metric: training as a line, validation as a dashed one, by epoch.
Rich training_curves(const History& history);
// With values of another run as rings, epoch by epoch from the first; what is not known of it is not a number.
Rich training_curves(const History& history, const History& other, const std::string& other_name);

// Layers, the shape each gives, its parameters. The model must be built.
Rich summary_table(const Model& model);

// Pictures (n, height, width, 1 or 3) side by side, the first `captions.size()` of them, or 16. Values from `low` (black) to `high`
// (white).
Rich image_grid(const Array& images, const std::vector<std::string>& captions = {}, float low = 0, float high = 1);

// The same with what the model says: probability and class, red where that is wrong. `outputs` are logits or probabilities, (n, classes).
Rich image_predictions(const Array& images, const Array& labels, const Array& outputs, const std::vector<std::string>& names = {},
                       std::int64_t most = 16, float low = 0, float high = 1);

// How often a sample of the class of a row was taken for that of a column.
Rich confusion_matrix(const Array& labels, const Array& outputs, const std::vector<std::string>& names = {});

// A whole page, in a frame of its own. A trace's page makes the frame as high as it needs.
Rich framed(const std::string& page, int height = 480);

// A recorded step: all of it, or one of its phases ("shard", "all-reduce", ...). `play` sets it going.
Rich step_trace(const Trace& trace, const std::string& phase = "", bool play = false);

// Tells `show` the curves after every epoch; `first` is true the first time. In a notebook: live_curves().
Callback growing_curves(std::function<void(const Rich& curves, bool first)> show);

// The class with the largest output, for each sample.
std::vector<std::int32_t> argmax(const Array& outputs);

}  // namespace lockstep

// How a notebook's kernel gets the picture. xeus-cling takes its JSON type; the project's own kernel has a lighter one.
#if defined(LOCKSTEP_NOTEBOOK_KERNEL)
namespace lockstep {
inline xcpp::mime_bundle mime_bundle_repr(const Rich& rich) {
  return xcpp::mime_bundle().add("text/html", rich.html).add("text/plain", rich.text);
}

// FitOptions().callback(live_curves()): curves that grow while the model trains.
inline Callback live_curves() {
  static int shown = 0;
  const std::string id = "lockstep-curves-" + std::to_string(++shown);
  return growing_curves([id](const Rich& curves, bool first) { xcpp::display(curves, id, !first); });
}
}  // namespace lockstep
#elif defined(__CLING__) && defined(__has_include)
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
namespace lockstep {
inline nlohmann::json mime_bundle_repr(const Rich& rich) {
  auto bundle = nlohmann::json::object();
  bundle["text/html"] = rich.html;
  bundle["text/plain"] = rich.text;
  return bundle;
}
inline Callback live_curves() {  // its displays can't be replaced by name: shown at the end, by training_curves
  return growing_curves([](const Rich&, bool) {});
}
}  // namespace lockstep
#endif
#endif
