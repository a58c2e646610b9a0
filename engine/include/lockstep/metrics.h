// Metrics, with Keras' names: compile(..., {"accuracy", SparseTopKCategoricalAccuracy(5)}).
#pragma once

#include <string>
#include <utility>

#include "lockstep/handle.h"

namespace lockstep {

class MetricImpl;

// A name stands for one with its defaults, and is the name it is shown under.
class Metric : public Handle<MetricImpl> {
 public:
  Metric(const char* name) : Metric(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  Metric(const std::string& name);                         // NOLINT(google-explicit-constructor): "accuracy"

  std::string name() const;

 protected:
  explicit Metric(std::shared_ptr<MetricImpl> impl) : Handle(std::move(impl)) {}
};

// "accuracy" means what fits the labels, as in Keras: integers, SparseCategoricalAccuracy; one number for one output, BinaryAccuracy;
// as many numbers as outputs, CategoricalAccuracy.

// The share of samples whose largest score, the first one on a tie, is at the label.
class SparseCategoricalAccuracy : public Metric {
 public:
  explicit SparseCategoricalAccuracy(const std::string& name = "sparse_categorical_accuracy");
};

// The share of samples where fewer than k scores are above the label's.
class SparseTopKCategoricalAccuracy : public Metric {
 public:
  explicit SparseTopKCategoricalAccuracy(int k = 5, const std::string& name = "sparse_top_k_categorical_accuracy");
};

// The share of samples whose largest score stands where the largest target does.
class CategoricalAccuracy : public Metric {
 public:
  explicit CategoricalAccuracy(const std::string& name = "categorical_accuracy");
};

// The share of outputs that are above the threshold where the target is 1, and not above it where it is 0.
class BinaryAccuracy : public Metric {
 public:
  explicit BinaryAccuracy(float threshold = 0.5F, const std::string& name = "binary_accuracy");
};

// The mean of numbers a program gives it, perhaps weighted: for loops of one's own.
//   Mean loss("loss"); loss.update_state(logs.at("loss"), samples); loss.result();
class Mean {
 public:
  explicit Mean(std::string name = "mean") : name_(std::move(name)) {}
  const std::string& name() const& { return name_; }
  std::string name() && { return std::move(name_); }
  void update_state(double value, double sample_weight = 1) { total_ += value * sample_weight, count_ += sample_weight; }
  double result() const { return count_ != 0 ? total_ / count_ : 0; }  // 0 before the first value, as Keras says
  void reset_state() { total_ = count_ = 0; }

 private:
  std::string name_;
  double total_ = 0, count_ = 0;
};

}  // namespace lockstep
