#include "simulator/gpu/nccl/message/bootstrap_root.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace lockstep::sim::nccl {

namespace {

struct BootstrapRoots {
  std::mutex mutex;
  std::uint64_t made = 0;
  std::map<std::uint64_t, std::shared_ptr<BootstrapRoot>> open;
};

BootstrapRoots& roots() {
  static BootstrapRoots all;
  return all;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace

PeerTable table_from_environment() {
  PeerTable table;
  const char* algorithms = std::getenv("NCCL_ALGO");
  table.allowed = parse_algorithm_choice(algorithms != nullptr ? algorithms : "");
  table.direct = !is_set("NCCL_P2P_DISABLE");
  table.shared_memory = table.direct || !is_set("NCCL_SHM_DISABLE");
  return table;
}

void BootstrapRoot::refuse(ncclResult_t code, const std::string& text) {
  result_ = {code, text};
  conclude();
}

void BootstrapRoot::conclude() {
  over_ = true;
  changed_.notify_all();
  for (const auto& notify : std::exchange(listeners_, {})) notify(result_, table_);
}

void BootstrapRoot::join(int ranks, int rank, const PeerInfo& peer) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  std::vector<PeerInfo>& peers = table_.peers;
  if (peers.empty()) {
    table_ = table_from_environment();
    peers.resize(static_cast<std::size_t>(ranks));
  }
  if (static_cast<std::size_t>(ranks) != peers.size()) {
    return refuse(ncclInvalidUsage, "ranks disagree about their number: rank " + std::to_string(rank) + " says " + std::to_string(ranks) +
                                        ", others " + std::to_string(peers.size()));
  }
  PeerInfo& place = peers[static_cast<std::size_t>(rank)];
  if (place.process != 0) return refuse(ncclInvalidUsage, "rank " + std::to_string(rank) + " joins the same communicator twice");
  place = peer;
  if (++present_ == ranks) complete();
}

void BootstrapRoot::withdraw(int rank) {
  const std::lock_guard lock(mutex_);
  if (!over_) refuse(ncclRemoteError, "rank " + std::to_string(rank) + " has gone before all ranks of its communicator had joined");
}

// Every process has virtual GPUs of its own, so the same number in two processes is two GPUs.
void BootstrapRoot::complete() {
  const std::vector<PeerInfo>& peers = table_.peers;
  for (std::size_t a = 0; a < peers.size(); ++a) {
    for (std::size_t b = a + 1; b < peers.size(); ++b) {
      if (peers[a].process != peers[b].process || peers[a].device != peers[b].device) continue;
      return refuse(ncclInvalidUsage, "duplicate GPU: rank " + std::to_string(a) + " and rank " + std::to_string(b) +
                                          " are both on CUDA device " + std::to_string(peers[a].device) +
                                          "; a GPU can be in a communicator only once");
    }
  }
  conclude();
}

std::string BootstrapRoot::missing() const {
  std::string names;
  for (std::size_t rank = 0; rank < table_.peers.size(); ++rank)
    if (table_.peers[rank].process == 0) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  return names;
}

Result BootstrapRoot::wait(PeerTable* table, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_until(lock, deadline.next_look(), [this] { return over_; })) {
    if (deadline.over()) refuse(ncclRemoteError, missing() + " did not come to meet the others in time");
  }
  *table = table_;
  return result_;
}

void BootstrapRoot::when_over(std::function<void(const Result&, const PeerTable&)> notify) {
  const std::lock_guard lock(mutex_);
  if (over_) {
    notify(result_, table_);
  } else {
    listeners_.push_back(std::move(notify));
  }
}

std::uint64_t new_root() {
  BootstrapRoots& all = roots();
  const std::lock_guard lock(all.mutex);
  all.open[all.made] = std::make_shared<BootstrapRoot>();
  return all.made++;
}

std::shared_ptr<BootstrapRoot> find_root(std::uint64_t serial) {
  BootstrapRoots& all = roots();
  const std::lock_guard lock(all.mutex);
  const auto found = all.open.find(serial);
  return found != all.open.end() ? found->second : nullptr;
}

void forget_root(std::uint64_t serial) {
  BootstrapRoots& all = roots();
  const std::lock_guard lock(all.mutex);
  all.open.erase(serial);
}

}  // namespace lockstep::sim::nccl
