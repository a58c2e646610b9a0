// The processes ("workers") of one training run: how many there are, which one this is, and one exchange at the start by which they
// agree on an NCCL id. After that they communicate by NCCL only.
//
// Workers are started by `lockstep run --workers` or one by one, which set LOCKSTEP_WORKER, LOCKSTEP_WORKERS, LOCKSTEP_ADDRESS (host:port
// where worker 0 listens for a moment) and LOCKSTEP_SECRET (known to the workers of this run and to no other process), or by mpirun, which
// carries the exchange itself. worker_meeting.h has the exchange.
#pragma once

#include <nccl.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

struct WorkerPlace {
  int worker = 0;
  int workers = 1;
  int first_replica = 0;  // of this worker, among all
  int replicas = 1;       // of all workers
};

enum class StartedBy { none, environment, mpi };
StartedBy how_workers_were_started();

// What all workers must have in common, name by name, such as {"seed", "3"}; compared when they meet.
using RunFacts = std::vector<std::pair<std::string, std::string>>;
// The same as it travels: a line for each, cut where it does not fit.
using RunFactsText = std::array<char, 4096>;
RunFactsText text_of(const RunFacts& facts);
// One sentence for the first worker that differs from worker 0: in what, and both values. Empty when none does.
std::string first_difference(const std::vector<RunFactsText>& by_worker);

// The connections over which workers met, until NCCL has its own: the end of one tells that a worker has gone.
class MeetingLines {
 public:
  virtual ~MeetingLines() = default;
  virtual void require_all() = 0;  // an Error that names a worker that has gone
  virtual void connected() = 0;    // NCCL has connected this worker: from now on its end is NCCL's matter
};

struct Agreement {
  WorkerPlace place;
  ncclUniqueId id{};
  double deadline_seconds = 120;
  std::shared_ptr<MeetingLines> lines;  // null where MPI has them
};

// Meets the other workers and tells them how many replicas are here. An Error when one does not come in time or runs something else.
Agreement meet_workers(int replicas_here, double deadline_seconds, const RunFacts& in_common);
// Ends what mpirun began; only after success, since it waits for the others.
void part_from_workers();

// LOCKSTEP_DEADLINE, in seconds, or 120: how long any wait of a step may take.
double deadline_from_environment();

}  // namespace lockstep
