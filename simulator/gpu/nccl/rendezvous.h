// Where the ranks of a new communicator find each other: in one process, by the number inside the ncclUniqueId.
//
// A meeting across processes is another way to fill the same Meeting; nothing else here knows how ranks have met.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "clique.h"
#include "verdict.h"

namespace lockstep::sim::nccl {

class Meeting {
 public:
  // Takes the rank's place; does not wait. A refusal is everybody's: nobody waits for a meeting that can't happen.
  void join(int ranks, int rank, int device);
  // Waits for all ranks.
  Verdict wait(std::shared_ptr<Clique>* clique);

 private:
  void refuse(ncclResult_t code, const std::string& text);
  void complete();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> devices_;  // by rank; -1: not yet here
  int present_ = 0;
  bool over_ = false;
  Verdict verdict_;
  std::shared_ptr<Clique> clique_;
};

ncclUniqueId new_unique_id();
// The meeting that the id stands for; nullptr when the id is not one of this process, or all its ranks have joined already.
std::shared_ptr<Meeting> find_meeting(const ncclUniqueId& id);
void forget_meeting(const ncclUniqueId& id);

}  // namespace lockstep::sim::nccl
