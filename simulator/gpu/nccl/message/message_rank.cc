#include "simulator/gpu/nccl/message/message_rank.h"

#include <cstring>

#include "simulator/gpu/nccl/refusals.h"

namespace lockstep::sim::nccl {

MessageRank::MessageRank(Mailbox& mailbox, std::uint64_t program, int rank, int ranks, std::uint64_t number,
                         const CollectiveSignature& what)
    : mailbox_(&mailbox),
      program_(program),
      rank_(rank),
      ranks_(ranks),
      number_(number),
      what_(what),
      element_(size_of(what.type)),
      reduction_(reduction_for(what.type, what.op)) {}

void MessageRank::set_buffers(const void* send, void* receive) {
  send_ = static_cast<const std::byte*>(send);
  receive_ = static_cast<std::byte*>(receive);
}

Chunk MessageRank::started(Range range) const {
  Chunk chunk = make_chunk(range.size() * element_);
  if (range.size() > 0) reduction_.start(chunk->data(), send_ + range.begin * element_, range.size(), ranks_);
  return chunk;
}

Chunk MessageRank::copied(Range range) const {
  Chunk chunk = make_chunk(range.size() * element_);
  if (range.size() > 0) std::memcpy(chunk->data(), send_ + range.begin * element_, chunk->size());
  return chunk;
}

Chunk MessageRank::received(Range range) const {
  Chunk chunk = make_chunk(range.size() * element_);
  if (range.size() > 0) std::memcpy(chunk->data(), receive_ + range.begin * element_, chunk->size());
  return chunk;
}

void MessageRank::combine(ChunkBytes& chunk, Range range) const {
  if (range.size() > 0) reduction_.combine(chunk.data(), send_ + range.begin * element_, range.size(), ranks_);
}

void MessageRank::join(ChunkBytes& chunk, const ChunkBytes& partial) const {
  reduction_.join(chunk.data(), partial.data(), chunk.size() / element_);
}

void MessageRank::finish(ChunkBytes& chunk) const { reduction_.finish(chunk.data(), chunk.size() / element_, ranks_); }

void MessageRank::store(const ChunkBytes& chunk, std::size_t first) const {
  if (chunk.size() > 0) std::memcpy(receive_ + first * element_, chunk.data(), chunk.size());
}

void MessageRank::expect(const ChunkBytes& chunk, Range range) const {
  if (chunk.size() == range.size() * element_) return;
  throw Result{ncclInternalError, rank_name(rank_) + " got " + std::to_string(chunk.size()) + " bytes where it expected " +
                                      std::to_string(range.size() * element_)};
}

Chunk header_chunk(std::uint64_t number, const CollectiveSignature& what) {
  const CallHeader header{
      number,   what.count, static_cast<std::int32_t>(what.kind), static_cast<std::int32_t>(what.type), static_cast<std::int32_t>(what.op),
      what.root};
  Chunk chunk = make_chunk(sizeof(header));
  std::memcpy(chunk->data(), &header, sizeof(header));
  return chunk;
}

CallHeader header_in(const ChunkBytes& chunk) {
  CallHeader header;
  if (chunk.size() != sizeof(header)) throw Result{ncclInternalError, "a message without its header"};
  std::memcpy(&header, chunk.data(), sizeof(header));
  return header;
}

Task compare_calls(MessageRank& me) {
  if (me.ranks() == 1) co_return;
  me.send(me.right(), header_chunk(me.number(), me.what()));
  const Chunk chunk = co_await me.receive(me.left());
  const CallHeader header = header_in(*chunk);
  CollectiveSignature other;
  other.kind = static_cast<Kind>(header.kind);
  other.count = header.count;
  other.type = static_cast<ncclDataType_t>(header.type);
  other.op = static_cast<ncclRedOp_t>(header.op);
  other.root = header.root;
  if (header.number != me.number()) {
    throw Result{ncclInternalError, rank_name(me.left()) + " is at collective number " + std::to_string(header.number) + ", " +
                                        rank_name(me.rank()) + " at number " + std::to_string(me.number())};
  }
  if (!difference(other, me.what()).empty()) {
    throw collectives_differ(me.number(), me.left(), other, me.rank(), me.what());
  }
}

}  // namespace lockstep::sim::nccl
