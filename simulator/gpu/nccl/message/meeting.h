// Where the ranks of a new communicator find each other: the process that made the ncclUniqueId keeps a table, one seat for each rank.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/message/socket.h"
#include "simulator/gpu/nccl/verdict.h"

namespace lockstep::sim::nccl {

// Where a rank is.
struct Seat {
  std::uint64_t process = 0;  // 0: nobody yet
  Address address;            // where that process listens
  int device = 0;
};

// What all ranks know of each other once they have met. How they talk is the maker's choice, so that all choose alike.
struct Table {
  std::vector<Seat> seats;  // by rank
  AlgorithmChoice allowed;
  bool direct = true;         // ranks of one process use each other's memory (not so with NCCL_P2P_DISABLE=1)
  bool shared_memory = true;  // or pass messages through it (not so with NCCL_SHM_DISABLE=1 in addition)
};

// The choices that the environment makes: NCCL_ALGO, NCCL_P2P_DISABLE, NCCL_SHM_DISABLE.
Table table_from_environment();

class Meeting {
 public:
  // Takes the rank's place; does not wait. A refusal is everybody's: nobody waits for a meeting that can't happen.
  void join(int ranks, int rank, const Seat& seat);
  // The rank has gone before all had come.
  void withdraw(int rank);
  // Waits for all ranks; who loses patience ends the meeting for all, with the names of those who had not come.
  Verdict wait(Table* table, const Patience& patience);
  // Called once, when all have come or it was refused; at once if that is so already.
  void when_over(std::function<void(const Verdict&, const Table&)> tell);

 private:
  void refuse(ncclResult_t code, const std::string& text);
  void complete();
  void conclude();
  std::string missing() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  Table table_;
  int present_ = 0;
  bool over_ = false;
  Verdict verdict_;
  std::vector<std::function<void(const Verdict&, const Table&)>> listeners_;
};

// An id's content: which process made it, its how-manieth it is, where that process listens (port 0: nowhere, it is for itself only), and a
// secret that all who have the id share, as NCCL's own ids have one: connections begin with a proof of it (greeting.h).
struct IdContent {
  std::uint64_t process = 0;
  std::uint64_t serial = 0;
  Address address;
  std::string key;
};
bool read_id(const ncclUniqueId& id, IdContent* content);
std::uint64_t own_process();  // a random number

// A new id, with its meeting. `listening`: other processes may come.
Verdict new_unique_id(bool listening, ncclUniqueId* id);
// The meeting of an id of this process; nullptr when there is none, or all its ranks have met already.
std::shared_ptr<Meeting> find_meeting(std::uint64_t serial);
void forget_meeting(std::uint64_t serial);

}  // namespace lockstep::sim::nccl
