// Ring all-reduce. Every replica pulls from its left neighbour on its own communication stream:
//
//   reduce-scatter, step s: replica r gets chunk r - 1 - s and adds it to its own; after n - 1 steps it owns the sum of chunk r + 1.
//   all-gather,     step s: replica r gets chunk r - s, finished, and keeps it.
//
// A neighbour never overwrites a chunk that is still being read: the value that would overwrite it has gone all around the ring, so it
// was made after that read. Only the end needs a fence: the last pull must be over before the neighbour's stream goes on.
#include "engine/distribute/collectives/ring_all_reduce.h"

#include "engine/distribute/collectives/peer.h"
#include "engine/tensor/shard.h"
#include "lockstep/error.h"

namespace lockstep {

void RingAllReduceOps::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) {
  if (gpus.size() < 2) return;
  enable_peer_access(gpus);
  ready_.clear();
  elements_ = std::max(elements_, elements);
  staging_.resize(gpus.size());
  const auto n = static_cast<std::int64_t>(gpus.size());
  const auto chunk_bytes = static_cast<std::size_t>((elements + n - 1) / n) * sizeof(float);
  for (std::size_t r = 0; r < gpus.size(); ++r) {
    ready_.emplace_back(gpus[r]->physical());
    const LogicalGpu& left = *gpus[(r + gpus.size() - 1) % gpus.size()];
    if (left.physical() == gpus[r]->physical() || staging_[r].bytes() >= chunk_bytes) continue;
    gpus[r]->communication().synchronize();  // a reduction may still be reading the smaller one
    staging_[r] = Buffer();
    staging_[r] = gpus[r]->arena().allocate(chunk_bytes, "replica " + std::to_string(r) + ": staging of the ring all-reduce");
  }
}

Traffic RingAllReduceOps::all_reduce(const std::vector<Participant>& participants) {
  Traffic traffic;
  const int n = static_cast<int>(participants.size());
  const std::int64_t elements = participants.front().buffer.size();
  if (n == 1 || elements == 0) return traffic;
  const std::vector<Shard> chunks = cut_batch(elements, n);  // the first is the longest
  if (participants.size() != ready_.size() || elements > elements_) {
    throw Error("Ring all-reduce: a buffer of " + std::to_string(elements) + " elements on " + std::to_string(n) +
                " replicas differs from the number prepare() was called with.");
  }

  const auto at = [&](int index) { return static_cast<std::size_t>((index % n + n) % n); };
  const auto chunk_of = [&](std::size_t replica, std::size_t chunk) {
    return Tensor(participants[replica].buffer.f32() + chunks[chunk].first, {chunks[chunk].count});
  };
  const auto record_all = [&] {
    for (std::size_t r = 0; r < participants.size(); ++r) on_behalf_of(r, [&] { ready_[r].record(*participants[r].stream); });
  };
  // Replica r takes one chunk from its left neighbour, to add it to its own or to keep it.
  const auto pull_now = [&](int r, std::size_t chunk, bool add, int round) {
    const Participant& receiver = participants[at(r)];
    const Participant& sender = participants[at(r - 1)];
    receiver.stream->wait(ready_[at(r - 1)]);
    const Tensor from = chunk_of(at(r - 1), chunk);
    const Tensor to = chunk_of(at(r), chunk);
    const auto bytes = static_cast<std::int64_t>(to.bytes());
    if (bytes == 0) return;
    const int left = static_cast<int>(at(r - 1));
    const Message message{{&left, 1}, r, round, static_cast<int>(chunk), n, bytes, add};
    deliver(message, *receiver.stream, to, [&] {
      if (add) {
        add_between({receiver.gpu, receiver.stream, {}}, *sender.gpu, from, to, staging_[at(r)]);
      } else {
        copy_between(*receiver.stream, *sender.gpu, from.raw(), *receiver.gpu, to.raw(), bytes);
      }
    });
    ++traffic.messages;
    traffic.bytes += bytes;
    if (!add || round == n - 2) traffic.put(at(r), bytes);  // a chunk that all have added to
  };
  const auto pull = [&](int r, std::size_t chunk, bool add, int round) { on_behalf_of(at(r), [&] { pull_now(r, chunk, add, round); }); };

  record_all();
  for (int step = 0; step < n - 1; ++step) {  // reduce-scatter
    for (int r = 0; r < n; ++r) pull(r, at(r - 1 - step), true, step);
    record_all();
  }
  for (int step = 0; step < n - 1; ++step) {  // all-gather
    for (int r = 0; r < n; ++r) pull(r, at(r - step), false, n - 1 + step);
    record_all();
  }
  for (int r = 0; r < n; ++r)  // the right neighbour has read my last chunk
    on_behalf_of(at(r), [&] { participants[at(r)].stream->wait(ready_[at(r + 1)]); });
  return traffic;
}

}  // namespace lockstep
