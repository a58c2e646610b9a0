// Batch normalisation along the last axis, with the ReLU behind it.
#pragma once

#include <limits>

#include "engine/ops/op_context.h"
#include "engine/ops/replica_group.h"

namespace lockstep::ops {

struct BatchNormSpec {
  float momentum = 0.99F;
  float epsilon = 1e-3F;
  // The ReLU that follows, as the range it holds values in; everything where there is none.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// The layer's variables; gamma and beta may be undefined.
struct BatchNormVariables {
  Tensor gamma, beta, moving_mean, moving_variance;
};

// Who shares the statistics of a batch: one replica alone, or the members of a group (synchronised batch normalisation).
struct BatchNormGroup {
  ReplicaGroup* replicas = nullptr;  // null: alone
  int member = 0;
  std::int64_t all_rows = 0;  // of all members
};

// Bytes of scratch that training's forward and backward need, and of what forward keeps for backward (inference needs that too).
std::size_t batch_norm_scratch(std::int64_t rows, std::int64_t columns);
std::size_t batch_norm_synchronized_scratch(std::int64_t rows, std::int64_t columns);
std::size_t batch_norm_saved(std::int64_t columns);

// With the batch's own statistics, which also go into the moving ones.
void batch_norm_training(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                         const Tensor& saved, const Tensor& y);
// With the statistics of the whole group's samples, to more digits: results hardly depend on how many replicas share the samples.
void batch_norm_synchronized(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                             const Tensor& saved, const Tensor& y, const BatchNormGroup& group);
// With the moving statistics. y may be x.
void batch_norm_inference(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                          const Tensor& saved, const Tensor& y);
// The gradients of gamma and beta, where they are defined; keeps the sums in scratch for batch_norm_input_gradient.
void batch_norm_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved, const Tensor& dy,
                         const Tensor& dgamma, const Tensor& dbeta);
// Comes after batch_norm_gradient with the same scratch. dx may be dy.
void batch_norm_input_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved, const Tensor& dy,
                               const Tensor& dx, const BatchNormGroup& group = {});
// The same where forward was batch_norm_inference: the statistics are constants, and there is nothing to come after. dx may be dy.
void batch_norm_frozen_input_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved,
                                      const Tensor& dy, const Tensor& dx);

}  // namespace lockstep::ops
