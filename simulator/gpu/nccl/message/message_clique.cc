// Calls, programs, windows, and how it all ends.
#include "simulator/gpu/nccl/message/message_clique.h"

#include <optional>
#include <utility>

#include "simulator/gpu/nccl/direct/direct_clique.h"
#include "simulator/gpu/nccl/message/event_loop.h"
#include "simulator/gpu/nccl/message/message_transfer.h"
#include "simulator/gpu/nccl/message/shared_memory.h"

namespace lockstep::sim::nccl {

namespace {

constexpr std::size_t kWindowBytes = 4 << 20;

Task make_task(MessageRank& me, const Algorithm& algorithm) {
  switch (me.what().kind) {
    case Kind::all_reduce:
      return &algorithm == &kTreeAllReduce ? tree_all_reduce(me) : ring_all_reduce(me);
    case Kind::reduce:
      return ring_reduce(me);
    case Kind::broadcast:
      return ring_broadcast(me);
    case Kind::all_gather:
      return ring_all_gather(me);
    case Kind::reduce_scatter:
      break;
  }
  return ring_reduce_scatter(me);
}

}  // namespace

// One rank's part in one collective or transfer.
struct MessageClique::Program {
  std::uint64_t id = 0;
  Track track;
  int rank = 0;
  std::optional<MessageRank> collective;
  std::optional<MessageTransfer> transfer;
  const void* send = nullptr;  // device addresses
  void* receive = nullptr;
  std::vector<Task> tasks;  // one after the other
  std::size_t at = 0;
  std::shared_ptr<Gate> gate;
  bool arrived = false;
  bool begun = false;
  bool over = false;
};

// Held by the operation that says that the stream has come. When the device has failed the operation is dropped instead of run.
struct MessageClique::Arrival {
  std::shared_ptr<MessageClique> clique;
  std::shared_ptr<Program> program;
  std::string name;
  bool came = false;

  ~Arrival() {
    if (came) return;
    network().post([self = std::move(clique), rank = program->rank, name = name] { self->fail(gpu_has_failed(rank, name)); });
  }
};

MessageClique::MessageClique(std::vector<int> members, int own, AlgorithmChoice allowed)
    : members_(std::move(members)),
      own_(own),
      allowed_(allowed),
      ledger_(size()),
      departed_(members_.size()),
      called_(members_.size(), 0),
      gone_(members_.size(), false) {
  ways_[own_] = std::make_shared<SharedMemory>(*this);
}

MessageClique::~MessageClique() = default;

void MessageClique::start(std::map<int, Link> connections) {
  std::vector<std::shared_ptr<Tcp>> links;
  for (auto& [other, link] : connections) {
    links.push_back(std::make_shared<Tcp>(std::move(link), size(), other));
    ways_[other] = links.back();
  }
  network().post([self = shared_from_this(), links] {
    for (const auto& link : links) link->start(self);
  });
}

Verdict MessageClique::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Verdict MessageClique::refuse_when_failed(const std::string& caller) const {
  if (!state_.ok()) return {state_.code, caller + " refused, this communicator has failed: " + state_.text};
  return {};
}

Verdict MessageClique::collective(int rank, const CollectiveCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (Verdict failed = refuse_when_failed(describe(call.what)); !failed.ok()) return failed;
  for (int r = 0; r < size(); ++r) {
    const std::string& why = departed_[static_cast<std::size_t>(r)];
    if (why.empty()) continue;
    state_ = {ncclInvalidUsage, describe(call.what) + " can't happen: " + rank_name(r) + " " + why};
    network().post([self = shared_from_this(), verdict = state_] { self->fail(verdict); });
    return state_;
  }
  const Algorithm* algorithm = choose(call.what, allowed_);
  if (algorithm == nullptr) return {ncclInvalidUsage, describe(call.what) + ": NCCL_ALGO allows no algorithm for it"};

  const std::uint64_t number = called_[static_cast<std::size_t>(rank)]++;
  auto program = std::make_shared<Program>();
  program->id = ++programs_made_;
  program->track = {LaneKind::collective, rank, 0, false};
  program->rank = rank;
  program->send = call.send;
  program->receive = call.receive;
  MessageRank& me = program->collective.emplace(*this, program->id, rank, size(), number, call.what);
  program->tasks.push_back(greet(me));
  if (call.what.count > 0) program->tasks.push_back(make_task(me, *algorithm));
  const std::size_t share = call.what.count / static_cast<std::size_t>(size());
  return put_on_stream(program, name_of(call.what.kind),
                       call.what.count > 0 ? touches_of(call.what, size(), call.send, call.receive) : std::vector<Touch>{},
                       cost_of(call.what, size(), share), stream);
}

Verdict MessageClique::transfer(int rank, const TransferCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const std::string caller = call.sends ? "ncclSend" : "ncclRecv";
  if (Verdict failed = refuse_when_failed(caller); !failed.ok()) return failed;
  if (const std::string& why = departed_[static_cast<std::size_t>(call.peer)]; !why.empty()) {
    state_ = {ncclInvalidUsage, caller + " can't happen: " + rank_name(call.peer) + " " + why};
    network().post([self = shared_from_this(), verdict = state_] { self->fail(verdict); });
    return state_;
  }
  auto program = std::make_shared<Program>();
  program->id = ++programs_made_;
  program->track = {LaneKind::transfer, rank, call.peer, call.sends};
  program->rank = rank;
  program->receive = call.buffer;
  MessageTransfer& me = program->transfer.emplace();
  me = {this, program->id, rank, call, nullptr};
  program->tasks.push_back(nccl::transfer(me));
  const std::size_t bytes = call.count * size_of(call.type);
  std::vector<Touch> touches;
  if (bytes > 0) touches.push_back({call.buffer, bytes, !call.sends});
  return put_on_stream(program, caller, std::move(touches), {0, call.sends ? 0.0 : 2 * static_cast<double>(bytes)}, stream);
}

Verdict MessageClique::put_on_stream(const std::shared_ptr<Program>& program, const std::string& name, std::vector<Touch> touches,
                                     Cost cost, cudaStream_t stream) {
  const auto self = shared_from_this();
  program->gate = make_gate(kOpenedFromOutside, name);
  ledger_.issued(program->rank);
  network().post([self, program] { self->admit(program); });

  auto arrival = std::make_shared<Arrival>();
  arrival->clique = self;
  arrival->program = program;
  arrival->name = name;
  Operation operation;
  operation.kind = OperationKind::collective;
  operation.name = name;
  operation.cost = cost;
  operation.touches = std::move(touches);
  operation.run = [arrival](int /*part*/) {
    arrival->came = true;
    Program& mine = *arrival->program;
    if (mine.collective) mine.collective->set_buffers(resolve(mine.send), resolve(mine.receive));
    if (mine.transfer) mine.transfer->buffer = static_cast<std::byte*>(resolve(mine.receive));
    network().post([clique = arrival->clique, program = arrival->program] {
      program->arrived = true;
      clique->begin_next(program->track);
    });
  };
  arrival.reset();
  cudaError_t status = enqueue(stream, std::move(operation));
  if (status == cudaSuccess) status = enqueue_gate(stream, program->gate);
  if (status == cudaSuccess) return {};
  state_ = {ncclUnhandledCudaError, name + ": the stream refuses the operation: " + cudaGetErrorString(status)};
  network().post([self, verdict = state_] { self->fail(verdict); });
  return state_;
}

Verdict MessageClique::give_up(int rank, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  const Verdict verdict = gpu_has_failed(rank, caller);
  if (state_.ok()) state_ = verdict;
  network().post([self = shared_from_this(), verdict] { self->fail(verdict); });
  return verdict;
}

void MessageClique::depart(int rank, ncclResult_t code_for_others, const std::string& why) {
  const std::lock_guard lock(mutex_);
  departed_[static_cast<std::size_t>(rank)] = why;
  const bool aborts = code_for_others == ncclRemoteError;
  const Verdict verdict{code_for_others, rank_name(rank) + " " + why};
  if (aborts && state_.ok()) state_ = verdict;
  network().post([self = shared_from_this(), rank, why, aborts, verdict] {
    if (aborts) self->fail(verdict);
    self->leaving_[rank] = why;
    self->leave_when_done();
  });
}

void MessageClique::admit(const std::shared_ptr<Program>& program) {
  if (failed_) {
    release(*program);
    return;
  }
  programs_[program->id] = program;
  tracks_[program->track].push_back(program);
  begin_next(program->track);
}

void MessageClique::begin_next(const Track& track) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || found->second.empty()) return;
  Program& first = *found->second.front();
  if (!first.arrived || first.begun) return;
  first.begun = true;
  if (first.transfer ? first.transfer->call.count > 0 : first.collective->what().count > 0) ledger_.count_collective(first.rank);
  runnable_.push_back(first.id);
  run_programs();
}

// Also called, in vain, by what a program does while it runs: one after the other, never one inside another.
void MessageClique::run_programs() {
  if (std::exchange(running_, true)) return;
  for (finish_what_has_left(); !runnable_.empty(); finish_what_has_left()) {
    const auto found = programs_.find(runnable_.front());
    runnable_.pop_front();
    if (found == programs_.end()) continue;
    const std::shared_ptr<Program> program = found->second;
    std::optional<Verdict> problem;
    try {
      run(program);
    } catch (const Verdict& verdict) {
      problem = verdict;
    } catch (const std::exception& error) {
      problem = {ncclInternalError, error.what()};
    }
    if (problem) fail(*problem);
  }
  running_ = false;
}

void MessageClique::run(const std::shared_ptr<Program>& program) {
  while (program->at < program->tasks.size()) {
    const Task& task = program->tasks[program->at];
    task.resume();
    if (!task.done()) return;  // it waits for a message
    if (const std::exception_ptr error = task.error()) std::rethrow_exception(error);
    ++program->at;
  }
  ending_.push_back(program);
}

// A program whose bytes still wait for room in a window is not over: its rank does not run ahead.
void MessageClique::finish_what_has_left() {
  const auto waits = [this](const Program& program) {
    const auto& [kind, rank, peer, sends] = program.track;
    for (const auto& [lane, window] : windows_) {
      if (!window.waiting.empty() && lane.kind == kind && lane.from == rank) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < ending_.size();) {
    if (waits(*ending_[i])) {
      ++i;
      continue;
    }
    const std::shared_ptr<Program> program = ending_[i];
    ending_.erase(ending_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(program);
  }
}

void MessageClique::finish(const std::shared_ptr<Program>& program) {
  programs_.erase(program->id);
  tracks_[program->track].pop_front();
  release(*program);
  begin_next(program->track);
  leave_when_done();
}

void MessageClique::release(Program& program) {
  if (std::exchange(program.over, true)) return;
  program.tasks.clear();
  open_gate(program.gate);
  ledger_.done(program.rank);
}

void MessageClique::fail(const Verdict& verdict) {
  {
    const std::lock_guard lock(mutex_);
    if (state_.ok()) state_ = verdict;
  }
  if (std::exchange(failed_, true)) return;
  const auto programs = std::exchange(programs_, {});
  tracks_.clear();
  ending_.clear();
  runnable_.clear();
  for (const auto& [id, program] : programs) release(*program);
  boxes_.clear();
  windows_.clear();
  const Verdict first = state();
  for (const auto& [other, way] : ways_) way->tell({Note::Kind::failed, 0, 0, first.code, first.text});
  leave_when_done();
}

// A rank has left once all it was called for is done; when nobody is left here, neither are the connections.
void MessageClique::leave_when_done() {
  for (auto leaver = leaving_.begin(); leaver != leaving_.end();) {
    const auto [rank, why] = *leaver;
    bool busy = false;
    for (const auto& [id, program] : programs_) busy = busy || program->rank == rank;
    if (busy) {
      ++leaver;
      continue;
    }
    leaver = leaving_.erase(leaver);
    for (const auto& [other, way] : ways_) way->tell({Note::Kind::departed, rank, 0, ncclSuccess, why});
    has_gone(rank);
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (is_here(rank) && !gone_[static_cast<std::size_t>(rank)]) return;
  }
  for (const auto& [other, way] : ways_) way->close();
}

// Nothing more will come from the rank: whoever waits for it waits in vain.
void MessageClique::has_gone(int rank) {
  gone_[static_cast<std::size_t>(rank)] = true;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    why = departed_[static_cast<std::size_t>(rank)];
  }
  bool in_vain = false;
  for (const auto& [lane, box] : boxes_) in_vain = in_vain || (lane.from == rank && box.waiting != 0);
  for (const auto& [lane, window] : windows_) in_vain = in_vain || (lane.to == rank && !window.waiting.empty());
  if (in_vain) fail({ncclInvalidUsage, "what was called can't be completed: " + rank_name(rank) + " " + why});
}

void MessageClique::note(const Note& note) {
  if (note.kind == Note::Kind::failed) return fail({note.code, note.text});
  if (is_here(note.rank)) return;
  {
    const std::lock_guard lock(mutex_);
    departed_[static_cast<std::size_t>(note.rank)] = note.text;
  }
  has_gone(note.rank);
}

void MessageClique::lost(int member_lost, const std::string& why) {
  std::string who;
  for (int rank = 0; rank < size(); ++rank) {
    if (member(rank) != member_lost || gone_[static_cast<std::size_t>(rank)]) continue;
    who += (who.empty() ? "" : ", ") + rank_name(rank);
    gone_[static_cast<std::size_t>(rank)] = true;
  }
  if (!who.empty()) fail({ncclRemoteError, who + " has gone: " + why});
}

void MessageClique::deliver(const Lane& lane, Chunk chunk) {
  if (failed_) return;
  if (!is_here(lane.to)) return fail({ncclInternalError, "a message for " + rank_name(lane.to) + " came to the wrong process"});
  Box& box = boxes_[lane];
  box.chunks.push_back(std::move(chunk));
  if (box.waiting == 0) return;
  runnable_.push_back(std::exchange(box.waiting, 0));
  run_programs();
}

void MessageClique::put(const Lane& lane, Chunk chunk) {
  if (gone_[static_cast<std::size_t>(lane.to)]) {
    const std::lock_guard lock(mutex_);
    throw Verdict{ncclInvalidUsage, "nothing can be sent: " + rank_name(lane.to) + " " + departed_[static_cast<std::size_t>(lane.to)]};
  }
  Window& window = windows_[lane];
  window.waiting.push_back(std::move(chunk));
  send_waiting(lane, window);
}

void MessageClique::send_waiting(const Lane& lane, Window& window) {
  while (!window.waiting.empty()) {
    const std::size_t bytes = window.waiting.front()->size();
    if (window.on_its_way > 0 && window.on_its_way + bytes > kWindowBytes) return;
    window.on_its_way += bytes;
    Chunk chunk = std::move(window.waiting.front());
    window.waiting.pop_front();
    way_to(lane.to).send(lane, std::move(chunk));
  }
}

void MessageClique::acknowledged(const Lane& lane, std::size_t bytes) {
  if (failed_) return;
  const auto found = windows_.find(lane);
  if (found == windows_.end() || found->second.on_its_way < bytes) {
    return fail({ncclInternalError, rank_name(lane.to) + " has received more than was sent"});
  }
  found->second.on_its_way -= bytes;
  send_waiting(lane, found->second);
  run_programs();
}

bool MessageClique::has(const Lane& lane) const {
  const auto found = boxes_.find(lane);
  return found != boxes_.end() && !found->second.chunks.empty();
}

Chunk MessageClique::take(const Lane& lane) {
  Box& box = boxes_[lane];
  Chunk chunk = std::move(box.chunks.front());
  box.chunks.pop_front();
  box.unacknowledged += chunk->size();
  if (box.unacknowledged >= kWindowBytes / 4) way_to(lane.from).acknowledge(lane, std::exchange(box.unacknowledged, 0));
  return chunk;
}

void MessageClique::wait(const Lane& lane, std::uint64_t program) {
  boxes_[lane].waiting = program;
  if (!gone_[static_cast<std::size_t>(lane.from)]) return;
  // Not from inside the program, which is about to be cancelled.
  network().post([self = shared_from_this(), rank = lane.from] { self->has_gone(rank); });
}

}  // namespace lockstep::sim::nccl
