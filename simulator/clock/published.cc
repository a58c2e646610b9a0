#include "simulator/clock/published.h"

#include <nlohmann/json.hpp>

#include "embedded_machines.h"

namespace lockstep::clock {

const std::vector<Published>& published_measurements() {
  static const std::vector<Published> rows = [] {
    std::vector<Published> read;
    for (const auto& json : nlohmann::json::parse(kPublished)) {
      Published row;
      row.name = json.at("name");
      row.source = json.at("source");
      row.measure = json.at("measure");
      row.machine = json.at("machine");
      row.published = json.at("published");
      row.fitted = json.at("fitted");
      row.workload = json.value("workload", "");
      row.algorithm = json.value("algorithm", "");
      row.ranks = json.value("ranks", 0);
      row.gpus_per_node = json.value("gpus_per_node", 0);
      row.logical = json.value("logical", 0);
      row.bytes = json.value("bytes", 0.0);
      row.network_gb_s = json.value("network_gb_s", 0.0);
      row.batch_per_replica = json.value("batch_per_replica", 0L);
      read.push_back(row);
    }
    return read;
  }();
  return rows;
}

double modelled_all_reduce(const Published& row) {
  Machine machine = *find_machine(row.machine);
  if (row.gpus_per_node > 0) machine.gpus_per_node = row.gpus_per_node;
  if (row.network_gb_s > 0) machine.network.gb_s = row.network_gb_s;
  Allowed allowed;
  if (!row.algorithm.empty()) allowed = {row.algorithm == "ring", row.algorithm == "tree", row.algorithm == "switch"};
  const double us = collective_time(machine, Collective::all_reduce, row.bytes, row.ranks, allowed).total_us();
  if (row.measure == "us") return us;
  const double n = row.ranks;
  return 2 * (n - 1) / n * row.bytes / us * 1e-3;
}

}  // namespace lockstep::clock
