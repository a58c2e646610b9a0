#include "simulator/clock/network_fit.h"

#include <map>
#include <stdexcept>

#include "embedded_machines.h"
#include "simulator/clock/published_rows.h"
#include "simulator/clock/resnet50.h"

namespace lockstep::clock {

namespace {

constexpr double kNoise = 0.06;  // what three frameworks on the same card differ by
constexpr int kRounds = 15;
enum Parameter : std::size_t { fp32, tf32, fp16, t4_clock, memory, block };

void assign(Machine& machine, const std::vector<double>& values) {
  const double clock = machine.gpu_name == "Virtual T4" ? values[t4_clock] : 1;
  Efficiency& convolution = machine.efficiency[static_cast<std::size_t>(Kind::convolution)];
  convolution.compute = {clock * values[fp32], clock * values[tf32], clock * values[fp16]};
  convolution.memory = values[memory];
  machine.block_outputs = values[block];
  machine.efficiency[static_cast<std::size_t>(Kind::streaming)].memory = values[memory];
}

double answer(const Machine& machine, const NetworkMeasurement& row) {
  const NetworkStep step = resnet50_step(row.batch, arithmetic_named(row.precision), row.inference);
  return static_cast<double>(row.batch) * row.gpus / (network_time(machine, step, row.gpus).step_us * 1e-6);
}

const Machine& from_file(const std::string& name) {
  static std::map<std::string, Machine> machines;
  const auto [found, fresh] = machines.try_emplace(name);
  if (fresh) found->second = *find_machine(name);
  return found->second;
}

}  // namespace

std::string NetworkMeasurement::group() const { return machine.substr(0, machine.find_first_of("x-")); }

const std::vector<NetworkMeasurement>& network_measurements() {
  static const auto rows =
      published_rows<NetworkMeasurement>(kNetworkMeasurements, "cnn_throughput.csv", [](std::istream& cells, NetworkMeasurement& row) {
        char comma = 0;
        std::getline(cells, row.machine, ',');
        cells >> row.gpus >> comma;
        std::getline(cells, row.precision, ',');
        cells >> row.batch >> comma >> row.inference >> comma >> row.images_per_second >> comma;
        std::getline(cells, row.source);
        return row.batch >= 1 && row.images_per_second > 0;
      });
  return rows;
}

const std::vector<NetworkParameter>& network_parameters() {
  const std::string of = "gpu-*: efficiency.convolution.";
  static const std::vector<NetworkParameter> parameters = {
      {"convolution, fp32", of + "compute", {0.6, 0.2}},
      {"convolution, tf32", of + "tf32", {0.4, 0.2}},
      {"convolution, fp16", of + "fp16", {0.4, 0.2}},
      {"a T4's part of these", "gpu-t4", {0.7, 0.2}},
      {"memory, of its bandwidth", of + "memory; efficiency.streaming.memory", {0.8, 0.1}},
      {"outputs of a block", of + "block_outputs", {8192, 8192}},
  };
  return parameters;
}

Arithmetic arithmetic_named(const std::string& precision) {
  if (precision == "fp32") return Arithmetic::fp32;
  if (precision == "tf32") return Arithmetic::tf32;
  if (precision == "amp") return Arithmetic::fp16;
  throw std::runtime_error("there is no precision \"" + precision + "\"; there are fp32, tf32 and amp");
}

Machine NetworkFit::machine(const std::string& name) const {
  Machine machine = from_file(name);
  assign(machine, value);
  return machine;
}

double NetworkFit::images_per_second(const NetworkMeasurement& row) const { return answer(machine(row.machine), row); }

double images_per_second(const NetworkMeasurement& row) { return answer(from_file(row.machine), row); }

NetworkFit fit_network(const std::function<bool(const NetworkMeasurement&)>& used) {
  std::vector<NetworkMeasurement> rows;
  std::vector<double> measured;
  for (const NetworkMeasurement& row : network_measurements()) {
    if (!used(row)) continue;
    rows.push_back(row);
    measured.push_back(row.images_per_second);
  }
  std::vector<Prior> priors;
  for (const NetworkParameter& parameter : network_parameters()) priors.push_back(parameter.prior);
  return {regress(priors, measured, kNoise, kRounds, [&](const std::vector<double>& values) {
    std::vector<double> answers;
    for (const NetworkMeasurement& row : rows) {
      Machine machine = from_file(row.machine);
      assign(machine, values);
      answers.push_back(answer(machine, row));
    }
    return answers;
  })};
}

}  // namespace lockstep::clock
