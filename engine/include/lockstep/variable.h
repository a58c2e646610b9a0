// Variables of one's own in a custom loop: counters, running means, schedules. (A model's weights are its own affair.)
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lockstep/array.h"
#include "lockstep/per_replica.h"

namespace lockstep {

// on_write: a mirrored variable; its copies are equal at all times, so a change is made on all replicas together.
// on_read: every replica changes its own copy, and reading them from outside puts them together.
enum class VariableSynchronization { on_write, on_read };
// How: the replicas' values to be written (on_write) or their copies (on_read) become one.
enum class VariableAggregation { none, sum, mean, only_first_replica };

// A handle; copies are the same variable. Made inside a strategy's scope it has a copy for each replica; using it in another strategy's
// run, or one made outside any scope inside a run, is an Error.
class Variable {
 public:
  explicit Variable(Array initial_value, VariableSynchronization synchronization = VariableSynchronization::on_write,
                    VariableAggregation aggregation = VariableAggregation::none, const std::string& name = "variable");

  // Inside run: this replica's copy. Outside: the one value, of on_read variables the aggregated one.
  Array value() const;
  // Outside run: on all replicas; an on_read variable reads as `value` afterwards. Inside, on_read: this replica's copy; on_write: every
  // replica must call it, and all get the aggregated value.
  void assign(const Array& value);
  void assign_add(const Array& delta);

  const std::string& name() const&;
  std::string name() && { return std::as_const(*this).name(); }
  PerReplica<Array> copies() const;  // outside run

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
