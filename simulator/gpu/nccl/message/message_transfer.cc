#include "simulator/gpu/nccl/message/message_transfer.h"

#include <cstring>

#include "simulator/gpu/nccl/direct/direct_clique.h"

namespace lockstep::sim::nccl {

Task transfer(MessageTransfer& me) {
  const std::size_t element = size_of(me.call.type);
  const Lane lane = me.lane();
  const Signature what{Kind::broadcast, me.call.count, me.call.type, ncclSum, 0};
  if (me.call.sends) {
    me.post->put(lane, header_chunk(0, what));
    if (lane.from != lane.to && me.call.count > 0) me.post->count_message(me.rank, me.call.count * element);
  } else {
    const Chunk first = co_await Receive{me.post, lane, me.program};
    const CallHeader header = header_in(*first);
    if (header.count != me.call.count || header.type != static_cast<std::int32_t>(me.call.type)) {
      throw Verdict{ncclInvalidUsage, transfer_disagreement(lane.from, lane.to, header.count, static_cast<ncclDataType_t>(header.type),
                                                            me.call.count, me.call.type)};
    }
  }
  if (me.call.count == 0) co_return;
  for (const Range range : in_chunks({0, me.call.count}, element)) {
    std::byte* const at = me.buffer + range.begin * element;
    const std::size_t bytes = range.size() * element;
    if (me.call.sends) {
      Chunk chunk = make_chunk(bytes);
      std::memcpy(chunk->data(), at, bytes);
      me.post->put(lane, std::move(chunk));
    } else {
      const Chunk chunk = co_await Receive{me.post, lane, me.program};
      if (chunk->size() != bytes) throw Verdict{ncclInternalError, rank_name(me.rank) + " got a piece of the wrong size"};
      std::memcpy(at, chunk->data(), bytes);
    }
  }
}

}  // namespace lockstep::sim::nccl
