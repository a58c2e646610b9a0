// A rank's part in a collective or a transfer, as a program of messages, and the order in which programs run.
//
// Programs of one rank run in the order of their calls, as NCCL's do; transfers in the order of their calls for each peer and direction. A
// program begins when its stream has come to it. Except for making programs, everything here is on the network thread.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/gpu/nccl/message/message_rank.h"
#include "simulator/gpu/nccl/message/message_transfer.h"
#include "simulator/gpu/nccl/rank_counters.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

struct Program {
  // Programs of a queue run one after another.
  struct Queue {
    FlowKind kind = FlowKind::collective;
    int rank = 0;
    int peer = 0;        // of transfers
    bool sends = false;  // of transfers

    auto operator<=>(const Queue&) const = default;
  };

  std::uint64_t id = 0;
  Queue queue;
  std::optional<MessageRank> collective;
  std::optional<MessageTransfer> transfer;
  const void* send = nullptr;  // device addresses
  void* receive = nullptr;
  std::vector<Task> tasks;  // one after the other
  std::size_t at = 0;
  std::shared_ptr<Gate> gate;  // its stream waits there until the program is over
  bool arrived = false;
  bool begun = false;
  bool over = false;

  void resolve_buffers();  // once its stream has come: where the bytes really are
};
using ProgramPointer = std::shared_ptr<Program>;

// What the scheduler asks of the communicator, and reports to it.
class ProgramOwner {
 public:
  virtual ~ProgramOwner() = default;
  // Chunks of the program wait for room in a window: it is not over yet, so that its rank does not run ahead.
  virtual bool is_sending(const Program& program) const = 0;
  virtual void program_finished() = 0;
  virtual void program_failed(const Result& error) = 0;
};

class ProgramScheduler {
 public:
  ProgramScheduler(ProgramOwner& owner, RankCounters& counters) : owner_(owner), counters_(counters) {}

  void add(const ProgramPointer& program);
  void arrived(Program& program);  // its stream has come
  void wake(std::uint64_t program);
  void run();  // what can run; does nothing inside a program
  bool has_programs_of(int rank) const;
  void cancel_all();
  void release(Program& program);  // it is over, finished or cancelled

 private:
  void begin_next(const Program::Queue& queue);
  void resume(const ProgramPointer& program);
  void finish_sent();
  void finish(const ProgramPointer& program);

  ProgramOwner& owner_;
  RankCounters& counters_;
  std::map<std::uint64_t, ProgramPointer> programs_;
  std::map<Program::Queue, std::deque<ProgramPointer>> queues_;
  std::deque<std::uint64_t> runnable_;
  std::vector<ProgramPointer> ending_;  // done, but for chunks that wait for room in a window
  bool running_ = false;
};

}  // namespace lockstep::sim::nccl
