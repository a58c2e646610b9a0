// Metrics by name, and the public handles of lockstep/metrics.h.
#include "engine/metrics/metric.h"

#include <utility>

#include "engine/ops/cross_entropy.h"
#include "engine/ops/dense_losses.h"
#include "engine/ops/top_k.h"
#include "lockstep/error.h"
#include "lockstep/metrics.h"

namespace lockstep {
namespace {

class NamedMetric : public MetricImpl {
 public:
  explicit NamedMetric(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

// The share of samples whose largest output is at the label.
class SparseAccuracyImpl : public NamedMetric {
 public:
  using NamedMetric::NamedMetric;
  std::string class_name() const override { return "SparseCategoricalAccuracy"; }
  void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
           int slot) const override {
    ops::add_correct(context, program.output(), labels, weights, sums, slot);
  }
};

class SparseTopKImpl : public NamedMetric {
 public:
  SparseTopKImpl(int k, std::string name) : NamedMetric(std::move(name)), k_(k) {
    if (k < 1) throw Error("SparseTopKCategoricalAccuracy: k must be at least 1, not " + std::to_string(k));
  }
  std::string class_name() const override { return "SparseTopKCategoricalAccuracy"; }
  std::vector<std::pair<std::string, double>> arguments() const override { return {{"k", k_}}; }
  void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
           int slot) const override {
    ops::add_in_top_k(context, program.output(), labels, weights, k_, sums, slot);
  }

 private:
  int k_;
};

class CategoricalAccuracyImpl : public NamedMetric {
 public:
  using NamedMetric::NamedMetric;
  std::string class_name() const override { return "CategoricalAccuracy"; }
  void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
           int slot) const override {
    ops::add_categorical_correct(context, program.output(), labels, weights, sums, slot);
  }
};

class BinaryAccuracyImpl : public NamedMetric {
 public:
  BinaryAccuracyImpl(float threshold, std::string name) : NamedMetric(std::move(name)), threshold_(threshold) {}
  std::string class_name() const override { return "BinaryAccuracy"; }
  std::vector<std::pair<std::string, double>> arguments() const override { return {{"threshold", threshold_}}; }
  void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
           int slot) const override {
    ops::add_binary_correct(context, program.output(), labels, weights, threshold_, sums, slot);
  }

 private:
  float threshold_;
};

// What fits the labels, as Keras takes "accuracy".
class AccuracyImpl : public NamedMetric {
 public:
  using NamedMetric::NamedMetric;
  void add(const OpContext& context, const Program& program, const Tensor& labels, const Tensor& weights, double* sums,
           int slot) const override {
    const Tensor output = program.output();
    if (labels.dtype() == DType::int32)
      ops::add_correct(context, output, labels, weights, sums, slot);
    else if (output.size() == output.shape()[0])
      ops::add_binary_correct(context, output, labels, weights, 0.5F, sums, slot);
    else
      ops::add_categorical_correct(context, output, labels, weights, sums, slot);
  }
};

}  // namespace

// Keras shows a metric under the name it was asked for by.
std::shared_ptr<MetricImpl> make_metric(const std::string& name) {
  if (name == "accuracy" || name == "acc") return std::make_shared<AccuracyImpl>(name);
  if (name == "categorical_accuracy") return std::make_shared<CategoricalAccuracyImpl>(name);
  if (name == "binary_accuracy") return std::make_shared<BinaryAccuracyImpl>(0.5F, name);
  if (name == "sparse_categorical_accuracy") return std::make_shared<SparseAccuracyImpl>(name);
  if (name == "sparse_top_k_categorical_accuracy") return std::make_shared<SparseTopKImpl>(5, name);
  throw Error("There is no metric \"" + name +
              "\"; there are: accuracy, acc, sparse_categorical_accuracy, sparse_top_k_categorical_accuracy, "
              "categorical_accuracy, binary_accuracy");
}

Metric::Metric(const std::string& name) : Handle(make_metric(name)) {}
std::string Metric::name() const { return impl_->name(); }

SparseCategoricalAccuracy::SparseCategoricalAccuracy(const std::string& name) : Metric(std::make_shared<SparseAccuracyImpl>(name)) {}
CategoricalAccuracy::CategoricalAccuracy(const std::string& name) : Metric(std::make_shared<CategoricalAccuracyImpl>(name)) {}
BinaryAccuracy::BinaryAccuracy(float threshold, const std::string& name) : Metric(std::make_shared<BinaryAccuracyImpl>(threshold, name)) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(int k, const std::string& name)
    : Metric(std::make_shared<SparseTopKImpl>(k, name)) {}

}  // namespace lockstep
