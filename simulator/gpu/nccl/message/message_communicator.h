// A communicator whose ranks send each other messages: its ranks in this process, and the transports to the others.
//
// A call puts two things on its rank's stream: an operation that reports that the stream has come, and a gate that the network thread
// opens when the rank's part is done. A rank's part is a program of messages (program.h), coroutines that the network thread runs.
//
// What ends a communicator (a disagreement, an abort, a process that has gone) is sent to all; programs are cancelled and gates opened.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/communicator.h"
#include "simulator/gpu/nccl/message/flow_control.h"
#include "simulator/gpu/nccl/message/program.h"
#include "simulator/gpu/nccl/message/tcp.h"

namespace lockstep::sim::nccl {

class MessageCommunicator : public Communicator,
                            public Receiver,
                            public Mailbox,
                            public ProgramOwner,
                            public std::enable_shared_from_this<MessageCommunicator> {
 public:
  // endpoints[rank]: the endpoint of each rank. `own` is the one in this process.
  MessageCommunicator(std::vector<int> endpoints, int own, AlgorithmChoice allowed);

  // The connections to the other endpoints, by endpoint. Before the first call.
  void start(std::map<int, Connection> connections);

  Result collective(int rank, const CollectiveCall& call, cudaStream_t stream) override;
  Result transfer(int rank, const TransferCall& call, cudaStream_t stream) override;
  Result gpu_failed(int rank, const std::string& caller) override;
  void depart(int rank, ncclResult_t code_for_others, const std::string& why) override;
  void drain(int rank) override { counters_.drain(rank); }
  Result async_error() const override;
  Traffic traffic(int rank) const override { return counters_.traffic(rank); }
  void reset_traffic(int rank) override { counters_.reset_traffic(rank); }

 private:
  struct Arrival;

  int size() const { return static_cast<int>(endpoints_.size()); }
  int endpoint(int rank) const { return endpoints_[static_cast<std::size_t>(rank)]; }
  bool is_here(int rank) const { return endpoint(rank) == own_; }
  Transport& transport_to(int rank) { return *transports_.at(endpoint(rank)); }

  // These hold mutex_.
  ProgramPointer new_program(const Program::Queue& queue);
  Result put_on_stream(const ProgramPointer& program, const std::string& name, std::vector<Touch> touches, Cost cost, cudaStream_t stream);
  Result end(const Result& error);  // from a caller's thread: later calls are refused, the network thread does the rest

  // On the network thread from here on.
  void fail(const Result& error);
  void leave_when_done();
  void has_gone(int rank);
  void notify_all(const Notice& notice);

  void deliver(const Flow& flow, Chunk chunk) override;
  void acknowledged(const Flow& flow, std::size_t bytes) override;
  void notified(const Notice& notice) override;
  void lost(int endpoint, const std::string& why) override;

  void put(const Flow& flow, Chunk chunk) override;
  bool has(const Flow& flow) const override { return flows_.has(flow); }
  Chunk take(const Flow& flow) override { return flows_.take(flow, transport_to(flow.from)); }
  void wait(const Flow& flow, std::uint64_t program) override;
  void count_message(int from, std::size_t bytes) override { counters_.count_message(from, bytes); }

  bool is_sending(const Program& program) const override { return flows_.has_unsent(program.queue.kind, program.queue.rank); }
  void program_finished() override { leave_when_done(); }
  void program_failed(const Result& error) override { fail(error); }

  const std::vector<int> endpoints_;  // by rank
  const int own_;
  const AlgorithmChoice allowed_;
  RankCounters counters_;

  mutable std::mutex mutex_;
  Result async_error_;
  std::vector<std::string> departed_;  // why, by rank; empty: still here
  std::vector<std::uint64_t> called_;  // collectives by rank
  std::uint64_t programs_made_ = 0;

  std::map<int, std::shared_ptr<Transport>> transports_;  // by endpoint
  ProgramScheduler programs_;
  FlowControl flows_;
  std::vector<bool> gone_;              // by rank: nothing will come from it any more
  std::map<int, std::string> leaving_;  // ranks here that have departed and whose programs may still run; why
  bool failed_ = false;
};

}  // namespace lockstep::sim::nccl
