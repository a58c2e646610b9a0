// `lockstep project resnet50`: a step of ResNet-50 v1.5 in fp32, tf32 or amp, from its costs kernel by kernel.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/project/project.h"
#include "simulator/clock/network_fit.h"
#include "simulator/clock/resnet50.h"

namespace lockstep::cli {

namespace {

constexpr std::int64_t kBatch = 64;

void check(const ProjectOptions& options, const clock::Machine& machine) {
  if (options.logical > 0 || !options.slow_gpu.empty() || !options.algorithm.empty() || options.step.bucket_mib > 0 ||
      options.step.overlap == "off")
    throw UsageError(
        "project resnet50 costs a step of published programs, without --logical, --slow-gpu, --algorithm, --bucket and --overlap. Fix: "
        "leave these out");
  if (options.precision == "tf32" && machine.major < 8)
    throw UsageError(fmt::format("{} has GPUs without TF32 units. Fix: --precision fp32 or amp", machine.name));
  if (options.gpus > machine.gpus_per_node)
    throw UsageError(
        fmt::format("{} has {} GPUs in a node, not {}. Fix: a smaller --gpus", machine.name, machine.gpus_per_node, options.gpus));
}

std::string limit_of(const clock::NetworkTime& time, int nodes) {
  const std::vector<std::pair<double, const char*>> parts = {
      {time.arithmetic_us, "arithmetic"}, {time.memory_us, "memory speed"}, {time.exposed_us, nodes > 1 ? "network" : "links"}};
  return std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; })->second;
}

ProjectedRow row_of(const ProjectOptions& options, clock::Machine machine, int nodes) {
  machine = clock::with_nodes(machine, nodes);
  ProjectedRow row;
  row.nodes = nodes;
  row.gpus = machine.gpus;
  row.batch = options.global_batch > 0        ? (options.global_batch + row.gpus - 1) / row.gpus
              : options.batch_per_replica > 0 ? options.batch_per_replica
                                              : kBatch;
  const clock::NetworkStep step = clock::resnet50_step(row.batch, clock::arithmetic_named(options.precision), options.inference);
  row.memory_gib = step.memory_bytes / (1 << 30);
  if (options.global_batch > 0 && options.global_batch < row.gpus) {
    row.fits = false;
    row.limit = "fewer samples than GPUs";
    return row;
  }
  const clock::NetworkTime time = clock::network_time(machine, step, row.gpus);
  row.step_ms = time.step_us * 1e-3;
  row.compute_ms = time.compute_us * 1e-3;
  row.communication_ms = time.communication_us * 1e-3;
  row.exposed_ms = time.exposed_us * 1e-3;
  const auto samples = static_cast<double>(options.global_batch > 0 ? options.global_batch : row.batch * row.gpus);
  row.samples_per_second = samples / (time.step_us * 1e-6);
  row.limit = limit_of(time, nodes);
  if (step.memory_bytes > static_cast<double>(machine.memory_bytes)) {
    row.fits = false;
    row.limit = fmt::format("does not fit in the {:.0f} GiB of a GPU", static_cast<double>(machine.memory_bytes) / (1 << 30));
  }
  return row;
}

// The only row's figures stand on top, also where it does not fit: the time is that of a card with more memory.
std::string json_with_row_on_top(const Projection& projection) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(json_of(projection));
  const ProjectedRow& row = projection.rows.front();
  if (projection.rows.size() == 1 && row.step_ms > 0) {
    json["samples_per_second"] = row.samples_per_second;
    json["step_ms"] = row.step_ms;
    json["memory_gib"] = row.memory_gib;
    json["fits"] = row.fits;
  }
  return json.dump(2) + "\n";
}

}  // namespace

int project_resnet50(const ProjectOptions& options) {
  clock::Machine machine = *clock::find_machine(options.machine.machine.empty() ? "h100x8" : options.machine.machine);
  check(options, machine);
  if (options.gpus > 0) machine.gpus_per_node = options.gpus;
  Projection projection;
  projection.title = fmt::format("ResNet-50 v1.5 (224 x 224), {} in {}, on {} ({})\n{} scaling; modelled, see docs/model-clock.md",
                                 options.inference ? "inference" : "training", options.precision, machine.name, machine.describe,
                                 options.global_batch > 0 ? "strong" : "weak");
  double first_rate = 0;
  for (const int nodes : parse_nodes(options.nodes.empty() ? "1" : options.nodes)) {
    ProjectedRow row = row_of(options, machine, nodes);
    if (first_rate == 0) first_rate = row.samples_per_second / row.gpus;
    if (row.fits) row.efficiency = row.samples_per_second / row.gpus / first_rate;
    projection.rows.push_back(row);
  }
  if (!options.svg.empty()) {
    std::ofstream file(options.svg);
    file << svg_of(projection);
    if (!file) throw Error("--svg " + options.svg + ": the file can't be written");
  }
  fmt::print("{}", options.json ? json_with_row_on_top(projection) : table_of(projection));
  return 0;
}

}  // namespace lockstep::cli
