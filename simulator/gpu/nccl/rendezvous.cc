// Meetings by id.
#include "rendezvous.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace lockstep::sim::nccl {

namespace {

using Key = std::array<char, NCCL_UNIQUE_ID_BYTES>;

struct Meetings {
  std::mutex mutex;
  std::uint64_t made = 0;
  std::map<Key, std::shared_ptr<Meeting>> open;
};

Meetings& meetings() {
  static Meetings all;
  return all;
}

Key key_of(const ncclUniqueId& id) {
  Key key;
  std::memcpy(key.data(), id.internal, key.size());
  return key;
}

AlgorithmChoice choice_from_environment() {
  const char* value = std::getenv("NCCL_ALGO");
  return parse_algorithm_choice(value != nullptr ? value : "");
}

}  // namespace

void Meeting::refuse(ncclResult_t code, const std::string& text) {
  verdict_ = {code, text};
  over_ = true;
  changed_.notify_all();
}

void Meeting::join(int ranks, int rank, int device) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  if (devices_.empty()) devices_.assign(static_cast<std::size_t>(ranks), -1);
  if (static_cast<std::size_t>(ranks) != devices_.size()) {
    return refuse(ncclInvalidUsage, "ranks disagree about their number: rank " + std::to_string(rank) + " says " + std::to_string(ranks) +
                                        ", others " + std::to_string(devices_.size()));
  }
  int& place = devices_[static_cast<std::size_t>(rank)];
  if (place >= 0) return refuse(ncclInvalidUsage, "rank " + std::to_string(rank) + " joins the same communicator twice");
  place = device;
  if (++present_ == ranks) complete();
}

void Meeting::complete() {
  for (std::size_t a = 0; a < devices_.size(); ++a) {
    for (std::size_t b = a + 1; b < devices_.size(); ++b) {
      if (devices_[a] != devices_[b]) continue;
      return refuse(ncclInvalidUsage, "duplicate GPU: rank " + std::to_string(a) + " and rank " + std::to_string(b) +
                                          " are both on CUDA device " + std::to_string(devices_[a]) +
                                          "; a GPU can be in a communicator only once");
    }
  }
  clique_ = std::make_shared<Clique>(devices_, choice_from_environment());
  over_ = true;
  changed_.notify_all();
}

Verdict Meeting::wait(std::shared_ptr<Clique>* clique) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_; });
  *clique = clique_;
  return verdict_;
}

ncclUniqueId new_unique_id() {
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  ncclUniqueId id{};
  const std::string text = "lockstep:" + std::to_string(getpid()) + ":" + std::to_string(all.made++);
  std::memcpy(id.internal, text.data(), text.size());
  all.open[key_of(id)] = std::make_shared<Meeting>();
  return id;
}

std::shared_ptr<Meeting> find_meeting(const ncclUniqueId& id) {
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  const auto found = all.open.find(key_of(id));
  return found != all.open.end() ? found->second : nullptr;
}

void forget_meeting(const ncclUniqueId& id) {
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  all.open.erase(key_of(id));
}

}  // namespace lockstep::sim::nccl
