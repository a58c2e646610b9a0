// What a model is compiled with, as the step uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/losses/loss.h"
#include "engine/metrics/metric.h"
#include "engine/optim/optimizer.h"

namespace lockstep {

struct Compiled {
  std::shared_ptr<LossImpl> loss;
  std::shared_ptr<OptimizerImpl> optimizer;
  std::vector<std::shared_ptr<MetricImpl>> metrics;
  std::size_t first_weighted = 0;  // metrics from here on see the samples' weights

  int accumulation() const { return optimizer ? optimizer->accumulation_steps() : 1; }
};

}  // namespace lockstep
