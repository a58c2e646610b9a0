// What a rank's program of messages works with: its buffers, its neighbours, sending and receiving.
#pragma once

#include <coroutine>
#include <cstdint>

#include "simulator/gpu/nccl/clique.h"
#include "simulator/gpu/nccl/message/task.h"
#include "simulator/gpu/nccl/message/transport.h"
#include "simulator/gpu/nccl/reduction.h"

namespace lockstep::sim::nccl {

// Where messages are put and taken; the clique is one. On the network thread.
class Post {
 public:
  virtual ~Post() = default;
  virtual void put(const Lane& lane, Chunk chunk) = 0;
  virtual bool has(const Lane& lane) const = 0;
  virtual Chunk take(const Lane& lane) = 0;
  virtual void wait(const Lane& lane, std::uint64_t program) = 0;  // the program is resumed when something has come
  virtual void count_message(int from, std::size_t bytes) = 0;
};

struct Receive {
  Post* post;
  Lane lane;
  std::uint64_t program;

  bool await_ready() const { return post->has(lane); }
  void await_suspend(std::coroutine_handle<> /*self*/) const { post->wait(lane, program); }
  Chunk await_resume() const { return post->take(lane); }
};

// One rank in one collective.
class MessageRank {
 public:
  MessageRank(Post& post, std::uint64_t program, int rank, int ranks, std::uint64_t number, const Signature& what);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int right() const { return (rank_ + 1) % ranks_; }
  int left() const { return (rank_ + ranks_ - 1) % ranks_; }
  const Signature& what() const { return what_; }
  std::uint64_t number() const { return number_; }
  std::size_t element() const { return element_; }
  void set_buffers(const void* send, void* receive);  // where the bytes really are

  void send(int to, Chunk chunk) const { post_->put({LaneKind::collective, rank_, to}, std::move(chunk)); }
  Receive receive(int from) const { return {post_, {LaneKind::collective, from, rank_}, program_}; }
  // A message of so many elements begins; its chunks follow.
  void message(Range range) const { post_->count_message(rank_, range.size() * element_); }

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
  // Throws a Verdict when a chunk is not of the size that both ends know it to be.
  void expect(const ChunkBytes& chunk, Range range) const;

 private:
  Post* post_;
  std::uint64_t program_;
  int rank_;
  int ranks_;
  std::uint64_t number_;
  Signature what_;
  std::size_t element_;
  Reduction reduction_;
  const std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

// Before a collective neighbours on the ring tell each other what they were called for; a disagreement is thrown as a Verdict.
Task greet(MessageRank& me);

// The algorithms, in message_ring.cc and message_tree.cc; their orders of summation are those of algorithm.h's.
Task ring_all_reduce(MessageRank& me);
Task ring_reduce_scatter(MessageRank& me);
Task ring_all_gather(MessageRank& me);
Task ring_broadcast(MessageRank& me);
Task ring_reduce(MessageRank& me);
Task tree_all_reduce(MessageRank& me);

// What a neighbour was called for, as it travels.
struct CallHeader {
  std::uint64_t number = 0;
  std::uint64_t count = 0;
  std::int32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t op = 0;
  std::int32_t root = 0;
};
Chunk header_chunk(std::uint64_t number, const Signature& what);
CallHeader header_in(const ChunkBytes& chunk);  // throws a Verdict when it is none

}  // namespace lockstep::sim::nccl
