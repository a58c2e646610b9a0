// Mirrored and sync-on-read variables, on the host: what a custom loop counts with.
#include "lockstep/variable.h"

#include "lockstep/error.h"
#include "lockstep/strategy.h"

namespace lockstep {

struct Variable::State {
  std::string name;
  VariableSynchronization synchronization;
  VariableAggregation aggregation;
  const void* strategy = nullptr;  // null: made outside any scope
  Shape shape;                     // beside the copies: another replica may be writing its own while one asks
  std::vector<Array> copies;

  bool on_read() const { return synchronization == VariableSynchronization::on_read; }
  int replicas() const { return static_cast<int>(copies.size()); }

  // The replica whose function calls; null outside run.
  ReplicaContext* context(const char* what) const {
    ReplicaContext* here = ReplicaContext::current();
    if (here && here->strategy() != strategy) {
      throw Error("Variable \"" + name + "\", " + what +
                  ": it was made outside the scope of the strategy that runs this function; make it inside strategy.scope(...)");
    }
    return here;
  }
  Array& own(const ReplicaContext& here) { return copies[static_cast<std::size_t>(here.replica_id_in_sync_group())]; }

  void check(const Array& value, const char* what) const {
    if (value.shape() != shape || value.dtype() != DType::float32) {
      throw Error("Variable \"" + name + "\", " + what + ": it is of shape " + shape.str() + " and float32, the value of shape " +
                  value.shape().str());
    }
  }

  // What all replicas' values make, the same on each.
  Array aggregated(ReplicaContext& here, const Array& value, const char* what) const {
    switch (aggregation) {
      case VariableAggregation::sum:
        return here.all_reduce(ReduceOp::sum, value);
      case VariableAggregation::mean:
        return here.all_reduce(ReduceOp::mean, value);
      case VariableAggregation::only_first_replica:
        return here.all_reduce(ReduceOp::sum, here.replica_id_in_sync_group() == 0 ? value : Array(value.shape()));
      case VariableAggregation::none:
        break;
    }
    throw Error("Variable \"" + name + "\", " + what +
                ": replicas may bring different values, so a mirrored variable that is written inside run needs an aggregation "
                "(VariableAggregation::sum, mean or only_first_replica)");
  }

  Array read_together() const {
    if (!on_read()) return copies.front().clone();
    if (aggregation == VariableAggregation::none && replicas() > 1)
      throw Error("Variable \"" + name + "\": replicas have their own values; reading them as one needs an aggregation, or read copies()");
    Array result = copies.front().clone();
    if (aggregation == VariableAggregation::sum || aggregation == VariableAggregation::mean) {
      for (std::size_t r = 1; r < copies.size(); ++r)
        for (std::int64_t i = 0; i < result.size(); ++i) result.data<float>()[i] += copies[r].data<float>()[i];
    }
    if (aggregation == VariableAggregation::mean)
      for (std::int64_t i = 0; i < result.size(); ++i) result.data<float>()[i] /= static_cast<float>(replicas());
    return result;
  }

  // So that it reads as `value`: a sum is replica 0's part alone.
  void write_together(const Array& value) {
    for (std::size_t r = 0; r < copies.size(); ++r) {
      const bool part = on_read() && aggregation == VariableAggregation::sum && r > 0;
      copies[r] = part ? Array(value.shape()) : value.clone();
    }
  }
};

Variable::Variable(Array initial_value, VariableSynchronization synchronization, VariableAggregation aggregation, const std::string& name)
    : state_(std::make_shared<State>()) {
  if (initial_value.dtype() != DType::float32) throw Error("Variable \"" + name + "\": float32 is wanted");
  state_->name = name;
  state_->shape = initial_value.shape();
  state_->synchronization = synchronization;
  state_->aggregation = aggregation;
  state_->strategy = Strategy::scope_identity();
  state_->copies.resize(state_->strategy ? static_cast<std::size_t>(Strategy::current().num_replicas_in_sync()) : 1);
  state_->write_together(initial_value);
}

const std::string& Variable::name() const& { return state_->name; }

Array Variable::value() const {
  if (const ReplicaContext* here = state_->context("value")) return state_->own(*here).clone();
  return state_->read_together();
}

void Variable::assign(const Array& value) {
  state_->check(value, "assign");
  ReplicaContext* here = state_->context("assign");
  if (!here) return state_->write_together(value);
  state_->own(*here) = state_->on_read() ? value.clone() : state_->aggregated(*here, value, "assign");
}

void Variable::assign_add(const Array& delta) {
  state_->check(delta, "assign_add");
  ReplicaContext* here = state_->context("assign_add");
  Array sum = (here && !state_->on_read()) ? state_->aggregated(*here, delta, "assign_add") : delta.clone();
  const Array before = value();
  for (std::int64_t i = 0; i < sum.size(); ++i) sum.data<float>()[i] += before.data<float>()[i];
  if (here) {
    state_->own(*here) = sum;
  } else {
    state_->write_together(sum);
  }
}

PerReplica<Array> Variable::copies() const {
  if (ReplicaContext::current())
    throw Error("Variable \"" + state_->name + "\": copies() is for outside run; inside, value() is this replica's");
  std::vector<Array> all;
  for (const Array& one : state_->copies) all.push_back(one.clone());
  return PerReplica<Array>(std::move(all));
}

}  // namespace lockstep
