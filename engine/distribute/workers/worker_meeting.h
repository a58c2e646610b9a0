// Workers meet at a socket of worker 0's. All connections are read side by side, so a silent one costs a descriptor and no time; only a
// process that proves that it knows the secret of the run is a worker (worker_words.h).
#pragma once

#include <string>

#include "engine/distribute/workers/workers.h"

namespace lockstep {

struct MeetingWords {
  WorkerPlace place;  // replicas: of this worker
  std::string where;  // LOCKSTEP_ADDRESS
  std::string secret;
  RunFactsText facts{};
  double deadline_seconds = 120;
};

Agreement meet_as_first(const MeetingWords& words);
Agreement meet_as_other(const MeetingWords& words);

// The first replica of each worker, from the number of replicas of each.
std::vector<int> first_replicas(const std::vector<int>& replicas_of, int* total);

// What `lockstep run --workers` wrote to the workers it started, through the descriptor LOCKSTEP_LAUNCHER: which of them has ended. Empty
// while none has.
std::string words_of_launcher();
int launcher_descriptor();  // to poll; -1: not started by a launcher

}  // namespace lockstep
