// The process's listening socket. Every connection from another process begins here with a few words about what it is for: a rank that
// joins the meeting of an id made here, or one end of a connection between two members of a communicator. Who does not prove that it has
// the id (greeting.h) is not let in; who says nothing waits beside the others, for a while, and takes nothing but a descriptor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "simulator/gpu/nccl/message/greeting.h"
#include "simulator/gpu/nccl/message/meeting.h"

namespace lockstep::sim::nccl {

class Lobby {
 public:
  // Listens, from the first call on.
  Verdict open(Address* address);
  // The key of an id that ranks here have or will have a part in, until they have met.
  void learn(std::uint64_t process, std::uint64_t serial, const std::string& key);
  void forget(std::uint64_t process, std::uint64_t serial);
  // The connection that a member of the id's communicator has made to another one here.
  Verdict take_peer(const IdContent& id, int from, int to, const Patience& patience, Link* link);

 private:
  struct Guest;
  void listen_again();
  void accept_all();
  void dismiss(const std::shared_ptr<Guest>& guest);
  void read_hello(const std::shared_ptr<Guest>& guest);
  void join(const std::shared_ptr<Guest>& guest, const std::string& key);
  std::string key_of(const Hello& hello);  // empty: not known here

  std::mutex mutex_;
  std::condition_variable arrived_;
  Socket listener_;
  Address address_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> keys_;       // by process and serial
  std::map<std::tuple<std::uint64_t, std::uint64_t, int, int>, Link> peers_;  // process, serial, from, to
  std::deque<std::shared_ptr<Guest>> guests_;                                 // that have not said yet what they came for; oldest first
};

Lobby& lobby();

// A rank's way into the meeting of an id, here or in another process.
class Joining {
 public:
  explicit Joining(const ncclUniqueId& id);
  void join(int ranks, int rank, int device, const Patience& patience);
  Verdict wait(Table* table, const Patience& patience);  // until all have come, or one of them or the maker of the id has gone
  const IdContent& id() const { return id_; }

 private:
  IdContent id_;
  Verdict verdict_;
  std::shared_ptr<Meeting> meeting_;
  Hello hello_;
  Link link_;
};

}  // namespace lockstep::sim::nccl
