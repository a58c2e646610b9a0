// Dataset::batch: consecutive elements side by side in one array, the last batch smaller unless it is dropped.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

class GatheredBatches : public BatchStream {
 public:
  GatheredBatches(const Rows& rows, std::unique_ptr<RowStream> order, std::int64_t samples, bool drop_remainder)
      : rows_(&rows), order_(std::move(order)), samples_(static_cast<std::size_t>(samples)), drop_remainder_(drop_remainder) {}

  bool next(Batch& batch) override {
    do {
      chosen_.clear();
      std::int64_t row = 0;
      while (chosen_.size() < samples_ && order_->next(row)) chosen_.push_back(row);
      if (chosen_.empty() || (drop_remainder_ && chosen_.size() < samples_)) return false;
      batch = rows_->gather(chosen_);
    } while (batch.x.samples() == 0);  // all unreadable: on to the next
    return true;
  }

 private:
  const Rows* rows_;
  std::unique_ptr<RowStream> order_;
  std::size_t samples_;
  bool drop_remainder_;
  std::vector<std::int64_t> chosen_;
};

// Samples that are not rows any more (mapped, say): copied side by side.
class StackedBatches : public BatchStream {
 public:
  StackedBatches(std::unique_ptr<BatchStream> input, std::int64_t samples, bool drop_remainder)
      : input_(std::move(input)), samples_(static_cast<std::size_t>(samples)), drop_remainder_(drop_remainder) {}

  bool next(Batch& batch) override {
    std::vector<Batch> parts;
    Batch part;
    while (parts.size() < samples_ && input_->next(part)) parts.push_back(std::move(part));
    if (parts.empty() || (drop_remainder_ && parts.size() < samples_)) return false;
    batch = {stack(parts, &Batch::x), stack(parts, &Batch::y), stack(parts, &Batch::w)};
    return true;
  }

 private:
  static Array stack(const std::vector<Batch>& parts, Array Batch::*member) {
    const Array& first = parts.front().*member;
    if (first.raw() == nullptr) return {};  // no labels, or no weights
    Array stacked(first.shape().batched(static_cast<std::int64_t>(parts.size())), first.dtype());
    auto* to = static_cast<unsigned char*>(stacked.raw());
    for (const Batch& part : parts) {
      const Array& array = part.*member;
      if (array.shape() != first.shape() || array.dtype() != first.dtype() || array.bytes() != first.bytes()) {
        throw Error("Dataset::batch: samples of shapes " + first.shape().str() + " and " + array.shape().str() +
                    " (or of different types) can't share a batch; map them to one shape first");
      }
      std::memcpy(to, array.raw(), array.bytes());
      to += array.bytes();
    }
    return stacked;
  }

  std::unique_ptr<BatchStream> input_;
  std::size_t samples_;
  bool drop_remainder_;
};

class Batches : public DatasetStep {
 public:
  Batches(DatasetPtr input, std::int64_t samples, bool drop_remainder)
      : DatasetStep(std::move(input)), samples_(samples), drop_remainder_(drop_remainder) {}

  std::int64_t cardinality() const override {
    const std::int64_t elements = input().cardinality();
    if (elements < 0) return elements;
    return elements / samples_ + (!drop_remainder_ && elements % samples_ != 0 ? 1 : 0);
  }
  std::int64_t batch_size() const override { return samples_; }
  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const override {
    if (const Rows* rows = input().rows()) {
      return std::make_unique<GatheredBatches>(*rows, input().row_stream(epoch), samples_, drop_remainder_);
    }
    return std::make_unique<StackedBatches>(input().batch_stream(epoch), samples_, drop_remainder_);
  }

 private:
  std::int64_t samples_;
  bool drop_remainder_;
};

}  // namespace

DatasetPtr make_batch(DatasetPtr input, std::int64_t samples, bool drop_remainder) {
  if (samples < 1) throw Error("Dataset::batch: " + std::to_string(samples) + " samples a batch; it needs at least 1");
  if (input->batch_size() > 0) {
    throw Error("Dataset::batch: this dataset is in batches of " + std::to_string(input->batch_size()) + " already; batch it once");
  }
  return std::make_shared<Batches>(std::move(input), samples, drop_remainder);
}

}  // namespace lockstep
