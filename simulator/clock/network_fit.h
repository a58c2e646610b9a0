// Efficiencies of cuDNN's convolutions by class, fitted to published throughputs of ResNet-50 v1.5 (cnn_throughput.csv; the read-me files
// of NVIDIA's DeepLearningExamples): by precision, of the peak of a data-centre card that holds its clock; what a T4 holds of it at its 70
// W; and of the memory's bandwidth. A card or precision with no row has the class's figure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/clock/machine_model.h"
#include "simulator/clock/regression.h"

namespace lockstep::clock {

struct NetworkMeasurement {
  std::string machine, source;
  int gpus = 1;
  std::string precision;  // fp32, tf32 or amp
  std::int64_t batch = 0;
  bool inference = false;
  double images_per_second = 0;
  std::string group() const;  // the GPU: v100, a100 or t4
};
const std::vector<NetworkMeasurement>& network_measurements();

struct NetworkParameter {
  std::string name;
  std::string figure;  // where it stands
  Prior prior;
};
const std::vector<NetworkParameter>& network_parameters();

struct NetworkFit : Regression {
  double images_per_second(const NetworkMeasurement& row) const;
  Machine machine(const std::string& name) const;  // with the parameters in place of its file's
};
NetworkFit fit_network(const std::function<bool(const NetworkMeasurement&)>& used);

double images_per_second(const NetworkMeasurement& row);  // by the machine's file

// fp32, tf32 or amp, where the convolutions and matrix products of amp are in fp16. An Error of std::runtime_error where the GPU has no
// such units.
Arithmetic arithmetic_named(const std::string& precision);

}  // namespace lockstep::clock
