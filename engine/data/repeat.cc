// Dataset::repeat: several epochs one after the other, as one. A shuffle before it draws another order in each round.
#include <string>
#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

template <typename T>
class Repeated : public ElementStream<T> {
 public:
  using Round = std::unique_ptr<ElementStream<T>>;
  Repeated(std::function<Round(std::int64_t)> start, std::int64_t rounds) : start_(std::move(start)), rounds_(rounds) {}

  bool next(T& element) override {
    while (rounds_ < 0 || round_ < rounds_) {
      const bool fresh = !current_;
      if (fresh) current_ = start_(round_);
      if (current_->next(element)) return true;
      if (fresh && rounds_ < 0) return false;  // nothing to repeat without end
      current_.reset();
      ++round_;
    }
    return false;
  }

 private:
  std::function<Round(std::int64_t)> start_;
  std::int64_t rounds_;
  std::int64_t round_ = 0;
  Round current_;
};

class Repeat : public OrderingStep {
 public:
  Repeat(DatasetPtr input, std::int64_t count) : OrderingStep(std::move(input)), count_(count) {}

  std::int64_t cardinality() const override {
    const std::int64_t once = input().cardinality();
    if (count_ == 0 || once == 0) return 0;
    return once < 0 || count_ < 0 ? -1 : once * count_;
  }
  std::unique_ptr<RowStream> row_stream(std::int64_t epoch) const override {
    return std::make_unique<Repeated<std::int64_t>>(
        [this, epoch](std::int64_t round) { return input().row_stream(inner_epoch(epoch, round)); }, count_);
  }

 protected:
  std::unique_ptr<BatchStream> ordered(std::int64_t epoch) const override {
    return std::make_unique<Repeated<Batch>>([this, epoch](std::int64_t round) { return input().batch_stream(inner_epoch(epoch, round)); },
                                             count_);
  }

 private:
  // Rounds are numbered on across epochs, so that no two of them share an order.
  std::int64_t inner_epoch(std::int64_t epoch, std::int64_t round) const { return (count_ < 0 ? epoch : epoch * count_) + round; }

  std::int64_t count_;
};

}  // namespace

DatasetPtr make_repeat(DatasetPtr input, std::int64_t count) { return std::make_shared<Repeat>(std::move(input), count); }

}  // namespace lockstep
