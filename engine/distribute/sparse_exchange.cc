#include "sparse_exchange.h"

#include <algorithm>
#include <cstring>

#include "elementwise.h"
#include "peer.h"
#include "sparse_rows.h"

namespace lockstep {

namespace {

// A set of row numbers: marking one is a store, and reading them in ascending order costs a word for each 64 rows of the table.
class RowSet {
 public:
  explicit RowSet(std::int32_t largest) : words_(static_cast<std::size_t>(largest / 64 + 1)) {}
  void add(const std::int32_t* rows, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      if (rows[i] >= 0) words_[static_cast<std::size_t>(rows[i]) / 64] |= std::uint64_t{1} << (rows[i] % 64);
  }
  std::vector<std::int32_t> ascending() const {
    std::vector<std::int32_t> rows;
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
        rows.push_back(static_cast<std::int32_t>(64 * i) + __builtin_ctzll(word));
    return rows;
  }

 private:
  std::vector<std::uint64_t> words_;
};

std::int32_t largest_of(const Array& x) {
  const auto* ids = x.data<std::int32_t>();
  return x.size() > 0 ? std::max(0, *std::max_element(ids, ids + x.size())) : 0;
}

}  // namespace

RowsInUse rows_by_replica(const Array& x, const std::vector<Shard>& shards) {
  RowsInUse found;
  const std::int64_t row = x.samples() > 0 ? x.size() / x.samples() : 0;
  const auto* ids = x.data<std::int32_t>();
  const std::int32_t largest = largest_of(x);
  for (const Shard& shard : shards) {
    RowSet own(largest);
    own.add(ids + shard.first * row, shard.count * row);
    found.by_replica.push_back(own.ascending());
    found.most = std::max(found.most, static_cast<std::int64_t>(found.by_replica.back().size()));
  }
  return found;
}

RowsInUse rows_in_use(const Array& x, const std::vector<Shard>& shards) {
  RowsInUse found = rows_by_replica(x, shards);
  RowSet all(largest_of(x));
  for (const std::vector<std::int32_t>& own : found.by_replica) all.add(own.data(), static_cast<std::int64_t>(own.size()));
  found.all = all.ascending();
  found.positions.assign(found.all.size() * shards.size(), -1);
  for (std::size_t r = 0; r < shards.size(); ++r) {
    std::size_t k = 0;
    for (std::size_t at = 0; at < found.by_replica[r].size(); ++at) {
      while (found.all[k] != found.by_replica[r][at]) ++k;
      found.positions[k * shards.size() + r] = static_cast<std::int32_t>(at);
    }
  }
  return found;
}

bool gathering_is_less(std::int64_t replicas, std::int64_t most, std::int64_t rows, std::int64_t columns) {
  return replicas * most * (columns + 1) < 2 * rows * columns;
}

SparseExchange::SparseExchange(const std::vector<LogicalGpu*>& gpus, const Shape& table, SparseGradients how, bool to_first)
    : rows_(table.size() / table[-1]), columns_(table[-1]), how_(how), to_first_(to_first) {
  for (LogicalGpu* gpu : gpus) parts_.emplace_back(gpu);
}

bool SparseExchange::begin(const Array& x, const std::vector<Shard>& shards) {
  gathers_ = false;
  if (how_ == SparseGradients::dense || parts_.size() < 2) return false;
  in_use_ = to_first_ ? rows_by_replica(x, shards) : rows_in_use(x, shards);
  const auto replicas = static_cast<std::int64_t>(parts_.size());
  gathers_ = how_ == SparseGradients::gathered || gathering_is_less(replicas, in_use_.most, rows_, columns_);
  return gathers_;
}

Tensor SparseExchange::list(const Part& part, std::int64_t first, std::int64_t count) const {
  return Tensor(part.lists.data<std::int32_t>() + first, {count}, DType::int32);
}

void SparseExchange::upload(int replica, const Deadline& deadline) {
  if (!gathers_ || (to_first_ && replica == 0)) return;
  Part& part = parts_[static_cast<std::size_t>(replica)];
  const auto replicas = static_cast<std::int64_t>(parts_.size());
  const std::int64_t count = in_use_.most + (to_first_ ? 0 : rows() * (1 + replicas));
  // With room for batches of four times as many rows, where those would still be gathered: a warm step allocates nothing.
  const auto reserve = [&](Buffer& buffer, std::int64_t now, std::int64_t ever, const char* what) {
    if (buffer.bytes() >= static_cast<std::size_t>(now) * 4) return;
    part.gpu->compute().synchronize();
    part.gpu->communication().synchronize();
    buffer = Buffer();
    buffer = part.gpu->arena().allocate(static_cast<std::size_t>(std::max(now, ever)) * 4,
                                        "replica " + std::to_string(replica) + ": " + what + " of a sparse gradient");
  };
  const std::int64_t most_ever = std::max(in_use_.most, std::min(4 * in_use_.most, 2 * rows_ * columns_ / (replicas * (columns_ + 1))));
  reserve(part.lists, count, most_ever + (to_first_ ? 0 : std::min(rows_, replicas * most_ever) * (1 + replicas)), "the rows in use");
  if (!to_first_) reserve(part.packed, replicas * in_use_.most * columns_, replicas * most_ever * columns_, "rows from all replicas");

  const std::vector<std::int32_t>& own = in_use_.by_replica[static_cast<std::size_t>(replica)];
  auto* pinned = reinterpret_cast<std::int32_t*>(part.staging.next(static_cast<std::size_t>(count) * sizeof(std::int32_t), deadline));
  std::copy(own.begin(), own.end(), pinned);
  std::fill(pinned + own.size(), pinned + in_use_.most, -1);
  if (!to_first_) {
    std::copy(in_use_.all.begin(), in_use_.all.end(), pinned + in_use_.most);
    std::copy(in_use_.positions.begin(), in_use_.positions.end(), pinned + in_use_.most + rows());
  }
  const OpContext context{part.gpu, &part.gpu->compute(), {}};
  ops::upload(context, pinned, list(part, 0, count));
  part.staging.issued(part.gpu->compute());
}

Tensor SparseExchange::packed(const Part& on, std::size_t replica) const {
  const std::int64_t share = in_use_.most * columns_;
  return Tensor(on.packed.data<float>() + static_cast<std::int64_t>(replica) * share, {in_use_.most, columns_});
}

// Adds what all replicas packed, in their order.
void SparseExchange::merge(Part& reader, const Tensor& gradient) {
  const auto replicas = static_cast<std::int64_t>(parts_.size());
  const OpContext context{reader.gpu, &reader.gpu->communication(), {}};
  ops::merge_rows(context, Tensor(reader.packed.raw(), {replicas, in_use_.most, columns_}), list(reader, in_use_.most, rows()),
                  list(reader, in_use_.most + rows(), rows() * replicas), gradient);
}

Traffic SparseExchange::run(const std::vector<Tensor>& gradients, MessageWatcher* watcher) {
  if (to_first_) return run_to_first(gradients, watcher);
  Traffic traffic;
  const auto replicas = static_cast<int>(parts_.size());
  const std::int64_t bytes = in_use_.most * columns_ * 4;
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    Part& part = parts_[r];
    const OpContext context{part.gpu, &part.gpu->communication(), {}};
    ops::pack_rows(context, gradients[r], list(part, 0, in_use_.most), packed(part, r));
    part.packed_ready.record(part.gpu->communication());
  }
  for (std::size_t to = 0; to < parts_.size(); ++to) {
    Part& reader = parts_[to];
    Stream& stream = reader.gpu->communication();
    for (std::size_t from = 0; from < parts_.size(); ++from) {
      if (from == to) continue;
      stream.wait(parts_[from].packed_ready);
      const Message message{static_cast<int>(from), static_cast<int>(to), 0, static_cast<int>(from), replicas, bytes, false};
      if (watcher != nullptr) watcher->begin(message, stream, Tensor());
      copy_between(stream, *parts_[from].gpu, packed(parts_[from], from).raw(), *reader.gpu, packed(reader, from).raw(), bytes);
      if (watcher != nullptr) watcher->end(message, stream, packed(reader, from).reshaped({bytes / 4}));
      ++traffic.messages;
      traffic.bytes += bytes;
    }
    reader.read.record(stream);
    merge(reader, gradients[to]);
  }
  // Nobody packs again before all have read.
  for (Part& part : parts_)
    for (Part& reader : parts_)
      if (&part != &reader) part.gpu->communication().wait(reader.read);
  return traffic;
}

// Replica 0 reads the others' rows where they are; its own gradient, zeros included, is what they are added to.
Traffic SparseExchange::run_to_first(const std::vector<Tensor>& gradients, MessageWatcher* watcher) {
  Traffic traffic;
  Part& first = parts_.front();
  Stream& stream = first.gpu->communication();
  const Tensor sums = gradients.front().reshaped({gradients.front().size()});
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    Part& part = parts_[r];
    const auto own = static_cast<std::int64_t>(in_use_.by_replica[r].size());
    const Message message{static_cast<int>(r), 0, static_cast<int>(r) - 1, 0, 1, own * columns_ * 4, true};
    part.packed_ready.record(part.gpu->communication());
    stream.wait(part.packed_ready);
    if (watcher != nullptr) watcher->begin(message, stream, sums);
    ops::add_rows({first.gpu, &stream, {}}, gradients[r], list(part, 0, own), gradients.front());
    if (watcher != nullptr) watcher->end(message, stream, sums);
    ++traffic.messages;
    traffic.bytes += message.bytes;
  }
  first.read.record(stream);
  for (Part& part : parts_)
    if (&part != &first) part.gpu->communication().wait(first.read);
  return traffic;
}

}  // namespace lockstep
