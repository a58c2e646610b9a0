// Where datasets begin: samples by number, in order. Dataset::from_arrays has them in the rows of arrays.
#include <cstring>
#include <string>
#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

std::size_t row_bytes(const Array& array) { return static_cast<std::size_t>(array.shape().sample().size()) * size_of(array.dtype()); }

const unsigned char* row_of(const Array& array, std::int64_t row) {
  return static_cast<const unsigned char*>(array.raw()) + static_cast<std::size_t>(row) * row_bytes(array);
}

Array copy_row(const Array& array, std::int64_t row) {
  Array sample(array.shape().sample(), array.dtype());
  if (!sample.empty()) std::memcpy(sample.raw(), row_of(array, row), row_bytes(array));
  return sample;
}

Array gather_rows(const Array& array, const std::vector<std::int64_t>& rows) {
  Array batch(array.shape().sample().batched(static_cast<std::int64_t>(rows.size())), array.dtype());
  if (batch.empty()) return batch;
  const std::size_t bytes = row_bytes(array);
  auto* to = static_cast<unsigned char*>(batch.raw());
  for (const std::int64_t row : rows) {
    std::memcpy(to, row_of(array, row), bytes);
    to += bytes;
  }
  return batch;
}

class Counting : public RowStream {
 public:
  explicit Counting(std::int64_t count) : count_(count) {}
  bool next(std::int64_t& row) override {
    if (next_ == count_) return false;
    row = next_++;
    return true;
  }

 private:
  std::int64_t count_;
  std::int64_t next_ = 0;
};

// Costly rows are read some at a time, so that they can be read side by side.
class Samples : public BatchStream {
 public:
  Samples(const Rows& rows, std::unique_ptr<RowStream> order) : rows_(&rows), order_(std::move(order)), ahead_(rows.costly() ? 32 : 1) {}
  bool next(Batch& batch) override {
    while (position_ == batch_.x.samples()) {
      std::vector<std::int64_t> chosen;
      std::int64_t row = 0;
      while (chosen.size() < ahead_ && order_->next(row)) chosen.push_back(row);
      if (chosen.empty()) return false;
      batch_ = rows_->gather(chosen);
      position_ = 0;
    }
    batch = sample_of(batch_, position_++);
    return true;
  }

 private:
  const Rows* rows_;
  std::unique_ptr<RowStream> order_;
  std::size_t ahead_;
  Batch batch_;
  std::int64_t position_ = 0;
};

// Arrays with one sample a row.
class ArrayRows : public Rows {
 public:
  ArrayRows(Array x, Array y, Array w)
      : x_(std::move(x)), y_(std::move(y)), w_(std::move(w)), labelled_(y_.shape().rank() > 0), weighted_(w_.shape().rank() > 0) {
    if (x_.shape().rank() == 0) throw Error("Dataset: x has shape (), but its first extent must count the samples");
    if (!labelled_ && !y_.empty()) throw Error("Dataset: y has shape (), but its first extent must count the samples");
    if (labelled_ && x_.samples() != y_.samples()) {
      throw Error("Dataset: x has " + std::to_string(x_.samples()) + " samples and y " + std::to_string(y_.samples()) +
                  "; every sample needs its label");
    }
    if (weighted_ && (w_.shape() != Shape{x_.samples()} || w_.dtype() != DType::float32)) {
      throw Error("Dataset: weights are float32 numbers, one a sample, an array of shape (" + std::to_string(x_.samples()) +
                  ",); got shape " + w_.shape().str());
    }
  }
  std::int64_t count() const override { return x_.samples(); }
  Shape sample_shape() const override { return x_.shape().sample(); }
  Batch gather(const std::vector<std::int64_t>& rows) const override {
    return {gather_rows(x_, rows), labelled_ ? gather_rows(y_, rows) : Array(), weighted_ ? gather_rows(w_, rows) : Array()};
  }

 private:
  Array x_;
  Array y_;
  Array w_;
  bool labelled_;
  bool weighted_;
};

class RowSource : public Dataset::Impl {
 public:
  explicit RowSource(std::shared_ptr<const Rows> rows) : rows_(std::move(rows)) {}

  std::int64_t cardinality() const override { return rows_->count(); }
  std::int64_t batch_size() const override { return 0; }
  Shape sample_shape() const override { return rows_->sample_shape(); }
  const Rows* rows() const override { return rows_.get(); }
  std::unique_ptr<RowStream> row_stream(std::int64_t) const override { return count_up_to(rows_->count()); }
  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const override { return samples_of(*rows_, row_stream(epoch)); }

 private:
  std::shared_ptr<const Rows> rows_;
};

}  // namespace

std::unique_ptr<BatchStream> samples_of(const Rows& rows, std::unique_ptr<RowStream> order) {
  return std::make_unique<Samples>(rows, std::move(order));
}

std::unique_ptr<RowStream> count_up_to(std::int64_t rows) { return std::make_unique<Counting>(rows); }

Batch sample_of(const Batch& batch, std::int64_t k) {
  const auto row = [k](const Array& array) { return array.shape().rank() > 0 ? copy_row(array, k) : Array(); };
  return {row(batch.x), row(batch.y), row(batch.w)};
}

DatasetPtr make_source(std::shared_ptr<const Rows> rows) { return std::make_shared<RowSource>(std::move(rows)); }
DatasetPtr make_arrays(Array x, Array y, Array w) {
  return make_source(std::make_shared<ArrayRows>(std::move(x), std::move(y), std::move(w)));
}

}  // namespace lockstep
