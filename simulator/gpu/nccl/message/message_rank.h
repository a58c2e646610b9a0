// What a rank's program of messages uses: its buffers, its neighbours, sending and receiving.
#pragma once

#include <coroutine>
#include <cstdint>

#include "simulator/gpu/nccl/communicator.h"
#include "simulator/gpu/nccl/message/task.h"
#include "simulator/gpu/nccl/message/transport.h"
#include "simulator/gpu/nccl/reduction.h"

namespace lockstep::sim::nccl {

// Where messages are put and taken. On the network thread.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void put(const Flow& flow, Chunk chunk) = 0;
  virtual bool has(const Flow& flow) const = 0;
  virtual Chunk take(const Flow& flow) = 0;
  virtual void wait(const Flow& flow, std::uint64_t program) = 0;  // the program is resumed when something has come
  virtual void count_message(int from, std::size_t bytes) = 0;
};

struct Receive {
  Mailbox* mailbox;
  Flow flow;
  std::uint64_t program;

  bool await_ready() const { return mailbox->has(flow); }
  void await_suspend(std::coroutine_handle<> /*self*/) const { mailbox->wait(flow, program); }
  Chunk await_resume() const { return mailbox->take(flow); }
};

// One rank in one collective.
class MessageRank {
 public:
  MessageRank(Mailbox& mailbox, std::uint64_t program, int rank, int ranks, std::uint64_t number, const CollectiveSignature& what);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int right() const { return (rank_ + 1) % ranks_; }
  int left() const { return (rank_ + ranks_ - 1) % ranks_; }
  const CollectiveSignature& what() const { return what_; }
  std::uint64_t number() const { return number_; }
  std::size_t element() const { return element_; }
  void set_buffers(const void* send, void* receive);  // where the bytes really are

  void send(int to, Chunk chunk) const { mailbox_->put({FlowKind::collective, rank_, to}, std::move(chunk)); }
  Receive receive(int from) const { return {mailbox_, {FlowKind::collective, from, rank_}, program_}; }
  // A message of so many elements begins; its chunks follow.
  void message(Range range) const { mailbox_->count_message(rank_, range.size() * element_); }

  // Elements [range) of this rank's input, as the first value of a reduction, or as they are.
  Chunk started(Range range) const;
  Chunk copied(Range range) const;
  // Elements [range) of its output, which holds them already.
  Chunk received(Range range) const;
  // chunk = op(chunk, this rank's elements), op(chunk, another partial result), the end of an average.
  void combine(ChunkBytes& chunk, Range range) const;
  void join(ChunkBytes& chunk, const ChunkBytes& partial) const;
  void finish(ChunkBytes& chunk) const;
  // To this rank's output, from element `first` on.
  void store(const ChunkBytes& chunk, std::size_t first) const;
  // Throws a Result when the chunk does not have the size of the range.
  void expect(const ChunkBytes& chunk, Range range) const;

 private:
  Mailbox* mailbox_;
  std::uint64_t program_;
  int rank_;
  int ranks_;
  std::uint64_t number_;
  CollectiveSignature what_;
  std::size_t element_;
  Reduction reduction_;
  const std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

// Before a collective each rank sends its call to the next one on the ring, which compares it with its own; a difference is thrown as a
// Result.
Task compare_calls(MessageRank& me);

// The algorithms, in message_ring.cc and message_tree.cc; their orders of summation are those of algorithm.h's.
Task ring_all_reduce(MessageRank& me);
Task ring_reduce_scatter(MessageRank& me);
Task ring_all_gather(MessageRank& me);
Task ring_broadcast(MessageRank& me);
Task ring_reduce(MessageRank& me);
Task tree_all_reduce(MessageRank& me);

// A rank's call, as it travels.
struct CallHeader {
  std::uint64_t number = 0;
  std::uint64_t count = 0;
  std::int32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t op = 0;
  std::int32_t root = 0;
};
Chunk header_chunk(std::uint64_t number, const CollectiveSignature& what);
CallHeader header_in(const ChunkBytes& chunk);  // throws a Result when the chunk is none

}  // namespace lockstep::sim::nccl
