#include "engine/distribute/buckets/gradient_buckets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep {

void BucketBoard::reset(std::size_t buckets, int replicas) {
  while (ready_.size() < buckets) ready_.emplace_back();
  for (Rendezvous& one : ready_) one.reset(replicas);
}

void BucketBoard::stop() {
  for (Rendezvous& one : ready_) one.stop();
}

GradientBuckets::GradientBuckets(ReplicaSet& replicas, const StepOptions& options)
    : buckets_(make_buckets(replicas.graph.layout(), options.bucket_bytes, std::min(options.first_bucket_bytes, options.bucket_bytes))),
      exchanges_(buckets_.size()),
      last_variable_(replicas.graph.layout().specs().size(), -1),
      messages_(buckets_.size() + (replicas.averages_state() ? 1 : 0)) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    nlohmann::json names = nlohmann::json::array();
    for (const int variable : buckets_[b].variables)
      names.push_back(replicas.graph.layout().specs()[static_cast<std::size_t>(variable)].name);
    contents_.push_back(names.dump());
    last_variable_[static_cast<std::size_t>(buckets_[b].variables.back())] = static_cast<std::int64_t>(b);
  }
  const bool summed = replicas.place().replicas > 1;
  for (const std::int64_t bucket : last_variable_) segment_ends_.push_back(bucket >= 0 && summed);
  if (summed) exchange_rows(replicas, options.sparse_gradients);
}

// Rows are known where they are the model's input.
void GradientBuckets::exchange_rows(ReplicaSet& replicas, SparseGradients how) {
  std::vector<LogicalGpu*> gpus;
  for (StepReplica& replica : replicas.all) gpus.push_back(&replica.gpu());
  const Graph& graph = replicas.graph;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].inputs != std::vector<int>{-1}) continue;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      if (buckets_[b].sparse < 0 || buckets_[b].sparse != graph.first_variable(static_cast<int>(i))) continue;
      const Shape& table = graph.layout().specs()[static_cast<std::size_t>(buckets_[b].sparse)].shape;
      exchanges_[b] = replicas.place().workers > 1 ? std::make_unique<SparseExchange>(gpus, table, how, *replicas.ops)
                                                   : std::make_unique<SparseExchange>(gpus, table, how, replicas.one_copy);
    }
  }
}

std::int64_t GradientBuckets::largest() const {
  std::int64_t largest = 0;
  for (const Bucket& bucket : buckets_) largest = std::max(largest, bucket.count);
  return largest;
}

// Rows in use are known where they are this batch's and nothing else's.
SparseExchange* GradientBuckets::exchange(std::size_t bucket, const StepBatch& batch) const {
  if (bucket >= exchanges_.size() || !exchanges_[bucket] || batch.accumulation > 1 || batch.custom) return nullptr;
  return exchanges_[bucket]->gathers() ? exchanges_[bucket].get() : nullptr;
}

void GradientBuckets::find_rows(const StepBatch& batch, const std::vector<Shard>& all_shards) {
  for (const auto& exchange : exchanges_)
    if (exchange) exchange->begin(batch.x, all_shards);
}

void GradientBuckets::upload_rows(int replica, const Deadline& deadline) {
  for (const auto& exchange : exchanges_)
    if (exchange) exchange->upload(replica, deadline);
}

}  // namespace lockstep
