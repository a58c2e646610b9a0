// `lockstep project`: how a workload would scale, by the model clock.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/machine_options.h"

namespace lockstep::cli {

struct ProjectOptions {
  std::string workload = "cats-vs-dogs";
  MachineOptions machine;
  std::string nodes = "1..8";          // "1..128" doubles, "1,3,5" lists
  std::int64_t batch_per_replica = 0;  // 0: the workload's own
  int gpus = 0;                        // of a node, instead of the machine's
  int logical = 0;                     // GPU 0 is split into so many
  std::int64_t global_batch = 0;       // above 0: strong scaling, each replica gets its share
  std::string algorithm;               // ring, tree or switch; empty: the fastest
  std::string slow_gpu;                // "17:1.3": this GPU takes 1.3 times as long
  std::string svg;
  bool json = false;
  bool validate = false;
};

// One row of the table: so many nodes.
struct ProjectedRow {
  int nodes = 1, gpus = 1;
  std::int64_t batch = 0;  // of a replica
  double step_ms = 0, samples_per_second = 0;
  double efficiency = 0;  // of the first row's samples a second and GPU
  double compute_ms = 0, communication_ms = 0, exposed_ms = 0, waiting_ms = 0;
  double memory_gib = 0;
  std::string limit;  // what the step spends most of its time on, or what it does not fit in
  bool fits = true;
};

struct Projection {
  std::string title;  // what, where, how
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
std::vector<int> parse_nodes(const std::string& text);  // an Error for what is none

int project(const ProjectOptions& options);  // the virtual GPU's, or a sentence
int validate_model(bool json);               // the model beside published measurements

}  // namespace lockstep::cli
