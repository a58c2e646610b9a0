// A communicator whose ranks send each other messages: its ranks in this process, and the ways to the others.
//
// A call puts two things on its rank's stream: an operation that says "the stream has come here", and a gate that the network thread
// opens when the rank's part is done. A rank's part is a program of messages (message_rank.h), a coroutine that the network thread runs.
// Programs of one rank run in the order of their calls, as NCCL's do; transfers in the order of their calls for each peer and direction.
//
// At most a window of bytes is on its way in a lane; what has been used is acknowledged. So a rank that runs ahead fills the window of one
// lane and nobody's memory.
//
// What ends a communicator (a disagreement, an abort, a process that died) is told to all; programs are cancelled and gates opened.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/clique.h"
#include "simulator/gpu/nccl/ledger.h"
#include "simulator/gpu/nccl/message/message_rank.h"
#include "simulator/gpu/nccl/message/tcp.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

class MessageClique : public Clique, public Receiver, public Post, public std::enable_shared_from_this<MessageClique> {
 public:
  // members[rank]: which group of ranks the rank is in; groups share memory. `own` is the one that lives here.
  MessageClique(std::vector<int> members, int own, AlgorithmChoice allowed);
  ~MessageClique() override;

  // The connections to the other members, by member. Before the first call.
  void start(std::map<int, Link> connections);

  Verdict collective(int rank, const CollectiveCall& call, cudaStream_t stream) override;
  Verdict transfer(int rank, const TransferCall& call, cudaStream_t stream) override;
  Verdict give_up(int rank, const std::string& caller) override;
  void depart(int rank, ncclResult_t code_for_others, const std::string& why) override;
  void drain(int rank) override { ledger_.drain(rank); }
  Verdict state() const override;
  Traffic traffic(int rank) const override { return ledger_.traffic(rank); }
  void reset_traffic(int rank) override { ledger_.reset_traffic(rank); }

 private:
  struct Program;
  struct Arrival;
  using Track = std::tuple<LaneKind, int, int, bool>;  // programs that follow one another: kind, rank, peer, sends
  struct Box {
    std::deque<Chunk> chunks;
    std::uint64_t waiting = 0;  // a program
    std::size_t unacknowledged = 0;
  };
  struct Window {
    std::size_t on_its_way = 0;
    std::deque<Chunk> waiting;
  };

  int size() const { return static_cast<int>(members_.size()); }
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  bool is_here(int rank) const { return member(rank) == own_; }
  Verdict refuse_when_failed(const std::string& caller) const;  // holds mutex_
  Verdict put_on_stream(const std::shared_ptr<Program>& program, const std::string& name, std::vector<Touch> touches, Cost cost,
                        cudaStream_t stream);  // holds mutex_

  // On the network thread from here on.
  void admit(const std::shared_ptr<Program>& program);
  void begin_next(const Track& track);
  void run_programs();
  void run(const std::shared_ptr<Program>& program);
  void finish_what_has_left();
  void finish(const std::shared_ptr<Program>& program);
  void release(Program& program);
  void fail(const Verdict& verdict);
  void leave_when_done();
  void has_gone(int rank);

  void deliver(const Lane& lane, Chunk chunk) override;
  void acknowledged(const Lane& lane, std::size_t bytes) override;
  void note(const Note& note) override;
  void lost(int member, const std::string& why) override;
  void put(const Lane& lane, Chunk chunk) override;
  bool has(const Lane& lane) const override;
  Chunk take(const Lane& lane) override;
  void wait(const Lane& lane, std::uint64_t program) override;
  void count_message(int from, std::size_t bytes) override { ledger_.count_message(from, bytes); }
  Transport& way_to(int rank) { return *ways_.at(member(rank)); }
  void send_waiting(const Lane& lane, Window& window);

  const std::vector<int> members_;
  const int own_;
  const AlgorithmChoice allowed_;
  Ledger ledger_;

  mutable std::mutex mutex_;
  Verdict state_;
  std::vector<std::string> departed_;  // why, by rank; empty: still here
  std::vector<std::uint64_t> called_;  // collectives by rank
  std::uint64_t programs_made_ = 0;

  std::map<int, std::shared_ptr<Transport>> ways_;  // by member
  std::map<std::uint64_t, std::shared_ptr<Program>> programs_;
  std::map<Track, std::deque<std::shared_ptr<Program>>> tracks_;
  std::map<Lane, Box> boxes_;
  std::map<Lane, Window> windows_;
  std::deque<std::uint64_t> runnable_;
  std::vector<std::shared_ptr<Program>> ending_;  // done, but for bytes that wait for room in a window
  std::vector<bool> gone_;                        // by rank: nothing will come from it any more
  std::map<int, std::string> leaving_;            // ranks here that have departed and whose programs may still run; why
  bool running_ = false;
  bool failed_ = false;
};

}  // namespace lockstep::sim::nccl
