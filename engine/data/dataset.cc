// The public handle: each call puts one more step behind it.
#include "lockstep/dataset.h"

#include <utility>

#include "engine/data/dataset_impl.h"

namespace lockstep {
namespace {

// Keeps the recipe alive as long as it is being run: `data.shuffle(9).batch(4).iterate()` drops its handles at once.
class HoldingIterator : public Dataset::Iterator {
 public:
  HoldingIterator(DatasetPtr recipe, std::int64_t epoch) : recipe_(std::move(recipe)), stream_(recipe_->batch_stream(epoch)) {}
  bool next(Batch& batch) override { return stream_->next(batch); }

 private:
  DatasetPtr recipe_;  // destroyed after the stream that uses it
  std::unique_ptr<BatchStream> stream_;
};

}  // namespace

Dataset Dataset::from_impl(std::shared_ptr<const Impl> impl) { return Dataset(std::move(impl)); }
Dataset Dataset::from_arrays(Array x, Array y, Array sample_weight) {
  return Dataset(make_arrays(std::move(x), std::move(y), std::move(sample_weight)));
}
Dataset Dataset::shuffle(std::int64_t buffer, std::uint64_t seed) const { return Dataset(make_shuffle(impl_, buffer, seed)); }
Dataset Dataset::batch(std::int64_t samples, bool drop_remainder) const { return Dataset(make_batch(impl_, samples, drop_remainder)); }
Dataset Dataset::take(std::int64_t elements) const { return Dataset(make_take(impl_, elements)); }
Dataset Dataset::repeat(std::int64_t count) const { return Dataset(make_repeat(impl_, count)); }
Dataset Dataset::map(std::function<Batch(Batch)> function) const { return Dataset(make_map(impl_, std::move(function))); }
Dataset Dataset::cache() const { return Dataset(make_cache(impl_)); }
Dataset Dataset::cache(const std::string& filename) const { return Dataset(make_file_cache(impl_, filename)); }
Dataset Dataset::prefetch(std::int64_t elements) const { return Dataset(make_prefetch(impl_, elements)); }

std::int64_t Dataset::cardinality() const { return impl_->cardinality(); }
std::int64_t Dataset::batch_size() const { return impl_->batch_size(); }
Shape Dataset::sample_shape() const { return impl_->sample_shape(); }

std::unique_ptr<Dataset::Iterator> Dataset::iterate(std::int64_t epoch) const { return std::make_unique<HoldingIterator>(impl_, epoch); }

std::unique_ptr<RowStream> Dataset::Impl::row_stream(std::int64_t) const {
  throw Error("Dataset: row numbers were asked of a step whose elements are not rows of arrays");
}

std::unique_ptr<BatchStream> OrderingStep::batch_stream(std::int64_t epoch) const {
  return rows() ? samples_of(*rows(), row_stream(epoch)) : ordered(epoch);
}

}  // namespace lockstep
