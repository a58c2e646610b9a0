// What stands behind a Dataset: a chain of steps, each holding the one before it. A step makes a fresh stream for each epoch.
//
// Steps that only choose and order elements (shuffle, take, repeat, cache) pass on row numbers as long as the elements are still rows
// of what it all began with, arrays or files; samples are copied or decoded once, when a batch gathers its rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

template <typename T>
class ElementStream {
 public:
  ElementStream() = default;
  virtual ~ElementStream() = default;
  ElementStream(const ElementStream&) = delete;
  ElementStream& operator=(const ElementStream&) = delete;

  virtual bool next(T& element) = 0;
};
using RowStream = ElementStream<std::int64_t>;
using BatchStream = ElementStream<Batch>;

// Samples by number: rows of arrays in memory, or files that are read when they are asked for. Called by one thread at a time.
class Rows {
 public:
  Rows() = default;
  virtual ~Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  virtual std::int64_t count() const = 0;
  virtual Shape sample_shape() const = 0;
  // Side by side, in that order. Rows that turn out to be unreadable are left out.
  virtual Batch gather(const std::vector<std::int64_t>& rows) const = 0;
  // Reading one takes time, and several at once take less each: `cache` keeps what was read.
  virtual bool costly() const { return false; }
};

struct Dataset::Impl {
  Impl() = default;
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  virtual std::int64_t cardinality() const = 0;
  virtual std::int64_t batch_size() const = 0;
  virtual Shape sample_shape() const = 0;
  // The samples that are the elements, by number, or null when elements are made in another way.
  virtual const Rows* rows() const { return nullptr; }
  virtual std::unique_ptr<RowStream> row_stream(std::int64_t epoch) const;  // only where rows() is not null
  virtual std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const = 0;
};

// A step that has another before it and, unless it says otherwise, elements like those.
class DatasetStep : public Dataset::Impl {
 public:
  explicit DatasetStep(std::shared_ptr<const Dataset::Impl> input) : input_(std::move(input)) {}

  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::int64_t batch_size() const override { return input_->batch_size(); }
  Shape sample_shape() const override { return input_->sample_shape(); }

 protected:
  const Dataset::Impl& input() const { return *input_; }

 private:
  std::shared_ptr<const Dataset::Impl> input_;
};

// A step that only chooses and orders elements, the same way whatever they are: rows stay rows.
class OrderingStep : public DatasetStep {
 public:
  using DatasetStep::DatasetStep;

  const Rows* rows() const override { return input().rows(); }
  std::unique_ptr<BatchStream> batch_stream(std::int64_t epoch) const final;

 protected:
  virtual std::unique_ptr<BatchStream> ordered(std::int64_t epoch) const = 0;  // over the input's batch_stream
};

std::unique_ptr<BatchStream> samples_of(const Rows& rows, std::unique_ptr<RowStream> order);
std::unique_ptr<RowStream> count_up_to(std::int64_t rows);
// Sample k of a batch, copied: x and y without the batch's extent.
Batch sample_of(const Batch& batch, std::int64_t k);

using DatasetPtr = std::shared_ptr<const Dataset::Impl>;
DatasetPtr make_arrays(Array x, Array y, Array w);
DatasetPtr make_source(std::shared_ptr<const Rows> rows);
DatasetPtr make_shuffle(DatasetPtr input, std::int64_t buffer, std::uint64_t seed);
DatasetPtr make_batch(DatasetPtr input, std::int64_t samples, bool drop_remainder);
DatasetPtr make_take(DatasetPtr input, std::int64_t elements);
DatasetPtr make_repeat(DatasetPtr input, std::int64_t count);
DatasetPtr make_map(DatasetPtr input, std::function<Batch(Batch)> function);
DatasetPtr make_cache(DatasetPtr input);
DatasetPtr make_file_cache(DatasetPtr input, const std::string& filename);
DatasetPtr make_prefetch(DatasetPtr input, std::int64_t elements);

}  // namespace lockstep
