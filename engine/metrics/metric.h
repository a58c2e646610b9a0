// Metrics: sums kept on each replica's GPU; the mean over all replicas is taken when it is asked for.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/program.h"
#include "engine/ops/op_context.h"

namespace lockstep {

class MetricImpl {
 public:
  virtual ~MetricImpl() = default;
  virtual std::string name() const = 0;  // "accuracy"
  // Keras' class and its arguments beside the name, for files. No class: the name says all.
  virtual std::string class_name() const { return {}; }
  virtual std::vector<std::pair<std::string, double>> arguments() const { return {}; }
  // Adds this batch to sums[slot], sample by sample times its weight where weights are defined. The value shown is the total over
  // replicas divided by the number of samples, or by the sum of the weights.
  virtual void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
                   int slot) const = 0;
};

std::shared_ptr<MetricImpl> make_metric(const std::string& name);  // "accuracy"; an unknown name is an Error with the known ones

}  // namespace lockstep
