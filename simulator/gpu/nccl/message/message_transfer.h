// A point-to-point transfer over messages: the sender's call, then the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/gpu/nccl/message/message_rank.h"

namespace lockstep::sim::nccl {

// One rank's half of it.
struct MessageTransfer {
  Mailbox* mailbox = nullptr;
  std::uint64_t program = 0;
  int rank = 0;
  TransferCall call;
  std::byte* buffer = nullptr;  // where the bytes really are

  Flow flow() const { return {FlowKind::transfer, call.sends ? rank : call.peer, call.sends ? call.peer : rank}; }
};

Task transfer(MessageTransfer& me);

}  // namespace lockstep::sim::nccl
