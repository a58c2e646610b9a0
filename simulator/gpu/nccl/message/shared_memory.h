// Messages within a process: the chunk itself changes hands.
#pragma once

#include <utility>

#include "simulator/gpu/nccl/message/transport.h"

namespace lockstep::sim::nccl {

class SharedMemory : public Transport {
 public:
  explicit SharedMemory(Receiver& receiver) : receiver_(receiver) {}

  void send(const Flow& flow, Chunk chunk) override { receiver_.deliver(flow, std::move(chunk)); }
  void acknowledge(const Flow& flow, std::size_t bytes) override { receiver_.acknowledged(flow, bytes); }
  void notify(const Notice& /*notice*/) override {}  // the receiver is the sender
  void close() override {}

 private:
  Receiver& receiver_;
};

}  // namespace lockstep::sim::nccl
