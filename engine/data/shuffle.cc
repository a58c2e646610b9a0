// Dataset::shuffle: tf.data's streaming shuffle. A buffer is filled with the first elements; each draw hands out one of them, chosen
// uniformly, and the next element of the input takes its place. At the end of the input the buffer just empties, which makes
// a buffer of n or more elements a Fisher-Yates shuffle.
#include <string>
#include <utility>
#include <vector>

#include "engine/data/dataset_impl.h"
#include "engine/data/splitmix.h"

namespace lockstep {
namespace {

template <typename T>
class Shuffled : public ElementStream<T> {
 public:
  Shuffled(std::unique_ptr<ElementStream<T>> input, std::size_t capacity, std::uint64_t seed, std::int64_t epoch)
      : input_(std::move(input)), capacity_(capacity), random_(seed, static_cast<std::uint64_t>(epoch)) {}

  bool next(T& element) override {
    T incoming;
    while (!dry_ && buffer_.size() < capacity_) {
      if (input_->next(incoming)) {
        buffer_.push_back(std::move(incoming));
      } else {
        dry_ = true;
      }
    }
    if (buffer_.empty()) return false;
    T& chosen = buffer_[random_.below(buffer_.size())];
    element = std::move(chosen);
    if (&chosen != &buffer_.back()) chosen = std::move(buffer_.back());
    buffer_.pop_back();
    return true;
  }

 private:
  std::unique_ptr<ElementStream<T>> input_;
  std::size_t capacity_;
  SplitMix64 random_;
  std::vector<T> buffer_;
  bool dry_ = false;
};

class Shuffle : public OrderingStep {
 public:
  Shuffle(DatasetPtr input, std::int64_t buffer, std::uint64_t seed)
      : OrderingStep(std::move(input)), capacity_(static_cast<std::size_t>(buffer)), seed_(seed) {}

  std::unique_ptr<RowStream> row_stream(std::int64_t epoch) const override {
    return std::make_unique<Shuffled<std::int64_t>>(input().row_stream(epoch), capacity_, seed_, epoch);
  }

 protected:
  std::unique_ptr<BatchStream> ordered(std::int64_t epoch) const override {
    return std::make_unique<Shuffled<Batch>>(input().batch_stream(epoch), capacity_, seed_, epoch);
  }

 private:
  std::size_t capacity_;
  std::uint64_t seed_;
};

}  // namespace

DatasetPtr make_shuffle(DatasetPtr input, std::int64_t buffer, std::uint64_t seed) {
  if (buffer < 1) throw Error("Dataset::shuffle: a buffer of " + std::to_string(buffer) + " elements; it needs at least 1");
  return std::make_shared<Shuffle>(std::move(input), buffer, seed);
}

}  // namespace lockstep
