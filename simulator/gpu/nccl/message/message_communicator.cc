// Calls, and how a communicator ends.
#include "simulator/gpu/nccl/message/message_communicator.h"

#include <utility>

#include "simulator/gpu/nccl/cost.h"
#include "simulator/gpu/nccl/message/event_loop.h"
#include "simulator/gpu/nccl/message/shared_memory.h"
#include "simulator/gpu/nccl/refusals.h"

namespace lockstep::sim::nccl {

namespace {

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

// Held by the operation that reports that the stream has come. When the GPU has failed, the operation is dropped instead of run.
struct MessageCommunicator::Arrival {
  std::shared_ptr<MessageCommunicator> communicator;
  ProgramPointer program;
  std::string name;
  bool came = false;

  ~Arrival() {
    if (came) return;
    const Result error = gpu_has_failed(program->queue.rank, name);
    network().post([self = std::move(communicator), error] { self->fail(error); });
  }
};

MessageCommunicator::MessageCommunicator(std::vector<int> endpoints, int own, AlgorithmChoice allowed)
    : endpoints_(std::move(endpoints)),
      own_(own),
      allowed_(allowed),
      counters_(size()),
      departed_(endpoints_.size()),
      called_(endpoints_.size(), 0),
      programs_(*this, counters_),
      gone_(endpoints_.size(), false) {
  transports_[own_] = std::make_shared<SharedMemory>(*this);
}

void MessageCommunicator::start(std::map<int, Connection> connections) {
  std::vector<std::shared_ptr<Tcp>> started;
  for (auto& [other, connection] : connections) {
    started.push_back(std::make_shared<Tcp>(std::move(connection), size(), other));
    transports_[other] = started.back();
  }
  network().post([self = shared_from_this(), started] {
    for (const auto& tcp : started) tcp->start(self);
  });
}

Result MessageCommunicator::async_error() const {
  const std::lock_guard lock(mutex_);
  return async_error_;
}

Result MessageCommunicator::end(const Result& error) {
  if (async_error_.ok()) async_error_ = error;
  network().post([self = shared_from_this(), error] { self->fail(error); });
  return error;
}

Result MessageCommunicator::collective(int rank, const CollectiveCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (!async_error_.ok()) return communicator_has_failed(async_error_, describe(call.what));
  for (int r = 0; r < size(); ++r) {
    const std::string& why = departed_[static_cast<std::size_t>(r)];
    if (!why.empty()) return end(peer_has_departed(r, why, describe(call.what)));
  }
  const Algorithm* algorithm = choose(call.what, allowed_);
  if (algorithm == nullptr) return no_algorithm(describe(call.what));

  const std::uint64_t number = called_[static_cast<std::size_t>(rank)]++;
  const ProgramPointer program = new_program({FlowKind::collective, rank, 0, false});
  program->send = call.send;
  program->receive = call.receive;
  MessageRank& me = program->collective.emplace(*this, program->id, rank, size(), number, call.what);
  program->tasks.push_back(compare_calls(me));
  if (call.what.count > 0) program->tasks.push_back(make_task(me, *algorithm));
  const std::size_t share = call.what.count / static_cast<std::size_t>(size());
  return put_on_stream(program, name_of(call.what.kind),
                       call.what.count > 0 ? touches_of(call.what, size(), call.send, call.receive) : std::vector<Touch>{},
                       cost_of(call.what, size(), share), stream);
}

Result MessageCommunicator::transfer(int rank, const TransferCall& call, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const std::string caller = call.sends ? "ncclSend" : "ncclRecv";
  if (!async_error_.ok()) return communicator_has_failed(async_error_, caller);
  if (const std::string& why = departed_[static_cast<std::size_t>(call.peer)]; !why.empty()) {
    return end(peer_has_departed(call.peer, why, caller));
  }
  const ProgramPointer program = new_program({FlowKind::transfer, rank, call.peer, call.sends});
  program->receive = call.buffer;
  MessageTransfer& me = program->transfer.emplace();
  me = {this, program->id, rank, call, nullptr};
  program->tasks.push_back(nccl::transfer(me));
  const std::size_t bytes = call.count * size_of(call.type);
  std::vector<Touch> touches;
  if (bytes > 0) touches.push_back({call.buffer, bytes, !call.sends});
  return put_on_stream(program, caller, std::move(touches), {0, call.sends ? 0.0 : 2 * static_cast<double>(bytes)}, stream);
}

ProgramPointer MessageCommunicator::new_program(const Program::Queue& queue) {
  auto program = std::make_shared<Program>();
  program->id = ++programs_made_;
  program->queue = queue;
  return program;
}

Result MessageCommunicator::put_on_stream(const ProgramPointer& program, const std::string& name, std::vector<Touch> touches, Cost cost,
                                          cudaStream_t stream) {
  const auto self = shared_from_this();
  program->gate = make_gate(kOpenedFromOutside, name);
  counters_.issued(program->queue.rank);
  network().post([self, program] { self->failed_ ? self->programs_.release(*program) : self->programs_.add(program); });

  auto arrival = std::make_shared<Arrival>();
  arrival->communicator = self;
  arrival->program = program;
  arrival->name = name;
  Operation operation;
  operation.kind = OperationKind::collective;
  operation.name = name;
  operation.cost = cost;
  operation.touches = std::move(touches);
  operation.run = [arrival](int /*part*/) {
    arrival->came = true;
    arrival->program->resolve_buffers();
    network().post([communicator = arrival->communicator, program = arrival->program] { communicator->programs_.arrived(*program); });
  };
  arrival.reset();
  cudaError_t status = enqueue(stream, std::move(operation));
  if (status == cudaSuccess) status = enqueue_gate(stream, program->gate);
  return status == cudaSuccess ? Result{} : end(stream_refuses(name, status));
}

Result MessageCommunicator::gpu_failed(int rank, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  return end(gpu_has_failed(rank, caller));
}

void MessageCommunicator::depart(int rank, ncclResult_t code_for_others, const std::string& why) {
  const std::lock_guard lock(mutex_);
  departed_[static_cast<std::size_t>(rank)] = why;
  if (code_for_others == ncclRemoteError) end({code_for_others, rank_name(rank) + " " + why});  // an abort
  network().post([self = shared_from_this(), rank, why] {
    self->leaving_[rank] = why;
    self->leave_when_done();
  });
}

void MessageCommunicator::fail(const Result& error) {
  {
    const std::lock_guard lock(mutex_);
    if (async_error_.ok()) async_error_ = error;
  }
  if (std::exchange(failed_, true)) return;
  programs_.cancel_all();
  flows_.clear();
  const Result first = async_error();
  notify_all({Notice::Kind::failed, 0, first.code, first.text});
  leave_when_done();
}

void MessageCommunicator::notify_all(const Notice& notice) {
  for (const auto& [other, transport] : transports_) transport->notify(notice);
}

// A rank has left once all that it was called for is done; after the last rank here the connections are closed.
void MessageCommunicator::leave_when_done() {
  for (auto leaver = leaving_.begin(); leaver != leaving_.end();) {
    const auto [rank, why] = *leaver;
    if (programs_.has_programs_of(rank)) {
      ++leaver;
      continue;
    }
    leaver = leaving_.erase(leaver);
    notify_all({Notice::Kind::departed, rank, ncclSuccess, why});
    has_gone(rank);
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (is_here(rank) && !gone_[static_cast<std::size_t>(rank)]) return;
  }
  for (const auto& [other, transport] : transports_) transport->close();
}

// Nothing more will come from the rank: a program that waits for it can't be completed.
void MessageCommunicator::has_gone(int rank) {
  gone_[static_cast<std::size_t>(rank)] = true;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    why = departed_[static_cast<std::size_t>(rank)];
  }
  if (flows_.depends_on(rank)) fail({ncclInvalidUsage, "what was called can't be completed: " + rank_name(rank) + " " + why});
}

void MessageCommunicator::notified(const Notice& notice) {
  if (notice.kind == Notice::Kind::failed) return fail({notice.code, notice.text});
  if (is_here(notice.rank)) return;
  {
    const std::lock_guard lock(mutex_);
    departed_[static_cast<std::size_t>(notice.rank)] = notice.text;
  }
  has_gone(notice.rank);
}

void MessageCommunicator::lost(int lost_endpoint, const std::string& why) {
  std::string names;
  for (int rank = 0; rank < size(); ++rank) {
    if (endpoint(rank) != lost_endpoint || gone_[static_cast<std::size_t>(rank)]) continue;
    names += (names.empty() ? "" : ", ") + rank_name(rank);
    gone_[static_cast<std::size_t>(rank)] = true;
  }
  if (!names.empty()) fail({ncclRemoteError, names + " has gone: " + why});
}

void MessageCommunicator::deliver(const Flow& flow, Chunk chunk) {
  if (failed_) return;
  if (!is_here(flow.to)) return fail({ncclInternalError, "a message for " + rank_name(flow.to) + " came to the wrong process"});
  if (const std::uint64_t program = flows_.deliver(flow, std::move(chunk)); program != 0) programs_.wake(program);
}

void MessageCommunicator::acknowledged(const Flow& flow, std::size_t bytes) {
  if (failed_) return;
  if (!flows_.acknowledged(flow, bytes, transport_to(flow.to))) {
    return fail({ncclInternalError, rank_name(flow.to) + " has received more than was sent"});
  }
  programs_.run();
}

void MessageCommunicator::put(const Flow& flow, Chunk chunk) {
  if (gone_[static_cast<std::size_t>(flow.to)]) {
    const std::lock_guard lock(mutex_);
    throw Result{ncclInvalidUsage, "nothing can be sent: " + rank_name(flow.to) + " " + departed_[static_cast<std::size_t>(flow.to)]};
  }
  flows_.send(flow, std::move(chunk), transport_to(flow.to));
}

void MessageCommunicator::wait(const Flow& flow, std::uint64_t program) {
  flows_.wait(flow, program);
  if (!gone_[static_cast<std::size_t>(flow.from)]) return;
  // Not from inside the program, which is about to be cancelled.
  network().post([self = shared_from_this(), rank = flow.from] { self->has_gone(rank); });
}

}  // namespace lockstep::sim::nccl
