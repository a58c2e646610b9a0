#include "simulator/clock/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "embedded_machines.h"
#include "simulator/clock/collectives.h"

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

using Matrix = std::vector<std::vector<double>>;

// The inverse of a symmetric positive definite matrix (Gauss and Jordan; pivots are positive).
Matrix inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix b(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) b[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = a[i][i];
    if (!(pivot > 0)) throw std::runtime_error("the fit of the collectives is degenerate");
    for (std::size_t k = 0; k < n; ++k) a[i][k] /= pivot, b[i][k] /= pivot;
    for (std::size_t j = 0; j < n; ++j) {
      const double factor = a[j][i];
      if (j == i || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) a[j][k] -= factor * a[i][k], b[j][k] -= factor * b[i][k];
    }
  }
  return b;
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
  static const std::vector<NcclMeasurement> rows = [] {
    std::vector<NcclMeasurement> read;
    std::istringstream lines{std::string(kNcclMeasurements)};
    std::string line;
    std::getline(lines, line);  // names of the columns
    while (std::getline(lines, line)) {
      std::istringstream cells(line);
      NcclMeasurement row;
      char comma = 0;
      std::getline(cells, row.machine, ',');
      std::getline(cells, row.source, ',');
      cells >> row.ranks >> comma >> row.bytes >> comma >> row.us;
      if (!cells || row.ranks < 2 || !(row.bytes > 0) || !(row.us > 0)) throw std::runtime_error("nccl_all_reduce.csv: not a row: " + line);
      read.push_back(row);
    }
    return read;
  }();
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
  const auto& parameters = nccl_parameters();
  const std::size_t n = parameters.size();
  std::vector<NcclMeasurement> rows;
  for (const NcclMeasurement& row : nccl_measurements()) {
    if (used(row)) rows.push_back(row);
  }
  Machines machines = machines_of_fit();
  NcclFit fit;
  for (const NcclParameter& parameter : parameters) fit.value.push_back(parameter.prior);
  Matrix covariance;
  for (int round = 0; round < kRounds; ++round) {
    // Gauss and Newton: a step by the slopes of the model where it is, in relative errors.
    Matrix normal(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
      const double precision = 1 / (parameters[k].deviation * parameters[k].deviation);
      normal[k][k] += precision;
      right[k] += (parameters[k].prior - fit.value[k]) * precision;
    }
    std::vector<std::vector<double>> slopes(rows.size(), std::vector<double>(n, 0));
    std::vector<double> now(rows.size());
    assign(machines, fit.value);
    for (std::size_t i = 0; i < rows.size(); ++i) now[i] = answer(machines, rows[i]);
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<double> moved = fit.value;
      const double step = 1e-4 * parameters[k].deviation;
      moved[k] += step;
      assign(machines, moved);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& names = parameters[k].machines;
        if (std::find(names.begin(), names.end(), rows[i].machine) == names.end()) continue;
        const double slope = (answer(machines, rows[i]) - now[i]) / step / rows[i].us;
        slopes[i][k] = std::abs(slope) * parameters[k].deviation < 100 ? slope : 0;  // NCCL's choice changed within the step
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double residual = 1 - now[i] / rows[i].us;
      const double weight = 1 / std::max(std::abs(residual) / kNoise, 0.3) / (kNoise * kNoise);
      for (std::size_t k = 0; k < n; ++k) {
        if (slopes[i][k] == 0) continue;
        right[k] += weight * slopes[i][k] * residual;
        for (std::size_t j = 0; j < n; ++j) normal[k][j] += weight * slopes[i][k] * slopes[i][j];
      }
    }
    covariance = inverse(normal);
    for (std::size_t k = 0; k < n; ++k) {
      double change = 0;
      for (std::size_t j = 0; j < n; ++j) change += covariance[k][j] * right[j];
      // Figures stay positive: a step goes at most to a tenth of where it was.
      fit.value[k] = std::max(fit.value[k] + change, 0.1 * fit.value[k]);
    }
  }
  for (std::size_t k = 0; k < n; ++k) fit.error.push_back(std::sqrt(covariance[k][k]));
  return fit;
}

}  // namespace lockstep::clock
