#include "simulator/gpu/nccl/api/formation.h"

#include <algorithm>
#include <utility>

#include "simulator/gpu/nccl/direct/direct_clique.h"
#include "simulator/gpu/nccl/message/message_clique.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // for processes that have just been here

Patience at_most(const Patience& given) { return {std::min(given.until, Clock::now() + kPatience), given.cancelled}; }

// Ranks of one process are one member, unless they were told not to share memory.
std::vector<int> members_of(const Table& table) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < table.seats.size(); ++rank) {
    std::size_t member = rank;
    for (std::size_t other = 0; table.shared_memory && other < rank && member == rank; ++other) {
      if (table.seats[other].process == table.seats[rank].process) member = other;
    }
    members.push_back(static_cast<int>(member));
  }
  return members;
}

using Key = std::tuple<std::uint64_t, std::uint64_t, int>;  // process, serial, member

struct Formations {
  std::mutex mutex;
  std::map<Key, std::pair<std::shared_ptr<Formation>, std::ptrdiff_t>> open;  // and how many ranks are still to come
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::ptrdiff_t> here;  // by process and serial: ranks of this process that use the key
};

Formations& formations() {
  static Formations all;
  return all;
}

}  // namespace

Formation::Formation(const IdContent& id, const Table& table, int member)
    : id_(id), table_(table), member_(member), members_(members_of(table)) {}

void Formation::connect(const Patience& given) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(connected_, true)) return;
  const Patience patience = at_most(given);
  for (std::size_t rank = 0; rank < members_.size() && verdict_.ok(); ++rank) {
    const int other = members_[rank];
    if (other != static_cast<int>(rank) || other <= member_) continue;
    Hello hello;
    hello.kind = Hello::Kind::peer;
    hello.process = id_.process;
    hello.serial = id_.serial;
    hello.from = member_;
    hello.to = other;
    verdict_ = say_hello(table_.seats[rank].address, id_.key, patience, &hello, &connections_[other]);
    if (!verdict_.ok()) verdict_ = {ncclRemoteError, "rank " + std::to_string(other) + " can't be reached: " + verdict_.text};
  }
}

Verdict Formation::complete(const Patience& given, std::shared_ptr<Clique>* clique) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(done_, true)) {
    const bool all_here = std::all_of(members_.begin(), members_.end(), [this](int member) { return member == member_; });
    const Patience patience = at_most(given);
    for (std::size_t rank = 0; rank < members_.size() && verdict_.ok(); ++rank) {
      const int other = members_[rank];
      if (other != static_cast<int>(rank) || other >= member_) continue;
      verdict_ = lobby().take_peer(id_, other, member_, patience, &connections_[other]);
    }
    if (verdict_.ok() && all_here && table_.direct) {
      clique_ = std::make_shared<DirectClique>(static_cast<int>(members_.size()), table_.allowed);
    } else if (verdict_.ok()) {
      auto fresh = std::make_shared<MessageClique>(members_, member_, table_.allowed);
      fresh->start(std::move(connections_));
      clique_ = std::move(fresh);
    }
    connections_.clear();
  }
  *clique = clique_;
  return verdict_;
}

std::shared_ptr<Formation> find_formation(const IdContent& id, const Table& table, int rank) {
  const std::vector<int> members = members_of(table);
  const int member = members[static_cast<std::size_t>(rank)];
  Formations& all = formations();
  const std::lock_guard lock(all.mutex);
  const auto is_here = [](const Seat& seat) { return seat.process == own_process(); };
  all.here.try_emplace({id.process, id.serial}, std::count_if(table.seats.begin(), table.seats.end(), is_here));
  auto& [formation, missing] = all.open[{id.process, id.serial, member}];
  if (formation == nullptr) {
    formation = std::make_shared<Formation>(id, table, member);
    missing = std::count(members.begin(), members.end(), member);
  }
  return formation;
}

void leave_formation(const IdContent& id, const Table& table, int rank) {
  const int member = members_of(table)[static_cast<std::size_t>(rank)];
  Formations& all = formations();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.open.find({id.process, id.serial, member}); found != all.open.end() && --found->second.second == 0)
    all.open.erase(found);
  // Not before the last one: a rank that is still to come is greeted under this key.
  if (const auto found = all.here.find({id.process, id.serial}); found != all.here.end() && --found->second == 0) {
    all.here.erase(found);
    lobby().forget(id.process, id.serial);
  }
}

}  // namespace lockstep::sim::nccl
