// `lockstep project`: projects how a workload scales, by the model clock.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/machine_options.h"
#include "cli/step_flags.h"

namespace lockstep::cli {

struct ProjectOptions {
  std::string workload = "cats-vs-dogs";
  MachineOptions machine;
  StepFlags step;
  std::string nodes;                   // "1..128" doubles, "1,3,5" lists; empty: 1..8
  std::int64_t batch_per_replica = 0;  // 0: the workload's own
  int gpus = 0;                        // of a node, in place of the machine's
  int logical = 0;                     // GPU 0 is split into this many
  std::int64_t global_batch = 0;       // above 0: strong scaling, each replica gets its share
  std::string algorithm;               // ring, tree or switch; empty: the fastest
  std::string slow_gpu;                // "17:1.3": this GPU takes 1.3 times as long
  std::string svg;
  bool json = false;
  bool validate = false, fit = false;
  std::string framework = "lockstep";  // whose host issues the work: lockstep or tensorflow
  std::string precision = "fp32";      // of project resnet50
  bool inference = false;
  int ranks = 0;           // of project all-reduce; 0: all GPUs
  std::int64_t bytes = 0;  // of one rank's input
};

// One row of the table: a number of nodes.
struct ProjectedRow {
  int nodes = 1, gpus = 1;
  std::int64_t batch = 0;  // of a replica
  double step_ms = 0, samples_per_second = 0;
  double efficiency = 0;  // samples a second and GPU, relative to the first row
  double compute_ms = 0, communication_ms = 0, exposed_ms = 0, waiting_ms = 0;
  double host_ms = 0;  // of --framework tensorflow: spent by the host with the GPUs idle, and dispatching
  double memory_gib = 0;
  std::string limit;  // what takes most of the step's time, or why it does not fit
  bool fits = true;
};

struct Projection {
  std::string title;  // workload, machine and options
  std::vector<ProjectedRow> rows;
};

struct Straggler {
  int gpu = 0;
  double factor = 1;
  std::string problem;
};
Straggler straggler(const std::string& text);  // "17:1.3"

std::string table_of(const Projection& projection);  // 80 columns, with a plot
std::string json_of(const Projection& projection);
std::string svg_of(const Projection& projection);
std::vector<int> parse_nodes(const std::string& text);  // an Error where it is not a list of nodes

int project(const ProjectOptions& options);             // on the virtual GPU; an Error in a build for real ones
int project_all_reduce(const ProjectOptions& options);  // one all-reduce, without a workload
int project_resnet50(const ProjectOptions& options);    // ResNet-50 as published throughputs are measured
int validate_model(const ProjectOptions& options);      // compares the model with published measurements; 1 where a bound is exceeded
int fit_collectives(bool json);                         // fits the figures of NCCL's collectives again

}  // namespace lockstep::cli
