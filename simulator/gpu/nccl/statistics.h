// What communicators have sent, counted as the algorithm sends it: for tests against closed forms and for traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nccl.h>

namespace lockstep::sim::nccl {

// One message of an algorithm. Messages of the same step travel at the same time.
struct Message {
  int step = 0;
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;
};

// What one rank has sent since its communicator was made (or since `reset_traffic`). Counted when the collective runs, so wait for the
// stream first. A collective of no elements sends nothing; a ring step whose slice happens to be empty is still a message.
struct Traffic {
  std::uint64_t collectives = 0;  // in which the rank took part, sends and receives included
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// All zero for a handle that is no communicator.
Traffic traffic(ncclComm_t comm);
void reset_traffic(ncclComm_t comm);

// The messages of one all-reduce among `ranks` ranks ("ring" or "tree"), in order of their steps: what a trace draws.
std::vector<Message> all_reduce_messages(const std::string& algorithm, int ranks, std::size_t count, ncclDataType_t type);

}  // namespace lockstep::sim::nccl
