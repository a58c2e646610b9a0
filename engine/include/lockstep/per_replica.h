// Values that differ from replica to replica, and what runs on each replica: the parts of a custom training loop.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/array.h"
#include "lockstep/error.h"

namespace lockstep {

enum class ReduceOp { sum, mean };

// One value for each replica, in their order. Asked of a temporary, here and everywhere in this library, an accessor gives a value of its
// own instead of a reference: `for (const Array& copy : counter.copies().values())` is safe.
template <typename T>
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<T> values) : values_(std::move(values)) {}

  int size() const { return static_cast<int>(values_.size()); }
  const T& operator[](int replica) const& { return values_.at(static_cast<std::size_t>(replica)); }
  T operator[](int replica) && { return std::move(values_.at(static_cast<std::size_t>(replica))); }
  const std::vector<T>& values() const& { return values_; }  // tf.distribute's experimental_local_results
  std::vector<T> values() && { return std::move(values_); }

 private:
  std::vector<T> values_;
};

// Where a function that Strategy::run started finds itself: one replica among several, on a host thread of its own.
class ReplicaContext {
 public:
  virtual ~ReplicaContext() = default;
  virtual int replica_id_in_sync_group() const = 0;
  virtual int num_replicas_in_sync() const = 0;
  // Every replica must call it, in the same order; each gets the same bits. Values are added in the order of replicas.
  virtual Array all_reduce(ReduceOp op, const Array& value) = 0;
  double all_reduce(ReduceOp op, double value) { return all_reduce_number(op, value); }

  virtual const void* strategy() const = 0;  // whose run this is: only to be compared

  // That of this thread; null where no replica runs (the cross-replica context).
  static ReplicaContext* current();

 protected:
  virtual double all_reduce_number(ReduceOp op, double value) = 0;
};

// What distribute_from_function tells the function: one input pipeline a process.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const {
    if (global_batch_size % num_replicas_in_sync != 0) {
      throw Error("A global batch of " + std::to_string(global_batch_size) + " can't be divided evenly by " +
                  std::to_string(num_replicas_in_sync) + " replicas.");
    }
    return global_batch_size / num_replicas_in_sync;
  }
};

}  // namespace lockstep
