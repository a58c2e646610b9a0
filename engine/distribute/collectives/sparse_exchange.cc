#include "engine/distribute/collectives/sparse_exchange.h"

#include <algorithm>
#include <cstring>

#include <backend/tuning.h>

#include "engine/distribute/collectives/peer.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/sparse_rows.h"

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

RowsInUse rows_in_use(const Array& x, const std::vector<Shard>& shards, bool with_positions) {
  RowsInUse found;
  const std::int64_t row = x.samples() > 0 ? x.size() / x.samples() : 0;
  const auto* ids = x.data<std::int32_t>();
  const std::int32_t largest = largest_of(x);
  RowSet all(largest);
  for (const Shard& shard : shards) {
    RowSet own(largest);
    own.add(ids + shard.first * row, shard.count * row);
    found.by_replica.push_back(own.ascending());
    found.most = std::max(found.most, static_cast<std::int64_t>(found.by_replica.back().size()));
    all.add(found.by_replica.back().data(), static_cast<std::int64_t>(found.by_replica.back().size()));
  }
  found.all = all.ascending();
  if (!with_positions) return found;
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
    : table_(table), how_(how), to_first_(to_first), one_card_(true), place_{0, 1, 0, static_cast<int>(gpus.size())} {
  for (LogicalGpu* gpu : gpus) {
    parts_.emplace_back(gpu);
    one_card_ = one_card_ && gpu->physical() == gpus.front()->physical();
  }
}

SparseExchange::SparseExchange(const std::vector<LogicalGpu*>& gpus, const Shape& table, SparseGradients how, CrossDeviceOps& ops)
    : SparseExchange(gpus, table, how) {
  place_ = ops.place(static_cast<int>(gpus.size()));
  across_ = &ops;
  one_card_ = false;
}

bool SparseExchange::begin(const Array& x, const std::vector<Shard>& shards) {
  gathers_ = false;
  if (how_ == SparseGradients::dense || place_.replicas < 2) return false;
  in_use_ = rows_in_use(x, shards, !one_card_);
  gathers_ = how_ == SparseGradients::gathered || gathering_is_less(place_.replicas, in_use_.most, table_.size() / columns(), columns());
  return gathers_;
}

Tensor SparseExchange::list(const Part& part, std::int64_t first, std::int64_t count) const {
  return Tensor(part.lists.data<std::int32_t>() + first, {count}, DType::int32);
}

void SparseExchange::upload(int replica, const Deadline& deadline) {
  if (!gathers_ || (to_first_ && replica == 0)) return;
  Part& part = parts_[static_cast<std::size_t>(replica)];
  const std::vector<std::int32_t>& own = in_use_.by_replica[static_cast<std::size_t>(place_.first_replica + replica)];
  std::vector<std::int32_t> lists = one_card_ && replica == 0 ? in_use_.all : own;
  const std::int64_t replicas = place_.replicas;
  const std::int64_t most_ever =
      std::max(in_use_.most, std::min(tuning::kSparseRoom * in_use_.most, 2 * table_.size() / (replicas * (columns() + 1))));
  const std::int64_t rows_ever = std::min(table_.size() / columns(), replicas * most_ever);
  std::int64_t ever = replica == 0 ? rows_ever : most_ever;
  if (!one_card_) {
    lists.resize(static_cast<std::size_t>(in_use_.most), -1);
    lists.insert(lists.end(), in_use_.all.begin(), in_use_.all.end());
    lists.insert(lists.end(), in_use_.positions.begin(), in_use_.positions.end());
    ever = most_ever + rows_ever * (1 + replicas);
  }
  // With room for batches of more rows, where those would still be gathered: a warm step allocates nothing.
  const auto reserve = [&](Buffer& buffer, std::int64_t now, std::int64_t largest, const char* what) {
    if (buffer.bytes() >= static_cast<std::size_t>(now) * 4) return;
    part.gpu->compute().synchronize();
    part.gpu->communication().synchronize();
    buffer = Buffer();
    buffer = part.gpu->arena().allocate(static_cast<std::size_t>(std::max(now, largest)) * 4,
                                        "replica " + std::to_string(replica) + ": " + what + " of a sparse gradient");
  };
  const auto count = static_cast<std::int64_t>(lists.size());
  reserve(part.lists, count, ever, "the rows in use");
  if (!one_card_) reserve(part.packed, replicas * in_use_.most * columns(), replicas * most_ever * columns(), "rows from all replicas");
  auto* pinned = part.staging.next(lists.size() * sizeof(std::int32_t), deadline);
  std::memcpy(pinned, lists.data(), lists.size() * sizeof(std::int32_t));
  const OpContext context{part.gpu, &part.gpu->compute(), {}};
  ops::upload(context, pinned, list(part, 0, count));
  part.staging.issued(part.gpu->compute());
}

Tensor SparseExchange::packed(const Part& on, std::size_t replica) const {
  const std::int64_t share = in_use_.most * columns();
  return Tensor(on.packed.data<float>() + static_cast<std::int64_t>(replica) * share, {in_use_.most, columns()});
}

// Adds what all replicas packed, in their order.
void SparseExchange::merge(Part& reader, const Tensor& gradient) {
  const OpContext context{reader.gpu, &reader.gpu->communication(), {}};
  ops::merge_rows(context, Tensor(reader.packed.raw(), {place_.replicas, in_use_.most, columns()}), list(reader, in_use_.most, used_rows()),
                  list(reader, in_use_.most + used_rows(), used_rows() * place_.replicas), gradient);
}

// Every replica's rows, to its own place among all.
void SparseExchange::pack(const std::vector<Tensor>& gradients) {
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    Part& part = parts_[r];
    const OpContext context{part.gpu, &part.gpu->communication(), {}};
    ops::pack_rows(context, gradients[r], list(part, 0, in_use_.most), packed(part, static_cast<std::size_t>(place_.first_replica) + r));
    part.packed_ready.record(part.gpu->communication());
  }
}

Traffic SparseExchange::run_across_workers(const std::vector<Tensor>& gradients) {
  pack(gradients);
  const std::int64_t share = in_use_.most * columns();
  std::vector<Participant> participants;
  for (const Part& part : parts_)
    participants.push_back({part.gpu, &part.gpu->communication(), Tensor(part.packed.raw(), {place_.replicas * share})});
  Traffic traffic = across_->all_gather(participants, share);
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    merge(parts_[r], gradients[r]);
    traffic.put(r, used_rows() * columns() * 4);
  }
  return traffic;
}

Traffic SparseExchange::run(const std::vector<Tensor>& gradients, MessageWatcher* watcher) {
  if (across_ != nullptr) return run_across_workers(gradients);
  if (one_card_) return run_on_one_card(gradients, watcher);
  Traffic traffic;
  const auto replicas = static_cast<int>(parts_.size());
  const std::int64_t bytes = in_use_.most * columns() * 4;
  pack(gradients);
  for (std::size_t to = 0; to < parts_.size(); ++to) {
    Part& reader = parts_[to];
    Stream& stream = reader.gpu->communication();
    for (std::size_t from = 0; from < parts_.size(); ++from) {
      if (from == to) continue;
      stream.wait(parts_[from].packed_ready);
      const int sender = static_cast<int>(from);
      const Message message{{&sender, 1}, static_cast<int>(to), 0, static_cast<int>(from), replicas, bytes, false};
      if (watcher != nullptr) watcher->begin(message, stream, Tensor());
      copy_between(stream, *parts_[from].gpu, packed(parts_[from], from).raw(), *reader.gpu, packed(reader, from).raw(), bytes);
      if (watcher != nullptr) watcher->end(message, stream, packed(reader, from).reshaped({bytes / 4}));
      ++traffic.messages;
      traffic.bytes += bytes;
    }
    reader.read.record(stream);
    merge(reader, gradients[to]);
    traffic.put(to, used_rows() * columns() * 4);
  }
  // All have read before any packs again.
  for (Part& part : parts_)
    for (Part& reader : parts_)
      if (&part != &reader) part.gpu->communication().wait(reader.read);
  return traffic;
}

// Replica 0 reads the others' rows where they are; its own gradient, zeros included, is what they are added to. Rows that no replica uses
// are zeros everywhere, so the rows in use are all that the others copy.
Traffic SparseExchange::run_on_one_card(const std::vector<Tensor>& gradients, MessageWatcher* watcher) {
  Traffic traffic;
  int round = 0;
  const auto move = [&](std::size_t from, std::size_t to, std::int64_t rows, bool adds, const auto& issue) {
    const OpContext context{parts_[to].gpu, &parts_[to].gpu->communication(), {}};
    const Tensor place = gradients[to].reshaped({gradients[to].size()});
    const int sender = static_cast<int>(from);
    const Message message{{&sender, 1}, static_cast<int>(to), round++, 0, 1, rows * columns() * 4, adds};
    if (watcher != nullptr) watcher->begin(message, *context.stream, place);
    issue(context);
    if (watcher != nullptr) watcher->end(message, *context.stream, place);
    ++traffic.messages;
    traffic.bytes += message.bytes;
  };
  Part& first = parts_.front();
  Stream& stream = first.gpu->communication();
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    Part& part = parts_[r];
    const auto own = static_cast<std::int64_t>(in_use_.by_replica[r].size());
    part.packed_ready.record(part.gpu->communication());
    stream.wait(part.packed_ready);
    move(r, 0, own, true, [&](const OpContext& context) { ops::add_rows(context, gradients[r], list(part, 0, own), gradients.front()); });
  }
  traffic.put(0, used_rows() * columns() * 4);
  first.read.record(stream);
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    Part& part = parts_[r];
    part.gpu->communication().wait(first.read);
    if (to_first_) continue;
    move(0, r, used_rows(), false,
         [&](const OpContext& context) { ops::copy_rows(context, gradients.front(), list(first, 0, used_rows()), gradients[r]); });
    traffic.put(r, used_rows() * columns() * 4);
    part.read.record(part.gpu->communication());
  }
  // What replica 0 does next may overwrite its buffer.
  for (std::size_t r = 1; r < parts_.size() && !to_first_; ++r) stream.wait(parts_[r].read);
  return traffic;
}

}  // namespace lockstep
