#include "metric.h"

#include <utility>

#include "cross_entropy.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The share of samples whose largest output is at the label.
class SparseCategoricalAccuracy : public MetricImpl {
 public:
  explicit SparseCategoricalAccuracy(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void add(const OpContext& context, const Program& program, const Tensor& labels, double* sums, int slot) const override {
    ops::add_correct(context, program.output(), labels, sums, slot);
  }

 private:
  std::string name_;
};

}  // namespace

// Keras shows a metric under the name it was asked for by.
std::shared_ptr<MetricImpl> make_metric(const std::string& name) {
  if (name == "accuracy" || name == "acc" || name == "sparse_categorical_accuracy")
    return std::make_shared<SparseCategoricalAccuracy>(name);
  throw Error("There is no metric \"" + name + "\"; there are: accuracy, acc, sparse_categorical_accuracy");
}

}  // namespace lockstep
