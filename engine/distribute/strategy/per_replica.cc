// What a program does with one value a replica: add them up, put them together, cut a dataset into them.
#include "lockstep/per_replica.h"

#include <cstring>

#include "engine/tensor/shard.h"
#include "lockstep/error.h"
#include "lockstep/strategy.h"

namespace lockstep {
namespace {

template <typename T>
void require_all(const char* what, const PerReplica<T>& value, int replicas) {
  if (value.size() == replicas) return;
  throw Error(std::string(what) + ": " + std::to_string(value.size()) + " values were given for " + std::to_string(replicas) +
              " replicas.");
}

void require_floats(const char* what, const Array& array) {
  if (array.dtype() != DType::float32) throw Error(std::string(what) + ": an array of float32 is wanted.");
}

// An array as (outer, axis, inner).
struct Split {
  std::int64_t outer = 1, axis = 1, inner = 1;
};
Split split_at(const char* what, const Shape& shape, int axis) {
  if (axis < 0) axis += shape.rank();
  if (axis < 0 || axis >= shape.rank())
    throw Error(std::string(what) + ": there is no axis " + std::to_string(axis) + " in " + shape.str());
  Split split;
  for (int k = 0; k < shape.rank(); ++k) (k < axis ? split.outer : k == axis ? split.axis : split.inner) *= shape[k];
  return split;
}

class CutBatches : public DistributedDataset::Source {
 public:
  CutBatches(std::unique_ptr<Dataset::Iterator> batches, int replicas) : batches_(std::move(batches)), replicas_(replicas) {}
  bool next(PerReplica<Batch>& batch) override {
    Batch global;
    if (!batches_->next(global)) return false;
    std::vector<Batch> shares;
    for (const Shard& shard : cut_batch(global.x.samples(), replicas_)) {
      const auto share = [&](const Array& array) { return array.empty() ? Array() : array.slice(shard.first, shard.count); };
      Batch& own = shares.emplace_back(global);
      own.x = share(global.x);
      own.y = share(global.y);
      own.w = share(global.w);
    }
    batch = PerReplica<Batch>(std::move(shares));
    return true;
  }

 private:
  std::unique_ptr<Dataset::Iterator> batches_;
  int replicas_;
};

// One after another from one pipeline; the last global batch may leave replicas without samples.
class InTurn : public DistributedDataset::Source {
 public:
  InTurn(std::unique_ptr<Dataset::Iterator> batches, int replicas) : batches_(std::move(batches)), replicas_(replicas) {}
  bool next(PerReplica<Batch>& batch) override {
    std::vector<Batch> taken(static_cast<std::size_t>(replicas_));
    if (!batches_->next(taken[0])) return false;
    for (std::size_t r = 1; r < taken.size() && batches_->next(taken[r]); ++r) {
    }
    for (Batch& one : taken) {
      if (!one.x.empty()) continue;
      one.x = taken[0].x.slice(0, 0);
      if (!taken[0].y.empty()) one.y = taken[0].y.slice(0, 0);
    }
    batch = PerReplica<Batch>(std::move(taken));
    return true;
  }

 private:
  std::unique_ptr<Dataset::Iterator> batches_;
  int replicas_;
};

}  // namespace

double Strategy::reduce(ReduceOp op, const PerReplica<double>& value) const {
  require_all("reduce", value, num_replicas_in_sync());
  double sum = 0;
  for (const double one : value.values()) sum += one;
  return op == ReduceOp::mean ? sum / value.size() : sum;
}

Array Strategy::reduce(ReduceOp op, const PerReplica<Array>& value) const {
  require_all("reduce", value, num_replicas_in_sync());
  Array sum = value[0].clone();
  require_floats("reduce", sum);
  for (int r = 1; r < value.size(); ++r) {
    if (value[r].shape() != sum.shape()) {
      throw Error("reduce: replica " + std::to_string(r) + " has an array of shape " + value[r].shape().str() +
                  ", replica 0 one of shape " + sum.shape().str() + "; give an axis to reduce arrays of different lengths.");
    }
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.data<float>()[i] += value[r].data<float>()[i];
  }
  if (op == ReduceOp::mean) {
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.data<float>()[i] /= static_cast<float>(value.size());
  }
  return sum;
}

Array Strategy::reduce(ReduceOp op, const PerReplica<Array>& value, int axis) const {
  const Array all = gather(value, axis);
  require_floats("reduce", all);
  const Split split = split_at("reduce", all.shape(), axis);
  std::vector<std::int64_t> rest;
  for (int k = 0; k < all.shape().rank(); ++k)
    if (k != (axis < 0 ? axis + all.shape().rank() : axis)) rest.push_back(all.shape()[k]);
  Array result{Shape(rest)};
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t i = 0; i < split.inner; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < split.axis; ++k) sum += all.data<float>()[(o * split.axis + k) * split.inner + i];
      result.data<float>()[o * split.inner + i] = static_cast<float>(op == ReduceOp::mean ? sum / static_cast<double>(split.axis) : sum);
    }
  }
  return result;
}

Array Strategy::gather(const PerReplica<Array>& value, int axis) const {
  require_all("gather", value, num_replicas_in_sync());
  std::vector<Split> splits;
  std::int64_t length = 0;
  for (const Array& one : value.values()) {
    splits.push_back(split_at("gather", one.shape(), axis));
    if (splits.back().outer != splits[0].outer || splits.back().inner != splits[0].inner || one.dtype() != value[0].dtype()) {
      throw Error("gather: shapes " + value[0].shape().str() + " and " + one.shape().str() + " differ in more than axis " +
                  std::to_string(axis) + ".");
    }
    length += splits.back().axis;
  }
  std::vector<std::int64_t> extents;
  for (int k = 0; k < value[0].shape().rank(); ++k)
    extents.push_back(k == (axis < 0 ? axis + value[0].shape().rank() : axis) ? length : value[0].shape()[k]);
  Array result{Shape(extents), value[0].dtype()};
  auto* to = static_cast<unsigned char*>(result.raw());
  for (std::int64_t o = 0; o < splits[0].outer; ++o) {
    for (std::size_t r = 0; r < splits.size(); ++r) {
      const auto bytes = static_cast<std::size_t>(splits[r].axis * splits[r].inner) * size_of(result.dtype());
      if (bytes) std::memcpy(to, static_cast<const unsigned char*>(value.values()[r].raw()) + static_cast<std::size_t>(o) * bytes, bytes);
      to += bytes;
    }
  }
  return result;
}

DistributedDataset Strategy::distribute(const Dataset& dataset) const {
  if (dataset.batch_size() == 0) throw Error("distribute: the data set is not batched; add .batch(64 * strategy.num_replicas_in_sync())");
  const int replicas = num_replicas_in_sync();
  return {[dataset, replicas](std::int64_t epoch) { return std::make_unique<CutBatches>(dataset.iterate(epoch), replicas); },
          dataset.cardinality()};
}

DistributedDataset Strategy::distribute_from_function(const std::function<Dataset(const InputContext&)>& function) const {
  InputContext context;
  context.num_replicas_in_sync = num_replicas_in_sync();
  const Dataset dataset = function(context);
  if (dataset.batch_size() == 0) throw Error("distribute_from_function: the data set is not batched; add .batch(per-replica batch size)");
  const int replicas = num_replicas_in_sync();
  const std::int64_t batches = dataset.cardinality();
  return {[dataset, replicas](std::int64_t epoch) { return std::make_unique<InTurn>(dataset.iterate(epoch), replicas); },
          batches < 0 ? -1 : (batches + replicas - 1) / replicas};
}

double Strategy::compute_average_loss(const Array& per_example_loss, const Array& sample_weight, std::int64_t global_batch_size) const {
  require_floats("compute_average_loss", per_example_loss);
  if (!sample_weight.empty() && sample_weight.size() != per_example_loss.size())
    throw Error("compute_average_loss: " + std::to_string(sample_weight.size()) + " weights for " +
                std::to_string(per_example_loss.size()) + " losses");
  if (global_batch_size <= 0) global_batch_size = per_example_loss.samples() * num_replicas_in_sync();
  double sum = 0;
  for (std::int64_t i = 0; i < per_example_loss.size(); ++i) {
    const double weight = sample_weight.empty() ? 1.0 : static_cast<double>(sample_weight.data<float>()[i]);
    sum += weight * static_cast<double>(per_example_loss.data<float>()[i]);
  }
  return sum / static_cast<double>(global_batch_size);
}

}  // namespace lockstep
