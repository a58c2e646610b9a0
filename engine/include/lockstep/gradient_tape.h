// One replica's forward and backward pass, for custom training loops.
#pragma once

#include <cstdint>

#include "lockstep/array.h"
#include "lockstep/model.h"

namespace lockstep {

// Inside Strategy::run, on every replica once a step (also where its share of the batch is empty):
//
//   for (const PerReplica<Batch>& batch : strategy.distribute(data).epoch(epoch)) {
//     const PerReplica<double> losses = strategy.run(
//         [&](const Batch& share) {
//           GradientTape tape(model);
//           const Array scores = tape.forward(share.x);
//           return tape.backward(share.y, global_batch);
//         },
//         batch);
//     model.apply_gradients();  // all-reduce, update, barrier
//     mean.add(strategy.reduce(ReduceOp::sum, losses));
//   }
class GradientTape {
 public:
  explicit GradientTape(Model model);  // of the replica whose function this is; outside run, of a model on one replica

  Array forward(const Array& x);  // in training mode: dropout drops, batch normalisation uses this batch
  // The gradients of sum(loss of each sample) / global batch, with the loss the model was compiled with; returns that number. Adding up
  // all replicas' numbers gives the mean loss over the global batch.
  double backward(const Array& y, std::int64_t global_batch_size);

 private:
  Model model_;
  int replica_ = 0;
};

}  // namespace lockstep
