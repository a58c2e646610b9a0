// `lockstep run --workers 2`: starts the workers of a run on this machine, without MPI.
#pragma once

#include <string>
#include <vector>

#include "cli/run/run_options.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

// The number of this worker, 0 in a run without workers. Workers are started by `--workers`, one by one, or by mpirun.
int this_worker();
// This worker's number among those on this machine, and their count.
struct LocalWorkers {
  int index = 0;
  int count = 1;
};
LocalWorkers local_workers();

// A hash of the arrays' bytes; or of the first samples of a dataset, with its size.
std::string fingerprint(const std::vector<Array>& arrays);
std::string fingerprint(const Dataset& data);
// What all workers of a run must have in common; `data` is a fingerprint.
MultiWorkerMirroredStrategy::InCommon in_common(const RunOptions& options, const std::string& data);

// A worker other than worker 0 prints only errors, saves no model, and writes its trace under its own name.
void be_quiet_unless_first(RunOptions& options);

// Runs this program `workers` times with the same arguments. Only worker 0 prints; lines on stderr start with the worker's number. Returns
// when all have ended. When one fails, the others are notified, have some seconds to end, and are then killed. Returns the first failure's
// code.
int launch_workers(int workers, char** argv);

}  // namespace lockstep::cli
