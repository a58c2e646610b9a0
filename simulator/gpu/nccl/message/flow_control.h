// Chunks that have come and were not taken yet, and chunks that wait to be sent.
//
// At most a window of bytes is on its way in a flow; what was taken is acknowledged. So a rank that runs ahead fills the window of one flow
// and not the memory of another process. On the network thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "simulator/gpu/nccl/message/transport.h"

namespace lockstep::sim::nccl {

class FlowControl {
 public:
  // Sending. Chunks for which there is no room in the window wait.
  void send(const Flow& flow, Chunk chunk, Transport& transport);
  bool acknowledged(const Flow& flow, std::size_t bytes, Transport& transport);  // false: more than was sent
  bool has_unsent(FlowKind kind, int from) const;

  // Receiving. At most one program waits for a flow.
  std::uint64_t deliver(const Flow& flow, Chunk chunk);  // the program that waits for it; 0: none
  bool has(const Flow& flow) const;
  Chunk take(const Flow& flow, Transport& transport);  // acknowledges now and then
  void wait(const Flow& flow, std::uint64_t program) { inboxes_[flow].waiting = program; }

  // A program waits for chunks of this rank, or chunks wait until this rank takes earlier ones.
  bool depends_on(int rank) const;
  void clear();

 private:
  struct Inbox {
    std::deque<Chunk> chunks;
    std::uint64_t waiting = 0;  // a program
    std::size_t unacknowledged = 0;
  };
  struct Window {
    std::size_t on_its_way = 0;
    std::deque<Chunk> waiting;
  };
  static void send_waiting(const Flow& flow, Window& window, Transport& transport);

  std::map<Flow, Inbox> inboxes_;
  std::map<Flow, Window> windows_;
};

}  // namespace lockstep::sim::nccl
