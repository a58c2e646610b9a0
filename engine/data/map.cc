// Dataset::map: a function of the program's own on every element. A `prefetch` behind it runs it on the prefetching thread.
#include <mutex>
#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

class Mapped : public BatchStream {
 public:
  Mapped(std::unique_ptr<BatchStream> input, const std::function<Batch(Batch)>& function)
      : input_(std::move(input)), function_(&function) {}
  bool next(Batch& batch) override {
    Batch incoming;
    if (!input_->next(incoming)) return false;
    batch = (*function_)(std::move(incoming));
    return true;
  }

 private:
  std::unique_ptr<BatchStream> input_;
  const std::function<Batch(Batch)>* function_;
};

class Map : public DatasetStep {
 public:
  Map(DatasetPtr input, std::function<Batch(Batch)> function) : DatasetStep(std::move(input)), function_(std::move(function)) {}

  // Only the function knows: it is tried once, on the first element.
  Shape sample_shape() const override {
    std::call_once(tried_, [this] {
      Batch first;
      if (!batch_stream(0)->next(first)) {
        shape_ = input().sample_shape();
      } else {
        shape_ = batch_size() > 0 ? first.x.shape().sample() : first.x.shape();
      }
    });
    return shape_;
  }
  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const override {
    return std::make_unique<Mapped>(input().batch_stream(epoch), function_);
  }

 private:
  std::function<Batch(Batch)> function_;
  mutable std::once_flag tried_;
  mutable Shape shape_;
};

}  // namespace

DatasetPtr make_map(DatasetPtr input, std::function<Batch(Batch)> function) {
  if (!function) throw Error("Dataset::map: the function is empty");
  return std::make_shared<Map>(std::move(input), std::move(function));
}

}  // namespace lockstep
