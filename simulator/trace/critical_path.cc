// The path is walked from the step's end to its beginning. Each piece of work began when the last thing it waited for was done:
//
//   barrier      <- the update that ended last
//   update of r  <- the last bucket's all-reduce on r
//   bucket b     <- a collective: the replica that came to it last; and that one came from
//                   its bucket b - 1, if that ended just then, else its backward, which had not made the gradients yet
//   gradients    <- shard <- the beginning
//
// What lies between two pieces is the host's: issuing, waking up, staging samples.
#include "simulator/trace/critical_path.h"

#include <algorithm>

namespace lockstep {
namespace {

class Walk {
 public:
  Walk(const StepCells& cells, std::int64_t begin, std::int64_t end) : cells_(cells), begin_(begin), at_(end) {}

  std::vector<CriticalPiece> run() {
    const Span* barrier = nullptr;  // begins when its replica is done: the last to come is the one all others waited for
    const Span* update = nullptr;
    for (const auto& [replica, cell] : cells_) {
      for (const Span* span : cell.phases) {
        if (span->phase == Phase::barrier && (!barrier || span->begin_ns > barrier->begin_ns)) barrier = span;
        if (span->phase == Phase::update && (!update || span->end_ns > update->end_ns)) update = span;
      }
    }
    if (barrier) take(*barrier);
    if (update) {
      take(*update);
      const auto found = cells_.find(update->replica);
      if (found != cells_.end()) from_all_reduce(last_bucket(found->second), update->replica);
    }
    if (at_ > begin_) pieces_.push_back({"host", -1, pieces_.empty() ? 0 : pieces_.back().replica, begin_, at_});
    std::reverse(pieces_.begin(), pieces_.end());
    return std::move(pieces_);
  }

 private:
  // Up to where the path has come from.
  void take(const Span& span) {
    const std::int64_t end = std::min(span.end_ns, at_);
    if (end < at_) pieces_.push_back({"host", -1, span.replica, end, at_});
    at_ = std::max(begin_, std::min(span.begin_ns, end));
    if (end > at_) pieces_.push_back({span.name, static_cast<int>(span.phase), span.replica, at_, end});
  }

  static std::ptrdiff_t last_bucket(const ReplicaSpans& cell) { return static_cast<std::ptrdiff_t>(buckets(cell).size()) - 1; }
  static std::vector<const Span*> buckets(const ReplicaSpans& cell) {
    std::vector<const Span*> found;
    for (const Span* span : cell.phases)
      if (span->phase == Phase::all_reduce) found.push_back(span);
    return found;
  }

  void from_all_reduce(std::ptrdiff_t bucket, int replica) {
    if (bucket < 0) return from_gradients(replica);
    // All replicas reduce the same buckets in the same order.
    const Span* here = nullptr;
    const Span* latest = nullptr;
    for (const auto& [r, cell] : cells_) {
      const std::vector<const Span*> all = buckets(cell);
      if (static_cast<std::size_t>(bucket) >= all.size()) continue;
      const Span* span = all[static_cast<std::size_t>(bucket)];
      if (r == replica) here = span;
      if (!latest || span->begin_ns > latest->begin_ns) latest = span;
    }
    if (!here) return from_gradients(replica);
    Span piece = *here;  // as long as it waited for the latest it is the latest's
    piece.begin_ns = std::max(here->begin_ns, latest->begin_ns);
    const std::int64_t begin_of_all = here->begin_ns;
    if (piece.begin_ns > piece.end_ns) piece.begin_ns = piece.end_ns;
    take(piece);
    const int next = begin_of_all < piece.begin_ns ? latest->replica : replica;
    const auto cell = cells_.find(next);
    if (bucket > 0) {
      const Span* before = buckets(cell->second)[static_cast<std::size_t>(bucket - 1)];
      const Span* gradients = gradients_of(cell->second);
      // The stream was still at the bucket before when these gradients were ready.
      const std::int64_t close = std::max<std::int64_t>(1000, (at_ - begin_) / 200);
      if (at_ - before->end_ns <= close || (gradients && gradients->end_ns <= before->end_ns)) return from_all_reduce(bucket - 1, next);
    }
    from_gradients(next);
  }

  static const Span* gradients_of(const ReplicaSpans& cell) {
    for (const Span* span : cell.phases)
      if (span->phase == Phase::local_gradients) return span;
    return nullptr;
  }

  void from_gradients(int replica) {
    const auto cell = cells_.find(replica);
    if (cell == cells_.end()) return;
    if (const Span* gradients = gradients_of(cell->second)) take(*gradients);
    for (const Span* span : cell->second.phases)
      if (span->phase == Phase::shard) take(*span);
  }

  const StepCells& cells_;
  std::int64_t begin_;
  std::int64_t at_;  // the path is known from here to the end
  std::vector<CriticalPiece> pieces_;
};

}  // namespace

std::vector<CriticalPiece> critical_path(const StepCells& cells, std::int64_t begin_ns, std::int64_t end_ns) {
  return Walk(cells, begin_ns, end_ns).run();
}

}  // namespace lockstep
