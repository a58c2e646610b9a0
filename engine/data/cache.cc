// Dataset::cache: the elements of the first run that reaches its end are kept and played back afterwards. What is kept is
// epoch 0 of the steps before it, whichever epoch asks first, so that a run depends on the epoch's number alone.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

// Elements handed out may be written to (by a map, say): what is kept must not change with them.
std::int64_t copy_of(std::int64_t row) { return row; }
Batch copy_of(const Batch& batch) { return {batch.x.clone(), batch.y.clone(), batch.w.clone()}; }

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

// Costly samples, kept once they were read. Reading is for one thread at a time; those that were unreadable are known as such.
class KeptRows : public Rows {
 public:
  explicit KeptRows(const Rows& input) : input_(&input), kept_(static_cast<std::size_t>(input.count())) {}

  std::int64_t count() const override { return input_->count(); }
  Shape sample_shape() const override { return input_->sample_shape(); }
  Batch gather(const std::vector<std::int64_t>& rows) const override {
    const std::lock_guard lock(mutex_);
    for (const std::int64_t row : rows) read(row, rows);
    std::vector<const Batch*> found;
    for (const std::int64_t row : rows)
      if (const Batch& sample = *kept_[static_cast<std::size_t>(row)]; sample.x.samples() > 0) found.push_back(&sample);
    return {join(found, &Batch::x), join(found, &Batch::y)};
  }

 private:
  // All that are missing among `rows` at once, when `row` is; then one batch of one sample, or of none, for each.
  void read(std::int64_t row, const std::vector<std::int64_t>& rows) const {
    if (kept_[static_cast<std::size_t>(row)]) return;
    std::vector<std::int64_t> missing;
    for (const std::int64_t other : rows)
      if (!kept_[static_cast<std::size_t>(other)]) missing.push_back(other);
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    const Batch all = input_->gather(missing);
    const bool whole = all.x.samples() == static_cast<std::int64_t>(missing.size());
    for (std::size_t k = 0; k < missing.size(); ++k) {
      const auto first = static_cast<std::int64_t>(k);
      kept_[static_cast<std::size_t>(missing[k])] =
          whole ? Batch{all.x.slice(first, 1), all.y.shape().rank() > 0 ? all.y.slice(first, 1) : Array()} : input_->gather({missing[k]});
    }
  }

  static Array join(const std::vector<const Batch*>& parts, Array Batch::*member) {
    if (parts.empty() || (parts.front()->*member).shape().rank() == 0) return {};
    const Array& first = parts.front()->*member;
    Array joined(first.shape().sample().batched(static_cast<std::int64_t>(parts.size())), first.dtype());
    auto* to = static_cast<unsigned char*>(joined.raw());
    for (const Batch* part : parts) {
      const Array& from = part->*member;
      if (!from.empty()) std::memcpy(to, from.raw(), from.bytes());
      to += from.bytes();
    }
    return joined;
  }

  const Rows* input_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<Batch>> kept_;
};

class Cache : public OrderingStep {
 public:
  explicit Cache(DatasetPtr input) : OrderingStep(std::move(input)) {
    const Rows* rows = this->input().rows();
    if (rows != nullptr && rows->costly()) kept_.emplace(*rows);
  }

  const Rows* rows() const override { return kept_ ? &*kept_ : input().rows(); }

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
  std::optional<KeptRows> kept_;
  mutable Store<std::int64_t> rows_kept_;
  mutable Store<Batch> batches_kept_;
};

}  // namespace

DatasetPtr make_cache(DatasetPtr input) {
  if (input->cardinality() < 0) throw Error("Dataset::cache: this dataset repeats without end; cache it before `repeat`, or `take` a part");
  return std::make_shared<Cache>(std::move(input));
}

}  // namespace lockstep
