#include "lockstep/gradient_tape.h"

#include "engine/distribute/strategy/strategy_impl.h"
#include "engine/train/model_impl.h"

namespace lockstep {

GradientTape::GradientTape(Model model) : model_(std::move(model)) {
  const int replicas = model_.strategy().num_replicas_in_sync();
  if (const ReplicaContext* context = ReplicaContext::current()) {
    if (context->strategy() != model_.strategy().impl().get()) {
      throw Error("GradientTape: the model was made outside this scope. Fix: make it inside the scope of the strategy that runs it");
    }
    replica_ = context->replica_id_in_sync_group();
  } else if (replicas > 1) {
    throw Error("GradientTape: the model has " + std::to_string(replicas) +
                " replicas; make the tape inside strategy.run(...), where each replica has its own");
  }
}

Array GradientTape::forward(const Array& x) { return model_.impl()->step_for("GradientTape").forward(replica_, x); }
double GradientTape::backward(const Array& y, std::int64_t global_batch_size) {
  return model_.impl()->step_for("GradientTape").backward(replica_, y, global_batch_size);
}

TrainingStep& Model::Impl::step_for(const char* what) const {
  require_built(what);
  require_compiled(what);
  return *step;
}

void Model::apply_gradients() {
  require_own_scope(impl_->strategy, "apply_gradients");
  impl_->step_for("apply_gradients").apply_gradients();
}

}  // namespace lockstep
