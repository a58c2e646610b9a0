// `lockstep project`: records the step of one node, then replays it for each number of nodes.
#include "cli/project/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "cli/command.h"
#include "cli/project/allowed_algorithms.h"
#include "cli/project/recorded_step.h"
#include "simulator/clock/framework_host.h"

namespace lockstep::cli {

namespace {

void check_use_of_options(const ProjectOptions& options) {
  if (options.workload != "resnet50" && (options.inference || options.precision != "fp32"))
    throw UsageError("--precision and --inference are of project resnet50; the other workloads train in fp32. Fix: leave them out");
  if (options.framework != "lockstep" && (options.workload == "resnet50" || options.workload == "all-reduce"))
    throw UsageError("--framework is of project mnist, reuters and cats-vs-dogs, whose operations were counted. Fix: leave it out");
  if (options.workload != "all-reduce") {
    if (options.ranks > 0 || options.bytes > 0)
      throw UsageError("--ranks and --bytes are of project all-reduce. Fix: lockstep project all-reduce --bytes 1048576");
    return;
  }
  if (options.bytes == 0) throw UsageError("project all-reduce needs a number of bytes. Fix: --bytes 1048576");
  if (options.batch_per_replica > 0 || options.global_batch > 0 || options.logical > 0 || !options.slow_gpu.empty() || !options.svg.empty())
    throw UsageError(
        "project all-reduce has no step, so it has no batch, logical or slow GPUs and no picture. Fix: leave these options out");
}

clock::Recording::Plan plan_of(const ProjectOptions& options, int nodes, int gpus_per_node) {
  clock::Recording::Plan plan;
  plan.nodes = nodes;
  plan.allowed = allowed_algorithms(options.algorithm);
  if (options.slow_gpu.empty()) return plan;
  const Straggler slow = straggler(options.slow_gpu);
  plan.slow_node = slow.gpu / gpus_per_node;
  plan.slow_device = slow.gpu % gpus_per_node;
  plan.slowdown = slow.factor;
  return plan;
}

// What takes the largest part of the step's time.
std::string limit_of(const clock::Recording::Outcome& outcome, int nodes) {
  const double idle = std::max(0.0, outcome.step_us - outcome.compute_us - outcome.exposed_us - outcome.waiting_us);
  const std::vector<std::pair<double, const char*>> parts = {
      {outcome.arithmetic_us, "arithmetic"},
      {outcome.memory_us, "memory speed"},
      {outcome.idle_us, "idle multiprocessors"},
      {outcome.fixed_us, "small kernels"},
      {idle, "the host"},
      {outcome.exposed_us, nodes > 1 ? "network" : "links"},
      {outcome.waiting_us, "stragglers"},
  };
  const auto largest = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return largest->second;
}

ProjectedRow row_of(const clock::Recording::Outcome& outcome, ProjectedRow row) {
  row.step_ms = outcome.step_us * 1e-3;
  row.samples_per_second = static_cast<double>(row.batch) * row.gpus / (outcome.step_us * 1e-6);
  row.compute_ms = outcome.compute_us * 1e-3;
  row.communication_ms = outcome.communication_us * 1e-3;
  row.exposed_ms = outcome.exposed_us * 1e-3;
  row.waiting_ms = outcome.waiting_us * 1e-3;
  row.limit = limit_of(outcome, row.nodes);
  return row;
}

// The host of the framework issues what the GPUs do; empty: this engine's, which is in the recording.
std::optional<clock::HostTime> framework_host(const ProjectOptions& options, const clock::Machine& machine, int replicas) {
  if (options.framework == "lockstep") return std::nullopt;
  try {
    return clock::host_time(clock::tensorflow_host(), options.workload, replicas, machine);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--framework ") + options.framework + ": " + error.what() + ". Fix: another machine, or \"like\" one");
  }
}

void add_host(const clock::HostTime& host, ProjectedRow& row) {
  const double gpus_us = row.step_ms * 1e3, step_us = host.step_us(gpus_us);
  row.samples_per_second *= gpus_us / step_us;
  row.step_ms = step_us * 1e-3;
  row.host_ms = (host.fixed_us + host.dispatch_us) * 1e-3;
  if (step_us > 2 * gpus_us) row.limit = "the host";
}

std::vector<std::int64_t> shares_of(const clock::Machine& machine, int parts) {
  const auto mib = static_cast<std::int64_t>(machine.memory_bytes >> 20);
  return std::vector<std::int64_t>(static_cast<std::size_t>(parts), mib / parts);
}

std::string title_of(const ProjectOptions& options, const Workload& workload, const clock::Machine& machine) {
  std::string title = fmt::format("{} on {} ({})", workload.describe, machine.name, machine.describe);
  title += options.global_batch > 0 ? fmt::format("\nstrong scaling, global batch {}", options.global_batch) : "\nweak scaling";
  if (options.framework == "tensorflow") title += ", issued by TensorFlow's host";
  if (!options.algorithm.empty()) title += ", " + options.algorithm + " all-reduce";
  if (options.step.bucket_mib > 0) title += fmt::format(", buckets of {} MiB", options.step.bucket_mib);
  if (options.step.overlap == "off") title += ", no overlap";
  if (options.logical > 0) title += fmt::format(", {} logical GPUs on one card", options.logical);
  if (!options.slow_gpu.empty()) title += ", slow GPU " + options.slow_gpu;
  return title + "; modelled, see docs/model-clock.md";
}

}  // namespace

clock::Allowed allowed_algorithms(const std::string& name) {
  if (name.empty()) return {};
  return {name == "ring", name == "tree", name == "switch"};
}

int project(const ProjectOptions& options) {
  if (options.validate) return validate_model(options);
  if (options.fit) return fit_collectives(options.json);
  check_use_of_options(options);
  if (options.workload == "all-reduce") return project_all_reduce(options);
  if (options.workload == "resnet50") return project_resnet50(options);
  const std::vector<int> nodes = parse_nodes(options.nodes.empty() ? "1..8" : options.nodes);
  use_machine(options.machine);
  if (options.machine.machine.empty()) setenv("LOCKSTEP_SIM_MACHINE", "h100x8", 0);
  if (options.gpus > 0) setenv("LOCKSTEP_SIM_GPUS", std::to_string(options.gpus).c_str(), 1);
  const Workload workload = workload_named(options.workload);
  const clock::Machine machine = modelled_machine();
  std::vector<GpuId> gpus = list_gpus();
  if (options.logical > 0) gpus = split_gpu(0, shares_of(machine, options.logical));
  const auto per_node = static_cast<int>(gpus.size());
  if (options.logical > 0 && nodes.back() > 1) throw Error("--logical splits one card. Fix: --nodes 1");
  if (per_node == 1 && nodes.back() > 1)
    throw Error(
        fmt::format("{} has one GPU, so its step has no all-reduce to record. Fix: choose a machine with several GPUs for several nodes",
                    machine.name));

  const auto host = framework_host(options, machine, per_node);
  Projection projection;
  projection.title = title_of(options, workload, machine);
  std::map<std::int64_t, RecordedStep> steps;  // by batch of a replica
  double first_rate = 0;
  for (const int n : nodes) {
    ProjectedRow row;
    row.nodes = n;
    row.gpus = n * per_node;
    const std::int64_t own = options.batch_per_replica > 0 ? options.batch_per_replica : workload.batch_per_replica;
    row.batch = options.global_batch > 0 ? (options.global_batch + row.gpus - 1) / row.gpus : own;
    if (options.global_batch > 0 && options.global_batch < row.gpus) {
      row.fits = false;
      row.limit = "fewer samples than GPUs";
      projection.rows.push_back(row);
      continue;
    }
    const auto [found, fresh] = steps.try_emplace(row.batch);
    if (fresh) found->second = record_step(workload, gpus, row.batch, step_options(options.step));
    const RecordedStep& step = found->second;
    if (step.recording == nullptr) {
      row.fits = false;
      row.limit = fmt::format("does not fit in the {:.0f} GiB of a GPU", static_cast<double>(machine.memory_bytes) / (1 << 30));
      projection.rows.push_back(row);
      continue;
    }
    row.memory_gib = step.memory_gib;
    row = row_of(step.recording->play(machine, plan_of(options, n, per_node)), row);
    if (host) add_host(*host, row);
    if (options.global_batch > 0) row.samples_per_second = static_cast<double>(options.global_batch) / (row.step_ms * 1e-3);
    if (first_rate == 0) first_rate = row.samples_per_second / row.gpus;
    row.efficiency = row.samples_per_second / row.gpus / first_rate;
    projection.rows.push_back(row);
  }
  if (!options.svg.empty()) {
    std::ofstream file(options.svg);
    file << svg_of(projection);
    if (!file) throw Error("--svg " + options.svg + ": the file can't be written");
  }
  fmt::print("{}", options.json ? json_of(projection) : table_of(projection));
  return 0;
}

}  // namespace lockstep::cli
