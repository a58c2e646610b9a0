#include "simulator/gpu/nccl/api/transport_setup.h"

#include <algorithm>
#include <utility>

#include "simulator/gpu/nccl/direct/direct_communicator.h"
#include "simulator/gpu/nccl/message/listener.h"
#include "simulator/gpu/nccl/message/message_communicator.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kConnectTime = std::chrono::seconds(60);  // for processes that have just joined

Deadline at_most(const Deadline& given) { return {std::min(given.until, Clock::now() + kConnectTime), given.cancelled}; }

// By rank. Ranks of one process are one endpoint, unless they may not share memory.
std::vector<int> endpoints_of(const PeerTable& table) {
  std::vector<int> endpoints;
  for (std::size_t rank = 0; rank < table.peers.size(); ++rank) {
    std::size_t endpoint = rank;
    for (std::size_t other = 0; table.shared_memory && other < rank && endpoint == rank; ++other) {
      if (table.peers[other].process == table.peers[rank].process) endpoint = other;
    }
    endpoints.push_back(static_cast<int>(endpoint));
  }
  return endpoints;
}

using Key = std::tuple<std::uint64_t, std::uint64_t, int>;  // process, serial, endpoint

struct Setups {
  std::mutex mutex;
  std::map<Key, std::pair<std::shared_ptr<TransportSetup>, std::ptrdiff_t>> open;  // and how many ranks have not left it
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::ptrdiff_t> here;  // by process and serial: ranks of this process that use the key
};

Setups& setups() {
  static Setups all;
  return all;
}

}  // namespace

TransportSetup::TransportSetup(const UniqueId& id, const PeerTable& table, int endpoint)
    : id_(id), table_(table), endpoint_(endpoint), endpoints_(endpoints_of(table)) {}

void TransportSetup::connect(const Deadline& given) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(connected_, true)) return;
  const Deadline deadline = at_most(given);
  for (std::size_t rank = 0; rank < endpoints_.size() && result_.ok(); ++rank) {
    const int other = endpoints_[rank];
    if (other != static_cast<int>(rank) || other <= endpoint_) continue;
    Hello hello;
    hello.kind = Hello::Kind::connect;
    hello.process = id_.process;
    hello.serial = id_.serial;
    hello.from = endpoint_;
    hello.to = other;
    result_ = connect_with_hello(table_.peers[rank].address, id_.key, deadline, &hello, &connections_[other]);
    if (!result_.ok()) result_ = {ncclRemoteError, "rank " + std::to_string(other) + " can't be reached: " + result_.text};
  }
}

Result TransportSetup::complete(const Deadline& given, std::shared_ptr<Communicator>* communicator) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(done_, true)) {
    const bool all_here = std::all_of(endpoints_.begin(), endpoints_.end(), [this](int endpoint) { return endpoint == endpoint_; });
    const Deadline deadline = at_most(given);
    for (std::size_t rank = 0; rank < endpoints_.size() && result_.ok(); ++rank) {
      const int other = endpoints_[rank];
      if (other != static_cast<int>(rank) || other >= endpoint_) continue;
      result_ = listener().take_connection(id_, other, endpoint_, deadline, &connections_[other]);
    }
    if (result_.ok() && all_here && table_.direct) {
      communicator_ = std::make_shared<DirectCommunicator>(static_cast<int>(endpoints_.size()), table_.allowed);
    } else if (result_.ok()) {
      auto fresh = std::make_shared<MessageCommunicator>(endpoints_, endpoint_, table_.allowed);
      fresh->start(std::move(connections_));
      communicator_ = std::move(fresh);
    }
    connections_.clear();
  }
  *communicator = communicator_;
  return result_;
}

std::shared_ptr<TransportSetup> find_setup(const UniqueId& id, const PeerTable& table, int rank) {
  const std::vector<int> endpoints = endpoints_of(table);
  const int endpoint = endpoints[static_cast<std::size_t>(rank)];
  Setups& all = setups();
  const std::lock_guard lock(all.mutex);
  const auto is_here = [](const PeerInfo& peer) { return peer.process == own_process(); };
  all.here.try_emplace({id.process, id.serial}, std::count_if(table.peers.begin(), table.peers.end(), is_here));
  auto& [setup, missing] = all.open[{id.process, id.serial, endpoint}];
  if (setup == nullptr) {
    setup = std::make_shared<TransportSetup>(id, table, endpoint);
    missing = std::count(endpoints.begin(), endpoints.end(), endpoint);
  }
  return setup;
}

void leave_setup(const UniqueId& id, const PeerTable& table, int rank) {
  const int endpoint = endpoints_of(table)[static_cast<std::size_t>(rank)];
  Setups& all = setups();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.open.find({id.process, id.serial, endpoint}); found != all.open.end() && --found->second.second == 0)
    all.open.erase(found);
  // The key stays until the last rank of this process has left: connections to the others are still checked with it.
  if (const auto found = all.here.find({id.process, id.serial}); found != all.here.end() && --found->second == 0) {
    all.here.erase(found);
    listener().remove_key(id.process, id.serial);
  }
}

}  // namespace lockstep::sim::nccl
