// `lockstep compare mnist --gpus 1,2,4`: the same work on different numbers of GPUs, side by side.
//
// Same seed, same global batch, same samples in the same order; only the devices differ. So the losses agree to rounding, and the times
// can be compared. Each run is a process of its own, since a GPU can be split only before its first use.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/child.h"
#include "cli/command.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

constexpr int kDefaultBatch = 128;

struct CompareOptions {
  std::string workload = "mnist";
  std::vector<int> gpus, logical;
  int batch = kDefaultBatch;
  int epochs = 1;
  std::uint64_t seed = 0;
  bool whole = false;
  bool json = false;
};

struct Row {
  std::string devices;
  nlohmann::json epoch, summary;
};

Row measure(const CompareOptions& options, const char* kind, int count) {
  const std::string length = options.whole ? fmt::format("--epochs={}", options.epochs) : "--quick";
  const ChildResult result = run_self({"run", options.workload, "--json", length, fmt::format("--{}={}", kind, count),
                                       fmt::format("--batch={}", options.batch), fmt::format("--seed={}", options.seed)});
  if (result.code() != 0) throw Error(fmt::format("the run on {} {} ended with code {}", count, kind, result.code()));
  Row row{fmt::format("{} {}", count, std::string(kind) == "gpus" ? (count == 1 ? "GPU" : "GPUs") : "logical"), {}, {}};
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
    if (value.contains("summary"))
      row.summary = value["summary"];
    else if (value.contains("epoch"))
      row.epoch = value;
  }
  if (!row.summary.is_object() || !row.epoch.is_object()) throw Error("a run printed no result");
  return row;
}

void print_row(const Row& row, const Row& first) {
  const double rate = row.summary.at("samples_per_second"), base = first.summary.at("samples_per_second");
  const double step = row.summary.at("training_seconds").get<double>() / row.summary.at("steps").get<double>();
  fmt::print("{:<10} {:>9.2f} {:>10.0f} {:>8.2f}x  {:<17} {:>9.6f} {:>9.4f}\n", row.devices, 1e3 * step, rate, rate / base,
             row.summary.at("all_reduce").get<std::string>(), row.epoch.at("loss").get<double>(),
             row.summary.at("val_accuracy").get<double>());
}

int compare(const CompareOptions& options) {
  std::vector<std::pair<const char*, int>> runs;
  for (const int n : options.gpus) runs.emplace_back("gpus", n);
  for (const int n : options.logical) runs.emplace_back("logical", n);
  if (runs.empty()) runs = {{"logical", 1}, {"logical", 2}, {"logical", 4}};
  if (!options.json) {
    fmt::print("{}, global batch {}, seed {}{}\n\n", options.workload, options.batch, options.seed,
               options.whole ? "" : ", a tenth of the data");
    fmt::print("{:<10} {:>9} {:>10} {:>9}  {:<17} {:>9} {:>9}\n", "", "ms/step", "samples/s", "speed", "all-reduce", "loss", "val_acc");
  }
  std::vector<Row> rows;
  double apart = 0;
  for (const auto& [kind, count] : runs) {
    rows.push_back(measure(options, kind, count));
    const Row &row = rows.back(), &first = rows.front();
    if (options.json) {
      nlohmann::json line = row.summary;
      line["devices"] = row.devices;
      line["loss"] = row.epoch.at("loss");
      fmt::print("{}\n", line.dump());
    } else {
      print_row(row, first);
    }
    std::fflush(stdout);
    const double loss = first.epoch.at("loss");
    apart = std::max(apart, std::abs(row.epoch.at("loss").get<double>() - loss) / std::abs(loss));
  }
  if (!options.json && rows.size() > 1)
    fmt::print(
        "\nThe losses agree within {:.1e}; the same numbers are summed in another order.\n"
        "Virtual GPUs share this machine's cores, so more of them need not be faster.\n",
        apart);
  return 0;
}

}  // namespace

Command add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "Train the same model on different numbers of GPUs and compare");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("workload", options->workload, "What to train")
      ->check(one_of({"mnist", "reuters", "cats-vs-dogs"}))
      ->capture_default_str();
  command->add_option("--gpus", options->gpus, "Numbers of physical GPUs, as 1,2,4")->delimiter(',')->check(whole_number(1, 64));
  command->add_option("--logical", options->logical, "Numbers of logical GPUs of one card, as 1,2,4")
      ->delimiter(',')
      ->check(whole_number(1, 64));
  command->add_option("--batch", options->batch, "The global batch: samples of all replicas in a step")
      ->check(whole_number(1, 1 << 20))
      ->capture_default_str();
  auto* epochs = command->add_option("--epochs", options->epochs, "Passes over all of the data [one over a tenth of it]");
  epochs->check(whole_number(1, 100000));
  command->add_option("--seed", options->seed, "Determines the first weights and the order of samples")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print a line of JSON for each run");
  command->footer("Examples:\n  lockstep compare --gpus 1,2,4\n  lockstep compare reuters --logical 1,2 --epochs 1");
  return {command, [options, epochs] {
            options->whole = epochs->count() > 0;
            return compare(*options);
          }};
}

}  // namespace lockstep::cli
