// Losses, with Keras' names and behaviour.
#pragma once

#include <string>

#include "lockstep/handle.h"

namespace lockstep {

class LossImpl;

// A name stands for one with its defaults.
class Loss : public Handle<LossImpl> {
 public:
  Loss(const char* name) : Loss(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  Loss(const std::string& name);                       // NOLINT(google-explicit-constructor): "sparse_categorical_crossentropy"

  std::string name() const;

 protected:
  explicit Loss(std::shared_ptr<LossImpl> impl) : Handle(std::move(impl)) {}
};

// Integer labels against scores for each class: the mean over the global batch of -log p(label).
class SparseCategoricalCrossentropy : public Loss {
 public:
  SparseCategoricalCrossentropy();
  // The model ends in scores, not in probabilities. On a model that ends in a softmax this warns once and, as Keras does,
  // takes the scores behind it.
  SparseCategoricalCrossentropy from_logits(bool yes = true) const;
};

// Targets as wide as the output (one-hot, float32): the mean over the global batch of -sum t log p.
class CategoricalCrossentropy : public Loss {
 public:
  CategoricalCrossentropy();
  CategoricalCrossentropy from_logits(bool yes = true) const;  // as above
};

// Targets between 0 and 1 (float32), shaped as the output; the mean over a sample's outputs, then over the global batch.
class BinaryCrossentropy : public Loss {
 public:
  BinaryCrossentropy();
  BinaryCrossentropy from_logits(bool yes = true) const;  // outputs are scores x that stand for 1 / (1 + exp(-x))
};

class MeanSquaredError : public Loss {
 public:
  MeanSquaredError();
};

}  // namespace lockstep
