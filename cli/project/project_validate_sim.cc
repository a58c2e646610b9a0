// `lockstep project --validate`: compares the model with published measurements and prints the error of each.
//
// A process models one machine, so measurements of a step run this program again, with --json.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/child.h"
#include "cli/project/project.h"
#include "lockstep/error.h"
#include "simulator/clock/published.h"

namespace lockstep::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

double step_ms(const clock::Published& row, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"project", row.workload, "--json", "--nodes=1", "--machine=" + row.machine};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ChildResult result = run_self(arguments);
  if (result.code() != 0) throw Error("lockstep project failed for the measurement \"" + row.name + "\"");
  return OrderedJson::parse(result.output).at("rows").at(0).at("step_ms");
}

double modelled(const clock::Published& row) {
  if (row.measure == "bus_gb_s" || row.measure == "us") return clock::modelled_all_reduce(row);
  if (row.measure == "step_ms")
    return step_ms(row, {fmt::format("--logical={}", row.logical), fmt::format("--batch-per-replica={}", row.batch_per_replica)});
  // The same number of samples with 2 GPUs takes half as many steps.
  return step_ms(row, {"--gpus=2"}) / 2 / step_ms(row, {"--gpus=1"});
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
    const double model = modelled(row);
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
      "Rows marked TensorFlow measure another framework, which spends most of such short steps\non the host; the model describes this "
      "engine. Sources: lockstep project --validate --json\n");
  return 0;
}

}  // namespace lockstep::cli
