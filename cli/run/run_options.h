// The options of `lockstep run`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/step_flags.h"

namespace lockstep::cli {

struct RunOptions {
  std::string workload = "mnist";
  int gpus = 0;                       // physical ones; 0: all
  int workers = 0;                    // processes to start; 0: none, this process trains
  int logical = 0;                    // split the first GPU into this many; 0: 2 when there is only one GPU
  std::int64_t memory_limit_mib = 0;  // of each logical GPU; 0: an equal share, at most the next one
  std::int64_t usual_limit_mib = 1024;
  std::vector<std::string> devices;    // by name, instead of `gpus`
  std::string strategy;                // empty: mirrored, or multi-worker when there are workers
  std::string all_reduce;              // empty: chosen for the devices
  int epochs = 0;                      // 0: the workload's own
  std::int64_t batch_per_replica = 0;  // 0: the workload's own
  std::int64_t batch = 0;              // of all replicas together; 0: batch_per_replica of each
  double learning_rate = 0;            // 0: the workload's own
  std::uint64_t seed = 0;
  std::string load;                 // a model file to go on from
  std::string save;                 // the model file to write after training
  std::string backup;               // a folder with the state of training, to continue after an interruption
  std::int64_t backup_batches = 0;  // batches between two backups; 0: after every epoch
  std::vector<std::string> trace;   // files, .html or .json
  std::int64_t trace_steps = 20;
  std::int64_t trace_inspect = 4;
  bool check_mirrored = false;
  StepFlags step;
  bool json = false;
  bool verbose = false;  // a table of the replicas after every epoch
  bool quick = false;
  // Of cats-vs-dogs.
  double alpha = 0;                // width of the network; 0: the recipe's
  int image = 0;                   // extent of its pictures; 0: the recipe's
  bool as_published = false;       // the reference program's own settings
  std::string feature_extraction;  // a file with trained weights: train only a classifier on their features
};

int run_mnist(const RunOptions& options);
int run_reuters(const RunOptions& options);
int run_cats_vs_dogs(const RunOptions& options);

}  // namespace lockstep::cli
