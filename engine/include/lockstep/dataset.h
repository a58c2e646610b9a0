// Streams of samples with their labels and perhaps weights, in the manner of tf.data: lazily shuffled, batched, repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/array.h"

namespace lockstep {

// A batch, or a sample when nothing was batched. In a batch x and y have the same number of samples; a sample has no such
// extent: x is (28, 28, 1) and y a scalar, (). y is empty when the dataset was made without labels.
// w is empty unless samples have weights: float32, one number a sample.
struct Batch {
  Array x;
  Array y;
  Array w{};
};

// A handle on a recipe; running it twice gives the same elements unless `shuffle` reshuffles (as tf.data does, each epoch).
// Which elements an epoch has, and in which order, follows from the recipe and the epoch's number alone.
class Dataset {
 public:
  static Dataset from_arrays(Array x, Array y, Array sample_weight = {});

  // Draws from a buffer of that many elements which is refilled as it empties: a buffer as large as the dataset gives every
  // order the same chance, a smaller one moves no element forward by `buffer` places or more.
  Dataset shuffle(std::int64_t buffer, std::uint64_t seed = 0) const;  // another order each epoch, from (seed, epoch) alone
  Dataset batch(std::int64_t samples, bool drop_remainder = false) const;
  Dataset take(std::int64_t elements) const;      // negative: all of them
  Dataset repeat(std::int64_t count = -1) const;  // each round is another epoch of what is repeated; negative: without end
  Dataset map(std::function<Batch(Batch)> function) const;
  Dataset cache() const;  // keeps the elements of its first full run (always epoch 0's)
  // The same, kept in a file, which a later run finds: made whole at the first use, in one stroke or not at all. It belongs to this very
  // recipe; one of another shape or number of elements is an Error that asks for it to be removed.
  Dataset cache(const std::string& filename) const;
  Dataset prefetch(std::int64_t elements = -1) const;  // made ahead on a host thread, same order; negative: 2, zero: none

  // Elements of one epoch (batches, once batched); -1 when there is no end to them.
  std::int64_t cardinality() const;
  std::int64_t batch_size() const;  // 0 when not batched
  Shape sample_shape() const;       // of x, without the batch

  class Iterator {
   public:
    virtual ~Iterator() = default;
    virtual bool next(Batch& batch) = 0;
  };
  // May outlive the dataset; may be destroyed before its end.
  std::unique_ptr<Iterator> iterate(std::int64_t epoch = 0) const;

  struct Impl;
  static Dataset from_impl(std::shared_ptr<const Impl> impl);  // for sources inside the library

 private:
  explicit Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The four IDX files (gz or not), found under LOCKSTEP_DATA, ./data, ~/.keras/datasets (also as mnist.npz), else downloaded
// with a checksum, else digits this program draws itself. Images are scaled to [0, 1], shape (n, 28, 28, 1).
// A damaged file found on the way is an error that names it. LOCKSTEP_OFFLINE=1 keeps it from the network.
struct Mnist {
  Array x_train, y_train, x_test, y_test;
  std::string source;  // a sentence: where they came from
  bool drawn = false;  // nothing was found: drawn by this program
};
struct DataOptions {
  bool allow_download = true;
  std::string directory;             // looked into first when not empty
  std::int64_t drawn_train = 60000;  // how many digits to draw when it comes to that
  std::int64_t drawn_test = 10000;
};
Mnist load_mnist(const DataOptions& options = {});

}  // namespace lockstep
