// How messages get from one rank to another: through shared memory within a process (shared_memory.h), over TCP between processes (tcp.h).
//
// Everything here happens on the network thread (event_loop.h), so nothing is locked. Sending never blocks; chunks of a flow arrive in the
// order they were sent. How much may be on its way is limited by the caller (flow_control.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <nccl.h>
#include "simulator/gpu/nccl/message/chunk.h"

namespace lockstep::sim::nccl {

enum class FlowKind : std::uint8_t { collective, transfer };

// One direction between two ranks; collectives and transfers do not wait for each other.
struct Flow {
  FlowKind kind = FlowKind::collective;
  int from = 0;
  int to = 0;

  auto operator<=>(const Flow&) const = default;
};

// What has happened to a rank or the whole communicator, for all ranks of the other endpoint.
struct Notice {
  enum class Kind : std::uint8_t { failed, departed };
  Kind kind = Kind::failed;
  int rank = 0;                     // departed
  ncclResult_t code = ncclSuccess;  // failed
  std::string text;
};

// The receiving side of a transport.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void deliver(const Flow& flow, Chunk chunk) = 0;
  virtual void acknowledged(const Flow& flow, std::size_t bytes) = 0;  // the other end has used so many bytes of what was sent
  virtual void notified(const Notice& notice) = 0;
  virtual void lost(int endpoint, const std::string& why) = 0;  // nothing more will come from there
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(const Flow& flow, Chunk chunk) = 0;
  virtual void acknowledge(const Flow& flow, std::size_t bytes) = 0;
  virtual void notify(const Notice& notice) = 0;
  virtual void close() = 0;  // after what was sent before has left
};

}  // namespace lockstep::sim::nccl
