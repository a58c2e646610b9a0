#include "simulator/gpu/nccl/message/meeting.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "common/sha256.h"
#include "simulator/gpu/nccl/message/lobby.h"

namespace lockstep::sim::nccl {

namespace {

struct Meetings {
  std::mutex mutex;
  std::uint64_t made = 0;
  std::map<std::uint64_t, std::shared_ptr<Meeting>> open;
};

Meetings& meetings() {
  static Meetings all;
  return all;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

constexpr const char* kFormat = "lockstep:%016llx:%llx:%08x:%04x:%s";
constexpr const char* kReadFormat = "lockstep:%16llx:%16llx:%8x:%4x:%32[0-9a-f]";
constexpr std::size_t kKeyDigits = 32;

}  // namespace

Table table_from_environment() {
  Table table;
  const char* algorithms = std::getenv("NCCL_ALGO");
  table.allowed = parse_algorithm_choice(algorithms != nullptr ? algorithms : "");
  table.direct = !is_set("NCCL_P2P_DISABLE");
  table.shared_memory = table.direct || !is_set("NCCL_SHM_DISABLE");
  return table;
}

void Meeting::refuse(ncclResult_t code, const std::string& text) {
  verdict_ = {code, text};
  conclude();
}

void Meeting::conclude() {
  over_ = true;
  changed_.notify_all();
  for (const auto& tell : std::exchange(listeners_, {})) tell(verdict_, table_);
}

void Meeting::join(int ranks, int rank, const Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  std::vector<Seat>& seats = table_.seats;
  if (seats.empty()) {
    table_ = table_from_environment();
    seats.resize(static_cast<std::size_t>(ranks));
  }
  if (static_cast<std::size_t>(ranks) != seats.size()) {
    return refuse(ncclInvalidUsage, "ranks disagree about their number: rank " + std::to_string(rank) + " says " + std::to_string(ranks) +
                                        ", others " + std::to_string(seats.size()));
  }
  Seat& place = seats[static_cast<std::size_t>(rank)];
  if (place.process != 0) return refuse(ncclInvalidUsage, "rank " + std::to_string(rank) + " joins the same communicator twice");
  place = seat;
  if (++present_ == ranks) complete();
}

void Meeting::withdraw(int rank) {
  const std::lock_guard lock(mutex_);
  if (!over_) refuse(ncclRemoteError, "rank " + std::to_string(rank) + " has gone while the ranks of its communicator were meeting");
}

// Every process has virtual GPUs of its own, so the same number in two processes is two GPUs.
void Meeting::complete() {
  const std::vector<Seat>& seats = table_.seats;
  for (std::size_t a = 0; a < seats.size(); ++a) {
    for (std::size_t b = a + 1; b < seats.size(); ++b) {
      if (seats[a].process != seats[b].process || seats[a].device != seats[b].device) continue;
      return refuse(ncclInvalidUsage, "duplicate GPU: rank " + std::to_string(a) + " and rank " + std::to_string(b) +
                                          " are both on CUDA device " + std::to_string(seats[a].device) +
                                          "; a GPU can be in a communicator only once");
    }
  }
  conclude();
}

std::string Meeting::missing() const {
  std::string names;
  for (std::size_t rank = 0; rank < table_.seats.size(); ++rank)
    if (table_.seats[rank].process == 0) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  return names;
}

Verdict Meeting::wait(Table* table, const Patience& patience) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_until(lock, patience.next_look(), [this] { return over_; })) {
    if (patience.over()) refuse(ncclRemoteError, missing() + " did not come to meet the others in time");
  }
  *table = table_;
  return verdict_;
}

void Meeting::when_over(std::function<void(const Verdict&, const Table&)> tell) {
  const std::lock_guard lock(mutex_);
  if (over_) {
    tell(verdict_, table_);
  } else {
    listeners_.push_back(std::move(tell));
  }
}

std::uint64_t own_process() {
  static const std::uint64_t number = [] {
    std::random_device random;
    std::uint64_t drawn = 0;
    while (drawn == 0) drawn = (static_cast<std::uint64_t>(random()) << 32) | random();
    return drawn;
  }();
  return number;
}

bool read_id(const ncclUniqueId& id, IdContent* content) {
  std::string text(id.internal, strnlen(id.internal, sizeof(id.internal)));
  unsigned long long process = 0;
  unsigned long long serial = 0;
  unsigned ip = 0;
  unsigned port = 0;
  std::array<char, kKeyDigits + 1> key{};
  if (std::sscanf(text.c_str(), kReadFormat, &process, &serial, &ip, &port, key.data()) != 5 || process == 0) return false;
  *content = {process, serial, {ip, static_cast<std::uint16_t>(port)}, key.data()};
  if (content->key.size() != kKeyDigits) return false;
  return true;
}

Verdict new_unique_id(bool listening, ncclUniqueId* id) {
  Address address;
  if (listening) {
    if (Verdict opened = lobby().open(&address); !opened.ok()) return opened;
  }
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t serial = all.made++;
  const std::string key = hexadecimal(random_bytes(kKeyDigits / 2));
  if (listening) lobby().learn(own_process(), serial, key);
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), kFormat, static_cast<unsigned long long>(own_process()),
                static_cast<unsigned long long>(serial), address.ip, static_cast<unsigned>(address.port), key.c_str());
  all.open[serial] = std::make_shared<Meeting>();
  return {};
}

std::shared_ptr<Meeting> find_meeting(std::uint64_t serial) {
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  const auto found = all.open.find(serial);
  return found != all.open.end() ? found->second : nullptr;
}

void forget_meeting(std::uint64_t serial) {
  Meetings& all = meetings();
  const std::lock_guard lock(all.mutex);
  all.open.erase(serial);
}

}  // namespace lockstep::sim::nccl
