// A sparse gradient (an Embedding's) summed over replicas by the rows in use, where that is less to send than the whole table.
//
// Every replica packs the rows its samples name, sends them to all others, and adds what it got in the order of the replicas: the same
// bits everywhere. The sum of two replicas has the bits of a dense all-reduce too; of more, another order of the same sum.
// The host knows the rows: they are the numbers in x. On one card nothing is packed: replica 0 adds the others' rows where they are, in the
// order of the replicas, and the others copy the rows of the sum: the bits that cards get. Between workers NCCL carries what was packed.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/device/staging.h"
#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/tensor/shard.h"
#include "lockstep/array.h"
#include "lockstep/step_options.h"

namespace lockstep {

// Which rows the samples of each replica name, and all of them together.
struct RowsInUse {
  std::vector<std::vector<std::int32_t>> by_replica;  // ascending, each once
  std::int64_t most = 0;                              // of one replica
  std::vector<std::int32_t> all;                      // ascending, each once
  std::vector<std::int32_t> positions;                // [row of all][replica]: where that replica has it, or -1; where asked for
};
RowsInUse rows_in_use(const Array& x, const std::vector<Shard>& shards, bool with_positions = true);

// Elements sent by all replicas together: gathered, n (n - 1) most columns and as many row numbers; dense, 2 (n - 1) rows columns.
bool gathering_is_less(std::int64_t replicas, std::int64_t most, std::int64_t rows, std::int64_t columns);

class SparseExchange {
 public:
  // `to_first`: only replica 0 gets the sum; for replicas of one card that share a copy.
  SparseExchange(const std::vector<LogicalGpu*>& gpus, const Shape& table, SparseGradients how, bool to_first = false);
  // With the replicas of other workers, which `ops` connects.
  SparseExchange(const std::vector<LogicalGpu*>& gpus, const Shape& table, SparseGradients how, CrossDeviceOps& ops);

  // For the step that begins: finds the rows in use; true when they shall be gathered. The shards are those of all replicas, everywhere.
  bool begin(const Array& x, const std::vector<Shard>& shards);
  bool gathers() const { return gathers_; }
  const char* name() const { return one_card_ ? "rows in use, added where they are" : "rows in use, gathered"; }
  // The lists of rows to a replica's GPU, on its compute stream. Called by the replica's own thread.
  void upload(int replica, const Deadline& deadline);
  // On the communication streams, behind what they wait for: gradients become their sums. One (rows, columns) tensor a replica.
  Traffic run(const std::vector<Tensor>& gradients, MessageWatcher* watcher = nullptr);

 private:
  std::int64_t used_rows() const { return static_cast<std::int64_t>(in_use_.all.size()); }
  struct Part {
    explicit Part(LogicalGpu* on) : gpu(on), staging(on->physical()), packed_ready(on->physical()), read(on->physical()) {}
    LogicalGpu* gpu;
    PinnedStaging staging;
    Buffer lists;   // between cards: own rows (most), all rows, their positions; on one: all rows on replica 0, own rows on the others
    Buffer packed;  // (replicas, most, columns), between cards
    Event packed_ready, read;
  };
  Tensor list(const Part& part, std::int64_t first, std::int64_t count) const;
  Tensor packed(const Part& on, std::size_t replica) const;  // that replica's rows there
  void merge(Part& reader, const Tensor& gradient);
  void pack(const std::vector<Tensor>& gradients);
  Traffic run_across_workers(const std::vector<Tensor>& gradients);
  Traffic run_on_one_card(const std::vector<Tensor>& gradients, MessageWatcher* watcher);

  std::int64_t columns() const { return table_[-1]; }

  Shape table_;
  SparseGradients how_;
  bool to_first_, one_card_;
  WorkerPlace place_;
  CrossDeviceOps* across_ = nullptr;  // null: all replicas are here
  std::deque<Part> parts_;
  RowsInUse in_use_;
  bool gathers_ = false;
};

}  // namespace lockstep
