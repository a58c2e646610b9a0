// Everything that runs a model without an epoch: evaluate, predict, single batches.
#include <algorithm>
#include <cstring>

#include "engine/distribute/strategy/strategy_impl.h"
#include "engine/train/interrupt.h"
#include "engine/train/model_impl.h"
#include "lockstep/model.h"

namespace lockstep {

std::map<std::string, double> Model::evaluate(const Dataset& data) {
  require_own_scope(impl_->strategy, "evaluate");
  impl_->require_compiled("evaluate");
  if (data.batch_size() == 0) throw Error("evaluate: the data set is not batched; add .batch(n)");
  impl_->build(data.sample_shape());
  impl_->step->clear_totals();
  const auto batches = data.iterate(0);
  Batch batch;
  while (batches->next(batch)) {
    stop_if_interrupted("evaluate");
    impl_->step->evaluate(batch.x, batch.y, batch.w);
  }
  return impl_->logs();
}

std::map<std::string, double> Model::evaluate(const Array& x, const Array& y, std::int64_t batch_size, const Array& sample_weight) {
  return evaluate(Dataset::from_arrays(x, y, sample_weight).batch(batch_size));
}

Array Model::predict(const Array& x, std::int64_t batch_size) {
  require_own_scope(impl_->strategy, "predict");
  if (batch_size < 1) throw Error("predict: batch_size must be at least 1");
  if (x.shape().rank() < 1) throw Error("predict: the input is empty: an array of samples is wanted");
  impl_->build(x.shape().sample());
  Array outputs(impl_->graph->output().batched(x.samples()));
  const std::int64_t columns = impl_->graph->output().size();
  for (std::int64_t first = 0; first < x.samples(); first += batch_size) {
    stop_if_interrupted("predict");
    const Array part = impl_->step->predict(x.slice(first, std::min(batch_size, x.samples() - first)));
    std::memcpy(outputs.data<float>() + first * columns, part.raw(), part.bytes());
  }
  return outputs;
}

std::map<std::string, double> Model::train_on_batch(const Array& x, const Array& y, const Array& sample_weight) {
  require_own_scope(impl_->strategy, "train_on_batch");
  impl_->require_compiled("train_on_batch");
  if (x.shape().rank() < 1) throw Error("train_on_batch: the input is empty: an array of samples is wanted");
  impl_->build(x.shape().sample());
  impl_->require_trainable("train_on_batch");
  impl_->step->clear_totals();
  impl_->fresh = false;
  impl_->step->train(x, y, sample_weight);
  return impl_->logs();
}

std::map<std::string, double> Model::test_on_batch(const Array& x, const Array& y, const Array& sample_weight) {
  return evaluate(x, y, std::max<std::int64_t>(1, x.samples()), sample_weight);
}

}  // namespace lockstep
