// How messages get from one rank to another. Two ways: shared memory within a process (shared_memory.h), TCP between processes (tcp.h).
//
// Everything here happens on the network thread (event_loop.h), so nothing is locked. Sending never blocks; chunks of a lane arrive in the
// order they were sent. How much may be on its way is the caller's matter: see the window in message_clique.h.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <nccl.h>
#include "simulator/gpu/nccl/message/chunk.h"

namespace lockstep::sim::nccl {

enum class LaneKind : std::uint8_t { collective, transfer };

// One direction between two ranks; collectives and transfers do not wait for each other.
struct Lane {
  LaneKind kind = LaneKind::collective;
  int from = 0;
  int to = 0;

  auto operator<=>(const Lane&) const = default;
};

// News about a rank or the whole communicator, for everybody at the other end.
struct Note {
  enum class Kind : std::uint8_t { failed, departed };
  Kind kind = Kind::failed;
  int rank = 0;                     // departed: who
  std::uint64_t called = 0;         // departed: how many collectives it had called
  ncclResult_t code = ncclSuccess;  // failed
  std::string text;
};

// The receiving side of a transport.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void deliver(const Lane& lane, Chunk chunk) = 0;
  virtual void acknowledged(const Lane& lane, std::size_t bytes) = 0;  // the other end has used so many of our bytes
  virtual void note(const Note& note) = 0;
  virtual void lost(int member, const std::string& why) = 0;  // no more will come from there
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;
  virtual void send(const Lane& lane, Chunk chunk) = 0;
  virtual void acknowledge(const Lane& lane, std::size_t bytes) = 0;
  virtual void tell(const Note& note) = 0;
  virtual void close() = 0;  // after what was sent before has left
};

}  // namespace lockstep::sim::nccl
