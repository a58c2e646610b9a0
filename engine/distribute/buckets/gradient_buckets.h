// The buckets of a model: what each holds, how it is exchanged, and the board on which replicas report that one is ready.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/buckets/bucket.h"
#include "engine/distribute/collectives/sparse_exchange.h"
#include "engine/distribute/replica/replica_set.h"
#include "lockstep/step_options.h"

namespace lockstep {

// Replicas report buckets whose gradients were issued; one thread waits until all have.
class BucketBoard {
 public:
  void reset(std::size_t buckets, int replicas);
  void arrive(std::size_t bucket, int replica) { ready_[bucket].arrive(replica); }
  Rendezvous::Outcome wait(std::size_t bucket, const Deadline& deadline) { return ready_[bucket].wait(1, deadline); }
  void stop();  // some replica will never arrive

 private:
  std::deque<Rendezvous> ready_;  // by bucket; one round
};

class GradientBuckets {
 public:
  GradientBuckets(ReplicaSet& replicas, const StepOptions& options);

  std::size_t size() const { return buckets_.size(); }
  const Bucket& operator[](std::size_t bucket) const { return buckets_[bucket]; }
  std::size_t messages() const { return messages_; }  // buckets, and the state behind them where it is averaged
  std::int64_t largest() const;                       // elements
  const std::string& contents(std::size_t bucket) const { return contents_[bucket]; }  // names of variables as a JSON list
  // The bucket whose gradients are complete with this variable's; -1: it has more to come.
  std::int64_t completed_by(int variable) const { return last_variable_[static_cast<std::size_t>(variable)]; }
  // By variable: the all-reduce waits for its bucket, so no CUDA graph spans the end of its gradient.
  const std::vector<bool>& segment_ends() const { return segment_ends_; }

  // How a sparse gradient's bucket is exchanged in this batch by the rows in use; null: it is summed as a whole.
  SparseExchange* exchange(std::size_t bucket, const StepBatch& batch) const;
  void find_rows(const StepBatch& batch, const std::vector<Shard>& all_shards);  // those in use, before they are uploaded
  void upload_rows(int replica, const Deadline& deadline);

  BucketBoard board;

 private:
  void exchange_rows(ReplicaSet& replicas, SparseGradients how);

  std::vector<Bucket> buckets_;
  std::vector<std::string> contents_;
  std::vector<std::unique_ptr<SparseExchange>> exchanges_;  // by bucket; null where it is not sparse, or its rows are not in x
  std::vector<std::int64_t> last_variable_;                 // by variable: the bucket it is the last of, else -1
  std::vector<bool> segment_ends_;
  std::size_t messages_ = 0;
};

}  // namespace lockstep
