// Strategy::run: a function on every replica at once, and the sums they make in between.
#include <mutex>

#include "engine/distribute/strategy/strategy_impl.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// A custom step may take its time (it may read files); one that takes this long never comes.
constexpr double kDeadlineSeconds = 600;

thread_local ReplicaContext* current_context = nullptr;

// Replicas bring values, the last to come adds them up, all get the result.
class ValuesOfReplicas {
 public:
  ValuesOfReplicas(int replicas, const Deadline& deadline)
      : rendezvous_(replicas), values_(static_cast<std::size_t>(replicas)), deadline_(deadline) {}

  void stop() { rendezvous_.stop(); }

  Array sum(int replica, const Array& value) {
    values_[static_cast<std::size_t>(replica)] = value;
    rendezvous_.meet(replica, deadline_, "all_reduce", [&] { result_ = add_up(); });
    return result_;
  }

 private:
  Array add_up() const {
    Array sum = values_.front().clone();
    for (std::size_t r = 1; r < values_.size(); ++r) {
      if (values_[r].shape() != sum.shape() || values_[r].dtype() != sum.dtype()) {
        throw Error("all_reduce: replica " + std::to_string(r) + " gave an array of shape " + values_[r].shape().str() +
                    ", replica 0 one of shape " + sum.shape().str() + "; they must be of one shape and type.");
      }
      for (std::int64_t i = 0; i < sum.size(); ++i) {
        if (sum.dtype() == DType::float32) {
          sum.data<float>()[i] += values_[r].data<float>()[i];
        } else {
          sum.data<std::int32_t>()[i] += values_[r].data<std::int32_t>()[i];
        }
      }
    }
    return sum;
  }

  Rendezvous rendezvous_;
  std::vector<Array> values_;
  Array result_;
  Deadline deadline_;
};

class Context : public ReplicaContext {
 public:
  Context(int replica, int replicas, const void* strategy, ValuesOfReplicas& values)
      : replica_(replica), replicas_(replicas), strategy_(strategy), values_(values) {
    current_context = this;
  }
  ~Context() override { current_context = nullptr; }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int replica_id_in_sync_group() const override { return replica_; }
  int num_replicas_in_sync() const override { return replicas_; }
  const void* strategy() const override { return strategy_; }

  Array all_reduce(ReduceOp op, const Array& value) override {
    Array sum = values_.sum(replica_, value).clone();  // the others look at theirs
    if (op == ReduceOp::mean) {
      for (std::int64_t i = 0; i < sum.size(); ++i) sum.data<float>()[i] /= static_cast<float>(replicas_);
    }
    return sum;
  }

 protected:
  // A double travels as the float next to it and three rests, which together hold every bit of it (24 bits each).
  double all_reduce_number(ReduceOp op, double value) override {
    Array parts(Shape{4 * replicas_});
    for (int k = 0; k < 4; ++k) {
      const auto part = static_cast<float>(value);
      parts.data<float>()[4 * replica_ + k] = part;
      value -= static_cast<double>(part);
    }
    const Array all = values_.sum(replica_, parts);
    double sum = 0;
    for (int r = 0; r < replicas_; ++r) {
      double one = 0;
      for (int k = 3; k >= 0; --k) one += static_cast<double>(all.data<float>()[4 * r + k]);
      sum += one;
    }
    return op == ReduceOp::mean ? sum / replicas_ : sum;
  }

 private:
  int replica_, replicas_;
  const void* strategy_;
  ValuesOfReplicas& values_;
};

}  // namespace

ReplicaContext* ReplicaContext::current() { return current_context; }

void Strategy::Impl::run(const std::function<void(ReplicaContext&)>& function) {
  if (current_context) throw Error("Strategy::run was called from inside a function that run started; replicas can't be split again.");
  const std::lock_guard one_at_a_time(running_);
  const auto replicas = static_cast<int>(ids_.size());
  if (!threads_) {
    std::vector<int> cards;
    for (const GpuId& id : ids_) cards.push_back(id.physical);
    threads_ = std::make_unique<ReplicaThreads>(cards);
  }
  const Deadline deadline(kDeadlineSeconds);
  const auto values = std::make_shared<ValuesOfReplicas>(replicas, deadline);
  try {
    threads_->run(
        [&, values](int replica) {
          try {
            Context context(replica, replicas, this, *values);
            function(context);
          } catch (...) {
            values->stop();
            throw;
          }
        },
        deadline);
  } catch (const ReplicaError& error) {
    throw Error(replica_names(error.replicas) + ", run: " + error.what());
  }
}

void Strategy::run_on_replicas(const std::function<void(ReplicaContext&)>& function) const {
  if (workers() > 1) throw Error("run: a loop of your own works within one process so far; with several workers use fit and evaluate");
  impl_->run(function);
}

}  // namespace lockstep
