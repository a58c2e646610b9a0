// `lockstep project --validate`: the model's answers beside published measurements, and how far off each is.
//
// A process models one machine, so what needs a recorded step is asked of this program again, with --json.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/project/project.h"
#include "lockstep/error.h"
#include "simulator/clock/published.h"

namespace lockstep::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

double step_ms(const std::string& words) {
  std::string self(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  if (length <= 0) throw Error("project --validate: this program does not find itself (/proc/self/exe)");
  self.resize(static_cast<std::size_t>(length));
  FILE* pipe = popen(("'" + self + "' project " + words + " --json").c_str(), "r");
  if (pipe == nullptr) throw Error("project --validate: the program can't be started again");
  std::string text;
  for (char piece[4096]; const std::size_t got = std::fread(piece, 1, sizeof(piece), pipe);) text.append(piece, got);
  if (pclose(pipe) != 0) throw Error("project " + words + " failed");
  return OrderedJson::parse(text).at("rows").at(0).at("step_ms");
}

double answer(const clock::Published& row) {
  if (row.measure == "bus_gb_s" || row.measure == "us") return clock::modelled_all_reduce(row);
  const std::string base = row.workload + " --nodes 1 --machine " + row.machine;
  if (row.measure == "step_ms")
    return step_ms(base + fmt::format(" --logical {} --batch-per-replica {}", row.logical, row.batch_per_replica));
  // The same number of samples with 2 GPUs takes half as many steps.
  return step_ms(base + " --gpus 2") / 2 / step_ms(base + " --gpus 1");
}

std::string unit_of(const std::string& measure) {
  if (measure == "bus_gb_s") return "GB/s";
  if (measure == "us") return "us";
  if (measure == "step_ms") return "ms";
  return "times";
}

}  // namespace

int validate_model(bool json) {
  OrderedJson rows = OrderedJson::array();
  double fitted = 0, held_out = 0;
  int fits = 0, holds = 0;
  if (!json) fmt::print("{:<37} {:>9} {:>9} {:<5} {:>7}  {}\n", "measurement", "published", "model", "", "error", "used to fit");
  for (const clock::Published& row : clock::published_measurements()) {
    const double model = answer(row);
    const double error = model / row.published - 1;
    const bool training = row.measure == "step_ms" || row.measure == "training_ratio";
    if (row.fitted) {
      fitted += std::abs(error), ++fits;
    } else if (!training) {
      held_out += std::abs(error), ++holds;
    }
    if (json) {
      rows.push_back({{"name", row.name},
                      {"published", row.published},
                      {"model", model},
                      {"unit", unit_of(row.measure)},
                      {"error", error},
                      {"fitted", row.fitted},
                      {"source", row.source}});
      continue;
    }
    fmt::print("{:<37} {:>9.4g} {:>9.4g} {:<5} {:>+6.1f} %  {}\n", row.name, row.published, model, unit_of(row.measure), 100 * error,
               row.fitted ? "yes"
               : training ? "no, TensorFlow"
                          : "no, held out");
  }
  if (json) {
    fmt::print("{}\n", rows.dump(2));
    return 0;
  }
  fmt::print("\nMean error of all-reduces: {:.1f} % where fitted ({}), {:.1f} % held out ({}).\n", 100 * fitted / std::max(1, fits), fits,
             100 * held_out / std::max(1, holds), holds);
  fmt::print(
      "Rows marked TensorFlow are another framework's whole program, which spends most of such\nshort steps on the host; the model is of "
      "this one. Sources: lockstep project --validate --json\n");
  return 0;
}

}  // namespace lockstep::cli
