// Matching of calls, cancellation, and the operations themselves.
#include "simulator/gpu/nccl/direct/direct_clique.h"

#include <atomic>

#include "simulator/gpu/nccl/blocks.h"
#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim::nccl {

namespace {

// Its operations do nothing any more, and no stream waits for it.
template <typename Met>
void cancel(Met& met) {
  met.cancelled = true;
  if (met.entry != nullptr) open_gate(met.entry);
  if (met.exit != nullptr) open_gate(met.exit);
}

}  // namespace

struct DirectClique::Collective {
  Exchange exchange;
  const Algorithm* algorithm = nullptr;
  int first_rank = 0;
  int called = 0;
  std::shared_ptr<Gate> entry;
  std::shared_ptr<Gate> exit;
  std::atomic<bool> cancelled{false};
};

struct DirectClique::Transfer {
  bool by_sender = false;  // whose half came first
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  std::shared_ptr<Gate> entry;
  std::shared_ptr<Gate> exit;
  std::atomic<bool> cancelled{false};
};

// Held by a rank's operation. It ends when the operation goes, whether that ran, was refused, or was skipped because its GPU has failed.
// Ends without the clique's lock.
struct DirectClique::Part {
  std::weak_ptr<DirectClique> clique;
  std::shared_ptr<Ledger> ledger;
  int rank = 0;
  int device = -1;  // of its stream; -1: refused
  std::string name;

  ~Part() {
    if (device >= 0 && runtime().executor.error(device) != cudaSuccess) {
      if (const auto all = clique.lock()) all->give_up(rank, name);
    }
    if (ledger != nullptr) ledger->done(rank);  // it was issued
  }
};

Cost cost_of(const Signature& what, int ranks, std::size_t share) {
  const double elements = static_cast<double>(share);
  const double bytes = elements * static_cast<double>(size_of(what.type));
  const double n = ranks;
  switch (what.kind) {
    case Kind::all_reduce:
      return {elements * (n - 1), 2 * n * bytes};
    case Kind::reduce:
      return {elements * (n - 1), (n + 1) * bytes};
    case Kind::reduce_scatter:
      return {elements * (n - 1), (n + 1) * bytes};
    case Kind::all_gather:
      return {0, (n + 1) * bytes};
    case Kind::broadcast:
      return {0, 2 * bytes};
  }
  return {};
}

namespace {

clock::CollectiveShape shape_of(const Signature& what, int ranks, const AlgorithmChoice& allowed) {
  clock::CollectiveShape shape;
  shape.ranks = ranks;
  shape.bytes = static_cast<double>(what.count * size_of(what.type));
  shape.allowed = {allowed.ring, allowed.tree, allowed.ring && allowed.tree};  // NCCL_ALGO that forbids one wants the other
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

std::vector<Touch> touches_of(const Signature& what, int ranks, const void* send, const void* receive) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t one = what.count * size_of(what.type);
  std::vector<Touch> touches;
  if (send != nullptr) touches.push_back({send, what.kind == Kind::reduce_scatter ? one * n : one, false});
  if (receive != nullptr) touches.push_back({receive, what.kind == Kind::all_gather ? one * n : one, true});
  return touches;
}

std::string disagreement(std::uint64_t number, int one, const Signature& its_call, int other, const Signature& other_call) {
  return "ranks disagree about collective number " + std::to_string(number) + " of their communicator: " + rank_name(one) + " calls " +
         describe(its_call) + ", " + rank_name(other) + " calls " + describe(other_call) + "; " + difference(its_call, other_call) +
         " must be the same: all ranks call the same collectives in the same order";
}

std::string transfer_disagreement(int from, int to, std::size_t sent, ncclDataType_t sent_type, std::size_t expected,
                                  ncclDataType_t expected_type) {
  const auto say = [](std::size_t count, ncclDataType_t type) { return std::to_string(count) + " of " + name_of(type); };
  return "ranks disagree about a transfer: " + rank_name(from) + " sends " + say(sent, sent_type) + ", " + rank_name(to) + " expects " +
         say(expected, expected_type);
}

DirectClique::DirectClique(int ranks, AlgorithmChoice allowed)
    : size_(ranks),
      allowed_(allowed),
      ledger_(std::make_shared<Ledger>(ranks)),
      departed_(static_cast<std::size_t>(ranks)),
      called_(static_cast<std::size_t>(ranks), 0) {}

Verdict DirectClique::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Verdict DirectClique::fail(ncclResult_t code, const std::string& text) {
  if (state_.ok()) state_ = {code, text};
  for (const auto& collective : pending_) cancel(*collective);
  pending_.clear();
  for (const auto& [pair, halves] : transfers_) {
    for (const auto& transfer : halves) cancel(*transfer);
  }
  transfers_.clear();
  return {code, text};
}

Verdict DirectClique::give_up(int rank, const std::string& caller) {
  const std::lock_guard lock(mutex_);
  return fail(ncclUnhandledCudaError, gpu_has_failed(rank, caller).text);
}

Verdict DirectClique::missing_rank(const std::string& caller) const {
  for (int r = 0; r < size_; ++r) {
    const std::string& why = departed_[static_cast<std::size_t>(r)];
    if (!why.empty()) return {ncclInvalidUsage, caller + " can't happen: " + rank_name(r) + " " + why};
  }
  return {};
}

template <typename Met>
Verdict DirectClique::put_on_stream(Met& met, const std::shared_ptr<Part>& part, cudaStream_t stream, Operation operation) {
  part->clique = weak_from_this();
  part->ledger = ledger_;
  part->name = operation.name;
  ledger_->issued(part->rank);
  operation.run = [part, run = std::move(operation.run)](int piece) { run(piece); };
  cudaError_t status = met.entry != nullptr ? enqueue_gate(stream, met.entry) : cudaSuccess;
  if (status == cudaSuccess) {
    part->device = device_of(stream);
    status = enqueue(stream, std::move(operation));
    if (status == cudaSuccess && met.exit != nullptr) status = enqueue_gate(stream, met.exit);
  }
  if (status == cudaSuccess) return {};
  cancel(met);
  return fail(ncclUnhandledCudaError, part->name + ": the stream refuses the operation: " + cudaGetErrorString(status));
}

Verdict DirectClique::collective(int rank, const CollectiveCall& call, cudaStream_t stream) {
  const auto part = std::make_shared<Part>();  // goes after the lock
  part->rank = rank;
  const std::lock_guard lock(mutex_);
  const std::size_t r = static_cast<std::size_t>(rank);
  if (!state_.ok()) return {state_.code, describe(call.what) + " refused, this communicator has failed: " + state_.text};
  if (const Verdict missing = missing_rank(describe(call.what)); !missing.ok()) return fail(missing.code, missing.text);
  const Algorithm* algorithm = choose(call.what, allowed_);
  if (algorithm == nullptr) return {ncclInvalidUsage, describe(call.what) + ": NCCL_ALGO allows no algorithm for it"};

  const std::uint64_t number = called_[r]++;
  const std::size_t place = number - first_pending_;
  if (place == pending_.size()) {
    auto fresh = std::make_shared<Collective>();
    fresh->exchange = {call.what, size_, std::vector<const void*>(called_.size()), std::vector<void*>(called_.size())};
    fresh->algorithm = algorithm;
    fresh->first_rank = rank;
    if (size_ > 1 && call.what.count > 0) {
      fresh->entry = make_gate(size_, std::string(name_of(call.what.kind)) + " entry");
      fresh->exit = make_gate(size_, std::string(name_of(call.what.kind)) + " exit");
    }
    pending_.push_back(std::move(fresh));
  }
  const std::shared_ptr<Collective> collective = pending_[place];
  if (const std::string differs = difference(collective->exchange.what, call.what); !differs.empty()) {
    return fail(ncclInvalidUsage, disagreement(number, collective->first_rank, collective->exchange.what, rank, call.what));
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
  operation.run = [collective, ledger = ledger_, rank, share, parts = operation.parts](int piece) {
    if (!collective->cancelled) {
      const Exchange& exchange = collective->exchange;
      const Range range = piece_of(share, static_cast<std::size_t>(parts), static_cast<std::size_t>(piece));
      if (range.size() > 0 && !no_math()) collective->algorithm->run(exchange, rank, range);
      if (piece == 0) {
        ledger->count_collective(rank);
        for (const Message& message : collective->algorithm->messages(exchange, rank)) ledger->count_message(message.from, message.bytes);
      }
    }
  };
  ModelClock::next_collective_is(shape_of(call.what, size_, allowed_));
  return put_on_stream(*collective, part, stream, std::move(operation));
}

Verdict DirectClique::transfer(int rank, const TransferCall& call, cudaStream_t stream) {
  const auto part = std::make_shared<Part>();  // goes after the lock
  part->rank = rank;
  const std::lock_guard lock(mutex_);
  const std::string caller = call.sends ? "ncclSend" : "ncclRecv";
  if (!state_.ok()) return {state_.code, caller + " refused, this communicator has failed: " + state_.text};
  if (const std::string& why = departed_[static_cast<std::size_t>(call.peer)]; !why.empty()) {
    return fail(ncclInvalidUsage, caller + " can't happen: " + rank_name(call.peer) + " " + why);
  }
  const std::pair<int, int> pair = call.sends ? std::make_pair(rank, call.peer) : std::make_pair(call.peer, rank);
  std::deque<std::shared_ptr<Transfer>>& waiting = transfers_[pair];
  std::shared_ptr<Transfer> transfer;
  if (!waiting.empty() && waiting.front()->by_sender != call.sends) {
    transfer = waiting.front();
    if (transfer->count != call.count || transfer->type != call.type) {
      const bool mine = call.sends;
      return fail(ncclInvalidUsage,
                  transfer_disagreement(pair.first, pair.second, mine ? call.count : transfer->count, mine ? call.type : transfer->type,
                                        mine ? transfer->count : call.count, mine ? transfer->type : call.type));
    }
    waiting.pop_front();
  } else {
    transfer = std::make_shared<Transfer>();
    transfer->by_sender = call.sends;
    transfer->count = call.count;
    transfer->type = call.type;
    if (call.count > 0) {
      transfer->entry = make_gate(2, "ncclSend/ncclRecv entry");
      transfer->exit = make_gate(2, "ncclSend/ncclRecv exit");
    }
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
  operation.run = [transfer, ledger = ledger_, pair, rank, sends = call.sends, bytes](int /*piece*/) {
    if (!transfer->cancelled) {
      ledger->count_collective(rank);
      if (!sends) {
        if (!no_math()) copy_bytes(resolve(transfer->to), resolve(transfer->from), bytes);
        if (pair.first != pair.second) ledger->count_message(pair.first, bytes);
      }
    }
  };
  const int ends = pair.first == pair.second ? 1 : 2;
  ModelClock::next_collective_is({clock::Collective::transfer, static_cast<double>(bytes), ends, {}});
  return put_on_stream(*transfer, part, stream, std::move(operation));
}

void DirectClique::depart(int rank, ncclResult_t code_for_others, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const std::size_t r = static_cast<std::size_t>(rank);
  departed_[r] = why;
  if (!state_.ok()) return;
  const bool aborts = code_for_others == ncclRemoteError;
  const std::size_t next = called_[r] - first_pending_;  // the first pending collective that the rank has not called
  if (const std::size_t lost = aborts ? 0 : next; lost < pending_.size()) {
    fail(code_for_others, describe(pending_[lost]->exchange.what) + " can't be completed: " + rank_name(rank) + " " + why);
    return;
  }
  for (const auto& [pair, halves] : transfers_) {
    const bool waits_for_it = !halves.empty() && (pair.first == rank || pair.second == rank);
    if (waits_for_it) {
      fail(code_for_others, "a transfer from " + rank_name(pair.first) + " to " + rank_name(pair.second) +
                                " can't be completed: " + rank_name(rank) + " " + why);
      return;
    }
  }
  if (aborts) fail(code_for_others, rank_name(rank) + " " + why);
}

}  // namespace lockstep::sim::nccl
