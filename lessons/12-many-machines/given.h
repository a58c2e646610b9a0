// Given in lesson 12: a place in a group of machines. Threads stand in for the machines, one thread for each GPU.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "lesson.h"

namespace lesson {

// Shared by all ranks: records which ranks have arrived, so that a mistake gives a message instead of a hang.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int ended = 0;  // ranks whose function has returned or thrown
  std::optional<ncclUniqueId> id;
  struct Arrival {
    int machine = 0, local = 0, rank = 0, ranks = 0, device = 0, own_device = 0;
    ncclUniqueId id{};
  };
  std::vector<Arrival> arrivals;
};

class World {
 public:
  int machines = 1;
  int gpus_per_machine = 1;
  int machine = 0;  // which one this is
  int local = 0;    // which GPU of this machine
  int device = 0;   // CUDA's number of that GPU

  // Rank 0 passes its id, &id; all others pass nullptr. Every rank gets rank 0's.
  ncclUniqueId share(const ncclUniqueId* mine) {
    std::unique_lock lock(meeting->mutex);
    const bool first = machine == 0 && local == 0;
    if (mine != nullptr && !first)
      throw std::runtime_error("GPU " + std::to_string(local) + " of machine " + std::to_string(machine) +
                               " passed its own id to share(). Only rank 0 creates one; all others pass nullptr.");
    if (mine == nullptr && first) throw std::runtime_error("Rank 0 passed nullptr to share(): it must create the id.");
    if (mine != nullptr) meeting->id = *mine;
    meeting->changed.notify_all();
    meeting->changed.wait(lock, [&] { return meeting->id || meeting->ended > 0; });
    if (!meeting->id) throw std::runtime_error("No rank passed an id to share().");
    return *meeting->id;
  }

  std::shared_ptr<Meeting> meeting;
};

inline thread_local World* this_world = nullptr;

// Called in place of ncclCommInitRank, which would wait without end for ranks that never arrive.
inline ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank) {
  World& world = *this_world;
  Meeting& meeting = *world.meeting;
  int device = 0;
  cudaGetDevice(&device);
  {
    std::unique_lock lock(meeting.mutex);
    meeting.arrivals.push_back({world.machine, world.local, rank, ranks, device, world.device, id});
    meeting.changed.notify_all();
    meeting.changed.wait(lock, [&] { return static_cast<int>(meeting.arrivals.size()) + meeting.ended >= meeting.size; });
    const auto who = [](const Meeting::Arrival& a) {
      return "GPU " + std::to_string(a.local) + " of machine " + std::to_string(a.machine);
    };
    if (static_cast<int>(meeting.arrivals.size()) < meeting.size) throw std::runtime_error("Not all ranks have called ncclCommInitRank.");
    for (const Meeting::Arrival& a : meeting.arrivals) {
      if (a.ranks != meeting.size)
        throw std::runtime_error(who(a) + " passes " + std::to_string(a.ranks) + " as the number of ranks; there are " +
                                 std::to_string(meeting.size) + ".");
      if (std::memcmp(&a.id, &meeting.arrivals.front().id, sizeof(ncclUniqueId)) != 0)
        throw std::runtime_error(
            "Ranks called ncclCommInitRank with different ids and would wait for each other without end. Only rank 0 creates "
            "an id, and share() passes it to all.");
      if (a.device != a.own_device)
        throw std::runtime_error(who(a) + " joined with CUDA device " + std::to_string(a.device) + "; its own is " +
                                 std::to_string(a.own_device) + " (world.device). Was cudaSetDevice called first?");
      for (const Meeting::Arrival& b : meeting.arrivals) {
        if (&a != &b && a.rank == b.rank)
          throw std::runtime_error(who(a) + " and " + who(b) + " both use rank " + std::to_string(a.rank) + ".");
      }
    }
  }
  return ::ncclCommInitRank(comm, ranks, id, rank);
}
#define ncclCommInitRank ::lesson::init_rank

}  // namespace lesson
