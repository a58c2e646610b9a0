#include "simulator/clock/collective_fit.h"

#include <algorithm>
#include <limits>
#include <map>

#include "embedded_machines.h"
#include "simulator/clock/collectives.h"
#include "simulator/clock/published_rows.h"

namespace lockstep::clock {

namespace {

constexpr double kNoise = 0.08;          // a measurement's deviation, as a part of it
constexpr double kTreeOfRing = 7.0 / 9;  // bandwidth of a tree within a node: NCCL, tuning.cc
constexpr int kRounds = 40;

using Machines = std::map<std::string, Machine>;

// A machine as the parameters need it: trees follow rings, and between nodes the fitted rate is the only limit.
Machines machines_of_fit() {
  Machines machines;
  for (const char* name : {"a100x8", "v100x8"}) {
    machines[name] = *find_machine(name);
    machines[name].network.gb_s = std::numeric_limits<double>::max();
  }
  return machines;
}

void assign(Machines& machines, const std::vector<double>& values) {
  const auto& parameters = nccl_parameters();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    for (const std::string& name : parameters[k].machines) parameters[k].of(machines.at(name)) = values[k];
  }
  for (auto& [name, machine] : machines) machine.tree_gb_s = kTreeOfRing * machine.ring_gb_s;
}

double answer(const Machines& machines, const NcclMeasurement& row) {
  return collective_time(machines.at(row.machine), Collective::all_reduce, row.bytes, row.ranks).total_us();
}

std::size_t index(Protocol protocol) { return static_cast<std::size_t>(protocol); }

NcclParameter base(Protocol protocol, double prior, double deviation) {
  const std::string name = kProtocolNames[index(protocol)];
  return {.name = "base " + name,
          .figure = "nccl-nvlink-measured: base_us." + name,
          .unit = "us",
          .prior = prior,
          .deviation = deviation,
          .of = [protocol](Machine& m) -> double& { return m.nccl_base_us[index(protocol)]; },
          .machines = {"a100x8", "v100x8"}};
}

NcclParameter hop(Protocol protocol, double prior, double deviation) {
  const std::string name = kProtocolNames[index(protocol)];
  return {.name = "NVLink hop " + name,
          .figure = "a100x8, v100x8: links.peer.nccl_alpha_us." + name,
          .unit = "us",
          .prior = prior,
          .deviation = deviation,
          .of = [protocol](Machine& m) -> double& { return m.peer_link.nccl_alpha_us[index(protocol)]; },
          .machines = {"a100x8", "v100x8"}};
}

NcclParameter far_hop(Protocol protocol, double prior, double deviation) {
  const std::string name = kProtocolNames[index(protocol)];
  return {.name = "network hop " + name,
          .figure = "a100x8: links.network.nccl_alpha_us." + name,
          .unit = "us",
          .prior = prior,
          .deviation = deviation,
          .of = [protocol](Machine& m) -> double& { return m.network.nccl_alpha_us[index(protocol)]; },
          .machines = {"a100x8"}};
}

NcclParameter ramp(const std::string& machine, Link Machine::*link, const std::string& name, double deviation) {
  return {.name = name,
          .figure = machine + ": links." + (link == &Machine::network ? "network" : "peer") + ".nccl_ramp_us",
          .unit = "us",
          .prior = 30,
          .deviation = deviation,
          .of = [link](Machine& m) -> double& { return (m.*link).nccl_ramp_us; },
          .machines = {machine}};
}

NcclParameter rate(const std::string& machine, double Machine::*figure, const std::string& name, const std::string& path, double prior,
                   double deviation) {
  return {.name = name,
          .figure = machine + ": bus." + path,
          .unit = "GB/s",
          .prior = prior,
          .deviation = deviation,
          .of = [figure](Machine& m) -> double& { return m.*figure; },
          .machines = {machine}};
}

}  // namespace

const std::vector<NcclMeasurement>& nccl_measurements() {
  static const auto rows =
      published_rows<NcclMeasurement>(kNcclMeasurements, "nccl_all_reduce.csv", [](std::istream& cells, NcclMeasurement& row) {
        char comma = 0;
        std::getline(cells, row.machine, ',');
        std::getline(cells, row.source, ',');
        cells >> row.ranks >> comma >> row.bytes >> comma >> row.us;
        return row.ranks >= 2 && row.bytes > 0 && row.us > 0;
      });
  return rows;
}

std::string nccl_source(const std::string& source) {
  return source == "echo" ? "Echo, arXiv 2412.12487: log of nccl-tests" : "vTrain, arXiv 2312.12391: trace of nccl-tests";
}

const std::vector<NcclParameter>& nccl_parameters() {
  using enum Protocol;
  static const std::vector<NcclParameter> parameters = {
      base(ll, 6.6, 3.3),
      base(ll128, 14, 7),
      base(simple, 8.4, 4.2),
      hop(ll, 0.6, 1),
      hop(ll128, 1.9, 1.5),
      hop(simple, 3.4, 2),
      far_hop(ll, 5, 2.5),
      far_hop(ll128, 8.5, 4.25),
      far_hop(simple, 14, 7),
      ramp("a100x8", &Machine::peer_link, "ramp, A100", 30),
      ramp("v100x8", &Machine::peer_link, "ramp, V100", 30),
      ramp("a100x8", &Machine::network, "ramp, network", 60),
      rate("a100x8", &Machine::ring_gb_s, "NVLink rate, A100", "ring_gb_s", 270, 30),
      rate("v100x8", &Machine::ring_gb_s, "NVLink rate, V100, of a ring", "ring_gb_s", 22.5, 2.5),
      rate("a100x8", &Machine::nccl_pass_gb_s, "pass over own data, A100", "pass_gb_s", 777, 250),
      rate("a100x8", &Machine::nccl_network_gb_s, "between nodes", "network_gb_s", 194, 60),
      {.name = "LL128's part, V100",
       .figure = "v100x8: bus.ll128_part",
       .unit = "",
       .prior = 0.92,
       .deviation = 0.3,
       .of = [](Machine& m) -> double& { return m.nccl_bandwidth[index(ll128)]; },
       .machines = {"v100x8"}},
  };
  return parameters;
}

double NcclFit::modelled_us(const NcclMeasurement& row) const {
  Machines machines = machines_of_fit();
  assign(machines, value);
  return answer(machines, row);
}

double modelled_us(const NcclMeasurement& row) {
  static const Machines machines = machines_of_fit();
  return answer(machines, row);
}

NcclFit fit_nccl(const std::function<bool(const NcclMeasurement&)>& used) {
  std::vector<NcclMeasurement> rows;
  std::vector<double> measured;
  for (const NcclMeasurement& row : nccl_measurements()) {
    if (!used(row)) continue;
    rows.push_back(row);
    measured.push_back(row.us);
  }
  std::vector<Prior> priors;
  for (const NcclParameter& parameter : nccl_parameters()) priors.push_back({parameter.prior, parameter.deviation});
  Machines machines = machines_of_fit();
  return {regress(priors, measured, kNoise, kRounds, [&](const std::vector<double>& values) {
    assign(machines, values);
    std::vector<double> answers;
    answers.reserve(rows.size());
    for (const NcclMeasurement& row : rows) answers.push_back(answer(machines, row));
    return answers;
  })};
}

}  // namespace lockstep::clock
