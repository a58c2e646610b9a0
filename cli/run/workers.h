// `lockstep run --workers 2`: starts the workers of a run on this machine, without MPI.
#pragma once

#include <string>
#include <vector>

#include "cli/run/run_options.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

// Which worker this process is, 0 when it is alone. Started by us, one by one or by mpirun.
int this_worker();
// Among the workers on this machine: this one and how many there are.
struct LocalWorkers {
  int index = 0;
  int count = 1;
};
LocalWorkers local_workers();

// Of every bit of the arrays; of the first pictures of a dataset, and how many there are.
std::string fingerprint(const std::vector<Array>& arrays);
std::string fingerprint(const Dataset& data);
// What all workers of a run must have in common; `data` is a fingerprint.
MultiWorkerMirroredStrategy::InCommon in_common(const RunOptions& options, const std::string& data);

// What a worker other than the first does not do twice: it prints only errors, saves nothing and writes its trace beside.
void be_quiet_unless_first(RunOptions& options);

// Runs this program `workers` times with the same words. Worker 0 speaks; what others say on stderr bears their number. Ends when all have
// ended; when one fails the others are told, get a while to notice, and then are stopped. The first failure's code is ours.
int launch_workers(int workers, char** argv);

}  // namespace lockstep::cli
