// Dataset::take: the first elements of each epoch.
#include <algorithm>
#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

template <typename T>
class Taken : public ElementStream<T> {
 public:
  Taken(std::unique_ptr<ElementStream<T>> input, std::int64_t elements) : input_(std::move(input)), left_(elements) {}
  bool next(T& element) override {
    if (left_ == 0) return false;
    --left_;
    return input_->next(element);
  }

 private:
  std::unique_ptr<ElementStream<T>> input_;
  std::int64_t left_;
};

class Take : public OrderingStep {
 public:
  Take(DatasetPtr input, std::int64_t elements) : OrderingStep(std::move(input)), elements_(elements) {}

  std::int64_t cardinality() const override {
    const std::int64_t all = input().cardinality();
    return all < 0 ? elements_ : std::min(all, elements_);
  }
  std::unique_ptr<RowStream> row_stream(std::int64_t epoch) const override {
    return std::make_unique<Taken<std::int64_t>>(input().row_stream(epoch), elements_);
  }

 protected:
  std::unique_ptr<BatchStream> ordered(std::int64_t epoch) const override {
    return std::make_unique<Taken<Batch>>(input().batch_stream(epoch), elements_);
  }

 private:
  std::int64_t elements_;
};

}  // namespace

DatasetPtr make_take(DatasetPtr input, std::int64_t elements) {
  if (elements < 0) return input;
  return std::make_shared<Take>(std::move(input), elements);
}

}  // namespace lockstep
