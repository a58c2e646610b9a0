// Published measurements that the model is held against; the data and its sources are in published.json.
#pragma once

#include <string>
#include <vector>

#include "simulator/clock/collectives.h"

namespace lockstep::clock {

struct Published {
  std::string name, source;
  std::string measure;  // bus_gb_s and us: of an all-reduce. Of TensorFlow: step_ms; and seconds on 2 GPUs to seconds on 1:
                        // training_ratio with the same batch a replica, same_batch_ratio with the same batch of all, so half on each,
                        // same_steps_ratio of as many steps with the same batch a replica
  std::string machine, workload, algorithm;
  double published = 0;
  bool fitted = false;  // a figure of the machine was chosen to match it; the others are held out
  int ranks = 0, gpus_per_node = 0, logical = 0;
  double bytes = 0, network_gb_s = 0;
  long batch_per_replica = 0;
};
const std::vector<Published>& published_measurements();

// The model's answer for an all-reduce; for workloads the caller records them.
double modelled_all_reduce(const Published& row);

}  // namespace lockstep::clock
