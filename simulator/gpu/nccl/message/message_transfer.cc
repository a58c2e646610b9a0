#include "simulator/gpu/nccl/message/message_transfer.h"

#include <cstring>

#include "simulator/gpu/nccl/refusals.h"

namespace lockstep::sim::nccl {

Task transfer(MessageTransfer& me) {
  const std::size_t element = size_of(me.call.type);
  const Flow flow = me.flow();
  const CollectiveSignature what{Kind::broadcast, me.call.count, me.call.type, ncclSum, 0};
  if (me.call.sends) {
    me.mailbox->put(flow, header_chunk(0, what));
    if (flow.from != flow.to && me.call.count > 0) me.mailbox->count_message(me.rank, me.call.count * element);
  } else {
    const Chunk first = co_await Receive{me.mailbox, flow, me.program};
    const CallHeader header = header_in(*first);
    if (header.count != me.call.count || header.type != static_cast<std::int32_t>(me.call.type)) {
      throw transfers_differ(flow.from, flow.to, {header.count, static_cast<ncclDataType_t>(header.type)}, {me.call.count, me.call.type});
    }
  }
  if (me.call.count == 0) co_return;
  for (const Range range : in_chunks({0, me.call.count}, element)) {
    std::byte* const at = me.buffer + range.begin * element;
    const std::size_t bytes = range.size() * element;
    if (me.call.sends) {
      Chunk chunk = make_chunk(bytes);
      std::memcpy(chunk->data(), at, bytes);
      me.mailbox->put(flow, std::move(chunk));
    } else {
      const Chunk chunk = co_await Receive{me.mailbox, flow, me.program};
      if (chunk->size() != bytes) throw Result{ncclInternalError, rank_name(me.rank) + " got a chunk of the wrong size"};
      std::memcpy(at, chunk->data(), bytes);
    }
  }
}

}  // namespace lockstep::sim::nccl
