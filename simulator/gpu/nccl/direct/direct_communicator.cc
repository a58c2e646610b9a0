// Matching of calls, cancellation, and the operations themselves.
#include "simulator/gpu/nccl/direct/direct_communicator.h"

#include <atomic>

#include "simulator/gpu/nccl/cost.h"
#include "simulator/gpu/nccl/direct/blocks.h"
#include "simulator/gpu/nccl/refusals.h"
#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim::nccl {

// What a collective and a transfer have in common: operations of several ranks between two gates, none where a call moves nothing.
struct DirectCommunicator::Meeting {
  std::shared_ptr<Gate> entry;
  std::shared_ptr<Gate> exit;
  std::atomic<bool> cancelled{false};

  void make_gates(int streams, const std::string& name) {
    entry = make_gate(streams, name + " entry");
    exit = make_gate(streams, name + " exit");
  }
  // Its operations do nothing any more, and no stream waits for it.
  void cancel() {
    cancelled = true;
    if (entry != nullptr) open_gate(entry);
    if (exit != nullptr) open_gate(exit);
  }
};

struct DirectCommunicator::Collective : Meeting {
  Exchange exchange;
  const Algorithm* algorithm = nullptr;
  int first_rank = 0;
  int called = 0;
};

struct DirectCommunicator::Transfer : Meeting {
  bool by_sender = false;  // whose half came first
  const void* from = nullptr;
  void* to = nullptr;
  TransferSize size;
};

// Held by a rank's operation, and destroyed with it, whether it ran, was refused, or was skipped because its GPU has failed. The
// communicator's lock must not be held then.
struct DirectCommunicator::Part {
  std::weak_ptr<DirectCommunicator> communicator;
  std::shared_ptr<RankCounters> counters;
  int rank = 0;
  int device = -1;  // of its stream; -1: refused
  std::string name;

  ~Part() {
    if (device >= 0 && runtime().executor.error(device) != cudaSuccess) {
      if (const auto all = communicator.lock()) all->gpu_failed(rank, name);
    }
    if (counters != nullptr) counters->done(rank);  // it was issued
  }
};

namespace {

clock::CollectiveShape shape_of(const CollectiveSignature& what, int ranks, const AlgorithmChoice& allowed) {
  clock::CollectiveShape shape;
  shape.ranks = ranks;
  shape.bytes = static_cast<double>(what.count * size_of(what.type));
  shape.allowed = {allowed.ring, allowed.tree, allowed.ring && allowed.tree};  // where NCCL_ALGO forbids one, the other is used
  switch (what.kind) {
    case Kind::all_reduce:
      shape.what = clock::Collective::all_reduce;
      break;
    case Kind::reduce:
      shape.what = clock::Collective::reduce;
      break;
    case Kind::broadcast:
      shape.what = clock::Collective::broadcast;
      break;
    case Kind::all_gather:
      shape.what = clock::Collective::all_gather;
      shape.bytes *= ranks;
      break;
    case Kind::reduce_scatter:
      shape.what = clock::Collective::reduce_scatter;
      shape.bytes *= ranks;
      break;
  }
  return shape;
}

}  // namespace

DirectCommunicator::DirectCommunicator(int ranks, AlgorithmChoice allowed)
    : size_(ranks),
      allowed_(allowed),
      counters_(std::make_shared<RankCounters>(ranks)),
      departed_(static_cast<std::size_t>(ranks)),
      called_(static_cast<std::size_t>(ranks), 0) {}

Result DirectCommunicator::async_error() const {
  const std::lock_guard lock(mutex_);
  return async_error_;
}

Result DirectCommunicator::fail(const Result& error) {
  if (async_error_.ok()) async_error_ = error;
  for (const auto& collective : pending_) collective->cancel();
  pending_.clear();
  for (const auto& [pair, halves] : transfers_) {
    for (const auto& transfer : halves) transfer->cancel();
  }
  transfers_.clear();
  return error;
}

Result DirectCommunicator::gpu_failed(int rank, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  return fail(gpu_has_failed(rank, caller));
}

Result DirectCommunicator::departed_rank(const std::string& caller) const {
  for (int r = 0; r < size_; ++r) {
    const std::string& why = departed_[static_cast<std::size_t>(r)];
    if (!why.empty()) return peer_has_departed(r, why, caller);
  }
  return {};
}

Result DirectCommunicator::put_on_stream(const std::shared_ptr<Meeting>& meeting, const std::shared_ptr<Part>& part, cudaStream_t stream,
                                         Operation operation) {
  part->communicator = weak_from_this();
  part->counters = counters_;
  part->name = operation.name;
  counters_->issued(part->rank);
  operation.run = [part, run = std::move(operation.run)](int piece) { run(piece); };
  cudaError_t status = meeting->entry != nullptr ? enqueue_gate(stream, meeting->entry) : cudaSuccess;
  if (status == cudaSuccess) {
    part->device = device_of(stream);
    status = enqueue(stream, std::move(operation));
    if (status == cudaSuccess && meeting->exit != nullptr) status = enqueue_gate(stream, meeting->exit);
  }
  if (status == cudaSuccess) return {};
  meeting->cancel();
  return fail(stream_refuses(part->name, status));
}

Result DirectCommunicator::collective(int rank, const CollectiveCall& call, cudaStream_t stream) {
  const auto part = std::make_shared<Part>();  // destroyed after the lock
  part->rank = rank;
  const std::lock_guard lock(mutex_);
  const std::size_t r = static_cast<std::size_t>(rank);
  if (!async_error_.ok()) return communicator_has_failed(async_error_, describe(call.what));
  if (const Result departed = departed_rank(describe(call.what)); !departed.ok()) return fail(departed);
  const Algorithm* algorithm = choose(call.what, allowed_);
  if (algorithm == nullptr) return no_algorithm(describe(call.what));

  const std::uint64_t number = called_[r]++;
  const std::size_t place = number - first_pending_;
  if (place == pending_.size()) {
    auto fresh = std::make_shared<Collective>();
    fresh->exchange = {call.what, size_, std::vector<const void*>(called_.size()), std::vector<void*>(called_.size())};
    fresh->algorithm = algorithm;
    fresh->first_rank = rank;
    if (size_ > 1 && call.what.count > 0) fresh->make_gates(size_, name_of(call.what.kind));
    pending_.push_back(std::move(fresh));
  }
  const std::shared_ptr<Collective> collective = pending_[place];
  if (!difference(collective->exchange.what, call.what).empty()) {
    return fail(collectives_differ(number, collective->first_rank, collective->exchange.what, rank, call.what));
  }
  collective->exchange.send[r] = call.send;
  collective->exchange.receive[r] = call.receive;
  if (++collective->called == size_) {  // ranks call in order, so this is the oldest one
    pending_.pop_front();
    ++first_pending_;
  }
  if (call.what.count == 0) return {};

  const Range share = algorithm->share(collective->exchange, rank);
  Operation operation;
  operation.kind = OperationKind::collective;
  operation.name = name_of(call.what.kind);
  operation.cost = cost_of(call.what, size_, share.size());
  operation.touches = touches_of(call.what, size_, call.send, call.receive);
  operation.parts = share.size() > 0 ? parts_for(operation.cost) : 1;
  operation.run = [collective, counters = counters_, rank, share, parts = operation.parts](int piece) {
    if (collective->cancelled) return;
    const Exchange& exchange = collective->exchange;
    const Range range = piece_of(share, static_cast<std::size_t>(parts), static_cast<std::size_t>(piece));
    if (range.size() > 0 && !no_math()) collective->algorithm->run(exchange, rank, range);
    if (piece > 0) return;
    counters->count_collective(rank);
    for (const Message& message : collective->algorithm->messages(exchange, rank)) counters->count_message(message.from, message.bytes);
  };
  ModelClock::next_collective_is(shape_of(call.what, size_, allowed_));
  return put_on_stream(collective, part, stream, std::move(operation));
}

Result DirectCommunicator::transfer(int rank, const TransferCall& call, cudaStream_t stream) {
  const auto part = std::make_shared<Part>();  // destroyed after the lock
  part->rank = rank;
  const std::lock_guard lock(mutex_);
  const std::string caller = call.sends ? "ncclSend" : "ncclRecv";
  if (!async_error_.ok()) return communicator_has_failed(async_error_, caller);
  if (const std::string& why = departed_[static_cast<std::size_t>(call.peer)]; !why.empty()) {
    return fail(peer_has_departed(call.peer, why, caller));
  }
  const std::pair<int, int> pair = call.sends ? std::make_pair(rank, call.peer) : std::make_pair(call.peer, rank);
  std::deque<std::shared_ptr<Transfer>>& waiting = transfers_[pair];
  const TransferSize size{call.count, call.type};
  std::shared_ptr<Transfer> transfer;
  if (!waiting.empty() && waiting.front()->by_sender != call.sends) {
    transfer = waiting.front();
    if (transfer->size != size) {
      return fail(transfers_differ(pair.first, pair.second, call.sends ? size : transfer->size, call.sends ? transfer->size : size));
    }
    waiting.pop_front();
  } else {
    transfer = std::make_shared<Transfer>();
    transfer->by_sender = call.sends;
    transfer->size = size;
    if (call.count > 0) transfer->make_gates(2, "ncclSend/ncclRecv");
    waiting.push_back(transfer);
  }
  if (call.sends) {
    transfer->from = call.buffer;
  } else {
    transfer->to = call.buffer;
  }
  if (call.count == 0) return {};

  // The receiver's operation copies; the sender's only keeps the buffer in use until the exit gate.
  const std::size_t bytes = call.count * size_of(call.type);
  Operation operation;
  operation.kind = OperationKind::collective;
  operation.name = caller;
  operation.touches = {{call.buffer, bytes, !call.sends}};
  if (!call.sends) operation.cost = {0, 2 * static_cast<double>(bytes)};
  operation.run = [transfer, counters = counters_, pair, rank, sends = call.sends, bytes](int /*piece*/) {
    if (transfer->cancelled) return;
    counters->count_collective(rank);
    if (sends) return;
    if (!no_math()) copy_bytes(resolve(transfer->to), resolve(transfer->from), bytes);
    if (pair.first != pair.second) counters->count_message(pair.first, bytes);
  };
  const int ends = pair.first == pair.second ? 1 : 2;
  ModelClock::next_collective_is({clock::Collective::transfer, static_cast<double>(bytes), ends, {}});
  return put_on_stream(transfer, part, stream, std::move(operation));
}

void DirectCommunicator::depart(int rank, ncclResult_t code_for_others, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const std::size_t r = static_cast<std::size_t>(rank);
  departed_[r] = why;
  if (!async_error_.ok()) return;
  const std::string reason = rank_name(rank) + " " + why;
  const bool aborts = code_for_others == ncclRemoteError;
  const std::size_t next = called_[r] - first_pending_;  // the first pending collective that the rank has not called
  if (const std::size_t lost = aborts ? 0 : next; lost < pending_.size()) {
    fail({code_for_others, describe(pending_[lost]->exchange.what) + " can't be completed: " + reason});
    return;
  }
  for (const auto& [pair, halves] : transfers_) {
    const bool waits_for_it = !halves.empty() && (pair.first == rank || pair.second == rank);
    if (waits_for_it) {
      fail({code_for_others,
            "a transfer from " + rank_name(pair.first) + " to " + rank_name(pair.second) + " can't be completed: " + reason});
      return;
    }
  }
  if (aborts) fail({code_for_others, reason});
}

}  // namespace lockstep::sim::nccl
