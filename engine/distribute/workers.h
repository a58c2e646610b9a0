// The processes ("workers") of one training run: how many there are, which one this is, and one exchange at the start by which they
// agree on an NCCL id. After that NCCL does all the talking.
//
// Workers are started by `lockstep run --workers` or by hand, which set LOCKSTEP_WORKER, LOCKSTEP_WORKERS and LOCKSTEP_ADDRESS (host:port
// where worker 0 listens for a moment), or by mpirun, which carries the exchange itself.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

namespace lockstep {

struct WorkerPlace {
  int worker = 0;
  int workers = 1;
  int first_replica = 0;  // of this worker, among all
  int replicas = 1;       // of all workers
};

enum class StartedBy { nobody, environment, mpi };
StartedBy how_workers_were_started();

struct Agreement {
  WorkerPlace place;
  ncclUniqueId id{};
};

// Meets the other workers and tells them how many replicas are here. An Error when one does not come in time.
Agreement meet_workers(int replicas_here, double deadline_seconds);
// Ends what mpirun began; only after success, since it waits for the others.
void part_from_workers();

// LOCKSTEP_DEADLINE, in seconds, or 120: how long any wait of a step may take.
double deadline_from_environment();

}  // namespace lockstep
