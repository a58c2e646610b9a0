// Streams of (sample, label) pairs, in the manner of tf.data: lazily shuffled, batched, repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/array.h"

namespace lockstep {

// A batch, or a sample when nothing was batched: x and y have the same number of samples.
struct Batch {
  Array x;
  Array y;
};

// A handle on a recipe; running it twice gives the same elements unless `shuffle` reshuffles (as tf.data does, each epoch).
class Dataset {
 public:
  static Dataset from_arrays(Array x, Array y);

  Dataset shuffle(std::int64_t buffer, std::uint64_t seed = 0) const;  // another order each epoch, from (seed, epoch) alone
  Dataset batch(std::int64_t samples, bool drop_remainder = false) const;
  Dataset take(std::int64_t elements) const;

  // Elements of one epoch (batches, once batched); -1 when not known beforehand.
  std::int64_t cardinality() const;
  std::int64_t batch_size() const;  // 0 when not batched
  Shape sample_shape() const;       // of x, without the batch

  class Iterator {
   public:
    virtual ~Iterator() = default;
    virtual bool next(Batch& batch) = 0;
  };
  std::unique_ptr<Iterator> iterate(std::int64_t epoch = 0) const;

  struct Impl;

 private:
  explicit Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The four IDX files (gz or not), found under LOCKSTEP_DATA, ./data, ~/.keras/datasets (also as mnist.npz), else downloaded
// with a checksum, else digits this program draws itself. Images are scaled to [0, 1], shape (n, 28, 28, 1).
struct Mnist {
  Array x_train, y_train, x_test, y_test;
  std::string source;      // a sentence: where they came from
  bool drawn = false;      // nothing was found: drawn by this program
};
struct DataOptions {
  bool allow_download = true;
  std::string directory;   // looked into first when not empty
};
Mnist load_mnist(const DataOptions& options = {});

}  // namespace lockstep
