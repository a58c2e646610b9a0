// The process's listening socket. Every connection from another process begins here with a few words about what it is for: a rank that
// joins the meeting of an id made here, or one end of a connection between two members of a communicator.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "meeting.h"
#include "socket.h"

namespace lockstep::sim::nccl {

// The first words on a connection. Process and serial are the id's: who does not know it is not let in.
struct Hello {
  enum class Kind : std::uint32_t { join = 0x4c53'4a01, peer };
  Kind kind = Kind::join;
  std::int32_t ranks = 0;
  std::uint64_t process = 0;
  std::uint64_t serial = 0;
  std::int32_t from = 0;  // join: the rank; peer: the member
  std::int32_t to = 0;    // peer: the member that is meant
  std::uint64_t seat_process = 0;
  std::uint32_t seat_ip = 0;
  std::uint32_t seat_port = 0;
  std::int64_t seat_device = 0;
};
static_assert(sizeof(Hello) == 56);

class Lobby {
 public:
  // Listens, from the first call on.
  Verdict open(Address* address);
  // The connection that a member of the id's communicator has made to another one here.
  Verdict take_peer(const IdContent& id, int from, int to, Clock::time_point deadline, Socket* socket);

 private:
  struct Guest;
  void accept_all();
  void read_hello(const std::shared_ptr<Guest>& guest);
  void join(const std::shared_ptr<Guest>& guest);

  std::mutex mutex_;
  std::condition_variable arrived_;
  Socket listener_;
  Address address_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, int, int>, Socket> peers_;  // process, serial, from, to
};

Lobby& lobby();

// A rank's way into the meeting of an id, here or in another process.
class Joining {
 public:
  explicit Joining(const ncclUniqueId& id);
  void join(int ranks, int rank, int device);
  Verdict wait(Table* table);  // until all have come, or one of them or the maker of the id has gone
  const IdContent& id() const { return id_; }

 private:
  IdContent id_;
  Verdict verdict_;
  std::shared_ptr<Meeting> meeting_;
  Socket socket_;
};

}  // namespace lockstep::sim::nccl
