// A point-to-point transfer over messages: the sender's words about it, then the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/gpu/nccl/message/message_rank.h"

namespace lockstep::sim::nccl {

// One rank's half of it.
struct MessageTransfer {
  Post* post = nullptr;
  std::uint64_t program = 0;
  int rank = 0;
  TransferCall call;
  std::byte* buffer = nullptr;  // where the bytes really are

  Lane lane() const { return {LaneKind::transfer, call.sends ? rank : call.peer, call.sends ? call.peer : rank}; }
};

Task transfer(MessageTransfer& me);

}  // namespace lockstep::sim::nccl
