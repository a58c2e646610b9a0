// Wrong: every batch counts the same, however small.
// Says: the mean over the 70 samples is
#pragma once

#include "given.h"

namespace lesson {

inline double train_step(Trainer& trainer, const float* x, const std::int32_t* y, std::int64_t samples, float learning_rate) {
  const std::vector<Range> shards = trainer.cut_batch(samples);
  for (int r = 0; r < trainer.replicas(); ++r) {
    const Range shard = shards[static_cast<std::size_t>(r)];
    trainer.send(r, x, y, shard);
    trainer.local_gradients(r, shard, samples);
  }
  trainer.all_reduce();
  for (int r = 0; r < trainer.replicas(); ++r) trainer.update(r, learning_rate);
  trainer.barrier();
  double loss = 0;
  for (int r = 0; r < trainer.replicas(); ++r) loss += trainer.loss(r);
  return loss;
}

inline std::vector<double> train(Trainer& trainer, const float* x, const std::int32_t* y, std::int64_t samples, std::int64_t batch,
                                 int epochs, float learning_rate) {
  trainer.replicate();
  std::vector<double> losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double sum = 0;
    for (std::int64_t first = 0; first < samples; first += batch) {
      const std::int64_t count = std::min(batch, samples - first);
      sum += train_step(trainer, x + first * kPixels, y + first, count, learning_rate);
    }
    losses.push_back(sum / std::ceil(static_cast<double>(samples) / static_cast<double>(batch)));
  }
  return losses;
}

}  // namespace lesson
