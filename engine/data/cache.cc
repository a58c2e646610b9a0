// Dataset::cache: the elements of the first run that reaches its end are kept and played back afterwards. What is kept is
// epoch 0 of the steps before it, whichever epoch asks first, so that a run depends on the epoch's number alone.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dataset_impl.h"

namespace lockstep {
namespace {

// Elements handed out may be written to (by a map, say): what is kept must not change with them.
std::int64_t copy_of(std::int64_t row) { return row; }
Batch copy_of(const Batch& batch) { return {batch.x.clone(), batch.y.clone()}; }

template <typename T>
class Store {
 public:
  std::shared_ptr<const std::vector<T>> get() const {
    const std::lock_guard lock(mutex_);
    return elements_;
  }
  void put(std::vector<T> elements) {
    const std::lock_guard lock(mutex_);
    if (!elements_) elements_ = std::make_shared<const std::vector<T>>(std::move(elements));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<T>> elements_;
};

template <typename T>
class Recording : public ElementStream<T> {
 public:
  Recording(std::unique_ptr<ElementStream<T>> input, Store<T>& store) : input_(std::move(input)), store_(&store) {}
  bool next(T& element) override {
    if (done_) return false;
    if (input_->next(element)) {
      elements_.push_back(copy_of(element));
      return true;
    }
    done_ = true;
    store_->put(std::move(elements_));
    return false;
  }

 private:
  std::unique_ptr<ElementStream<T>> input_;
  Store<T>* store_;
  std::vector<T> elements_;
  bool done_ = false;
};

template <typename T>
class Playback : public ElementStream<T> {
 public:
  explicit Playback(std::shared_ptr<const std::vector<T>> elements) : elements_(std::move(elements)) {}
  bool next(T& element) override {
    if (position_ == elements_->size()) return false;
    element = copy_of((*elements_)[position_++]);
    return true;
  }

 private:
  std::shared_ptr<const std::vector<T>> elements_;
  std::size_t position_ = 0;
};

class Cache : public OrderingStep {
 public:
  using OrderingStep::OrderingStep;

  std::unique_ptr<RowStream> row_stream(std::int64_t) const override {
    if (auto kept = rows_kept_.get()) return std::make_unique<Playback<std::int64_t>>(std::move(kept));
    return std::make_unique<Recording<std::int64_t>>(input().row_stream(0), rows_kept_);
  }

 protected:
  std::unique_ptr<BatchStream> ordered(std::int64_t) const override {
    if (auto kept = batches_kept_.get()) return std::make_unique<Playback<Batch>>(std::move(kept));
    return std::make_unique<Recording<Batch>>(input().batch_stream(0), batches_kept_);
  }

 private:
  mutable Store<std::int64_t> rows_kept_;
  mutable Store<Batch> batches_kept_;
};

}  // namespace

DatasetPtr make_cache(DatasetPtr input) {
  if (input->cardinality() < 0) throw Error("Dataset::cache: this dataset repeats without end; cache it before `repeat`, or `take` a part");
  return std::make_shared<Cache>(std::move(input));
}

}  // namespace lockstep
