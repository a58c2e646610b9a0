// What lesson 12 gives you: a place in a group of machines. Machines are played by threads, one for each GPU.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "lesson.h"

namespace lesson {

// What all ranks share behind the scenes: it knows who has come, so that a mistake is a sentence and not a hang.
struct Meeting {
  std::mutex mutex;
  std::condition_variable news;
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

  // Rank 0 gives its id, &id; all others give nullptr. Everybody gets rank 0's.
  ncclUniqueId share(const ncclUniqueId* mine) {
    std::unique_lock lock(meeting->mutex);
    const bool first = machine == 0 && local == 0;
    if (mine != nullptr && !first)
      throw std::runtime_error("GPU " + std::to_string(local) + " of machine " + std::to_string(machine) +
                               " brought an id of its own to share(). Only rank 0 makes one; all others give nullptr.");
    if (mine == nullptr && first) throw std::runtime_error("Rank 0 gave nullptr to share(): it is the one who brings the id.");
    if (mine != nullptr) meeting->id = *mine;
    meeting->news.notify_all();
    meeting->news.wait(lock, [&] { return meeting->id || meeting->ended > 0; });
    if (!meeting->id) throw std::runtime_error("Nobody brought an id to share().");
    return *meeting->id;
  }

  std::shared_ptr<Meeting> meeting;
};

inline thread_local World* this_world = nullptr;

// Stands before ncclCommInitRank, which would wait without end for ranks that never come.
inline ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank) {
  World& world = *this_world;
  Meeting& meeting = *world.meeting;
  int device = 0;
  cudaGetDevice(&device);
  {
    std::unique_lock lock(meeting.mutex);
    meeting.arrivals.push_back({world.machine, world.local, rank, ranks, device, world.device, id});
    meeting.news.notify_all();
    meeting.news.wait(lock, [&] { return static_cast<int>(meeting.arrivals.size()) + meeting.ended >= meeting.size; });
    const auto who = [](const Meeting::Arrival& a) {
      return "GPU " + std::to_string(a.local) + " of machine " + std::to_string(a.machine);
    };
    if (static_cast<int>(meeting.arrivals.size()) < meeting.size) throw std::runtime_error("Not all ranks have come to ncclCommInitRank.");
    for (const Meeting::Arrival& a : meeting.arrivals) {
      if (a.ranks != meeting.size)
        throw std::runtime_error(who(a) + " says that there are " + std::to_string(a.ranks) + " ranks; there are " +
                                 std::to_string(meeting.size) + ".");
      if (std::memcmp(&a.id, &meeting.arrivals.front().id, sizeof(ncclUniqueId)) != 0)
        throw std::runtime_error(
            "Ranks came to ncclCommInitRank with different ids: they would wait for each other without end. Only rank 0 makes "
            "an id, and share() hands it to all.");
      if (a.device != a.own_device)
        throw std::runtime_error(who(a) + " joined with CUDA device " + std::to_string(a.device) + "; its own is " +
                                 std::to_string(a.own_device) + " (world.device). Was cudaSetDevice called first?");
      for (const Meeting::Arrival& b : meeting.arrivals) {
        if (&a != &b && a.rank == b.rank)
          throw std::runtime_error(who(a) + " and " + who(b) + " both call themselves rank " + std::to_string(a.rank) + ".");
      }
    }
  }
  return ::ncclCommInitRank(comm, ranks, id, rank);
}
#define ncclCommInitRank ::lesson::init_rank

}  // namespace lesson
