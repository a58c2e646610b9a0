// The host of another framework: what TensorFlow's MirroredStrategy spends on a step beside the work of the GPUs.
//
// TensorFlow runs a step as a graph of small operations. One thread after another dispatches them, those of all replicas in turn: on two
// cores, two replicas cost what they cost on one. With several replicas each has costs of its own (its part of the input and of the
// results), and each variable's gradient is merged. So a step on n replicas takes
//
//   (step + replica x n) + the longer of [(op + launch) x operations + (merge + launch) x n x variables] and what the GPUs do
//
// where replica and merge are 0 for n = 1. The four costs were measured on CPU devices with tiny layers, and operations and variables
// counted there (tensorflow_host.json, made by bench/peers/host_costs.py). On another host they take 1 / host.speed as long; a launch is
// the machine's host.launch_us. No published step took part.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simulator/clock/machine_model.h"

namespace lockstep::clock {

struct FrameworkHost {
  double step_us = 0;     // of each step
  double op_us = 0;       // of each operation, to dispatch it
  double replica_us = 0;  // of each replica, where there are several
  double merge_us = 0;    // of each replica and variable, where there are several

  struct Program {
    double ops_alone = 0;            // on one device
    double ops_each = 0;             // of each of several replicas
    double variables = 0;            // that are trained
    double ops(int replicas) const;  // of all replicas
  };
  std::map<std::string, Program> programs;  // by workload

  // A step that was measured. The costs are fitted to chains of layers; the reference programs are compared with them only.
  struct Measured {
    std::string program;
    int replicas = 1;
    double ops = 0, variables = 0;  // of all replicas; of the model
    double us = 0;
    bool fitted = false;
  };
  std::vector<Measured> rows;
  std::string source;  // when, with what, on which kind of CPU

  double modelled_us(const Measured& row) const;  // on the host that was measured
};

FrameworkHost parse_framework_host(const std::string& json);  // std::runtime_error with one sentence where it is not one
const FrameworkHost& tensorflow_host();

struct HostTime {
  double fixed_us = 0;     // with idle GPUs
  double dispatch_us = 0;  // beside them

  double step_us(double gpus_us) const;  // of a step whose GPUs take so long
};

// std::invalid_argument: the program was not counted, or the machine does not say how fast its host is.
HostTime host_time(const FrameworkHost& host, const std::string& program, int replicas, const Machine& machine);

}  // namespace lockstep::clock
