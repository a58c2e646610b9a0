#include "simulator/gpu/nccl/message/lobby.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/printable.h"
#include "simulator/gpu/nccl/message/event_loop.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);       // for a process that lives and should answer
constexpr auto kGuestPatience = std::chrono::seconds(10);  // for the first words of a connection
constexpr std::size_t kMostGuests = 128;
constexpr int kMostRanks = 1 << 20;

// The answer to a rank that has joined from another process; then the text, then the seats, then a proof.
struct Reply {
  std::uint32_t magic = 0x4c53'5201;
  std::int32_t code = 0;
  std::uint32_t text = 0;
  std::uint32_t ranks = 0;
  std::uint8_t ring = 0, tree = 0, direct = 0, shared_memory = 0;
  std::uint32_t unused = 0;
};
struct WireSeat {
  std::uint64_t process = 0;
  std::uint32_t ip = 0;
  std::uint32_t port = 0;
  std::int64_t device = 0;
};

std::string reply_text(const Verdict& verdict, const Table& table) {
  Reply reply;
  reply.code = static_cast<std::int32_t>(verdict.code);
  reply.text = static_cast<std::uint32_t>(verdict.text.size());
  reply.ranks = verdict.ok() ? static_cast<std::uint32_t>(table.seats.size()) : 0;
  reply.ring = table.allowed.ring;
  reply.tree = table.allowed.tree;
  reply.direct = table.direct;
  reply.shared_memory = table.shared_memory;
  std::string bytes(reinterpret_cast<const char*>(&reply), sizeof(reply));
  bytes += verdict.text;
  for (std::uint32_t r = 0; r < reply.ranks; ++r) {
    const Seat& seat = table.seats[r];
    const WireSeat wire{seat.process, seat.address.ip, seat.address.port, seat.device};
    bytes.append(reinterpret_cast<const char*>(&wire), sizeof(wire));
  }
  return bytes;
}

const Verdict kUnknownId = {ncclInvalidArgument,
                            "the ncclUniqueId is unknown: it did not come from ncclGetUniqueId, or its ranks have met already"};

Verdict read_reply(const Socket& socket, const std::string& key, const Hello& hello, const Patience& patience, Table* table) {
  Reply reply;
  if (Verdict got = receive_all(socket, &reply, sizeof(reply), patience); !got.ok()) return got;
  if (reply.magic != Reply{}.magic || reply.ranks > kMostRanks || reply.text > (1U << 20) || reply.code < 0 ||
      reply.code >= ncclNumResults) {
    return {ncclInternalError, "it does not speak our language"};
  }
  std::string bytes(sizeof(reply) + reply.text + reply.ranks * sizeof(WireSeat), '\0');
  std::memcpy(bytes.data(), &reply, sizeof(reply));
  if (Verdict got = receive_all(socket, bytes.data() + sizeof(reply), bytes.size() - sizeof(reply), patience); !got.ok()) return got;
  Digest proof{};
  if (Verdict got = receive_all(socket, proof.data(), proof.size(), patience); !got.ok()) return got;
  if (!same(proof, proof_of_reply(key, hello, bytes))) return kUnknownId;  // so says one who does not know it, whatever its words are
  if (reply.code != ncclSuccess) return {static_cast<ncclResult_t>(reply.code), printable({bytes.data() + sizeof(reply), reply.text})};
  table->allowed = {reply.ring != 0, reply.tree != 0};
  table->direct = reply.direct != 0;
  table->shared_memory = reply.shared_memory != 0;
  table->seats.clear();
  for (std::size_t r = 0; r < reply.ranks; ++r) {
    WireSeat seat;
    std::memcpy(&seat, bytes.data() + sizeof(reply) + reply.text + r * sizeof(seat), sizeof(seat));
    table->seats.push_back({seat.process, {seat.ip, static_cast<std::uint16_t>(seat.port)}, static_cast<int>(seat.device)});
  }
  return {};
}

}  // namespace

// A connection that has not said yet, or not got yet, what it came for.
struct Lobby::Guest {
  Link link;
  Challenge challenge;
  Hello hello;
  std::size_t read = 0;

  int descriptor() const { return link.socket.get(); }
};

Lobby& lobby() {
  static Lobby one;
  return one;
}

Verdict Lobby::open(Address* address) {
  const std::lock_guard lock(mutex_);
  if (!listener_) {
    if (Verdict listens = listen_on(own_ip(), &listener_, &address_); !listens.ok()) return listens;
    network().post([this] { listen_again(); });
  }
  *address = address_;
  return {};
}

void Lobby::learn(std::uint64_t process, std::uint64_t serial, const std::string& key) {
  const std::lock_guard lock(mutex_);
  keys_[{process, serial}] = key;
}

void Lobby::forget(std::uint64_t process, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  keys_.erase({process, serial});
}

std::string Lobby::key_of(const Hello& hello) {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find({hello.process, hello.serial});
  return found != keys_.end() ? found->second : "";
}

void Lobby::listen_again() {
  network().watch(listener_.get(), POLLIN, [this](short /*events*/) { accept_all(); });
}

// Without a descriptor to be had the oldest guest makes room. If there is none the listener rests, or poll would return at once, for ever.
void Lobby::accept_all() {
  while (true) {
    Socket fresh(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fresh) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (!guests_.empty()) {
        dismiss(guests_.front());
        continue;
      }
      network().unwatch(listener_.get());
      network().post_at(Clock::now() + std::chrono::milliseconds(100), [this] { listen_again(); });
      return;
    }
    tune(fresh);
    auto guest = std::make_shared<Guest>();
    guest->link.socket = std::move(fresh);
    guest->challenge.nonce = new_nonce();
    // It fits the socket's buffer; who has gone again is found out when nothing can be read.
    send(guest->descriptor(), &guest->challenge, sizeof(guest->challenge), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (guests_.size() >= kMostGuests) dismiss(guests_.front());
    guests_.push_back(guest);
    network().watch(guest->descriptor(), POLLIN, [this, guest](short /*events*/) { read_hello(guest); });
    network().post_at(Clock::now() + kGuestPatience, [this, late = std::weak_ptr<Guest>(guest)] {
      const auto one = late.lock();
      if (one != nullptr && std::find(guests_.begin(), guests_.end(), one) != guests_.end()) dismiss(one);
    });
  }
}

// Whatever it was, nothing more is read from it; without another owner the connection ends.
void Lobby::dismiss(const std::shared_ptr<Guest>& guest) {
  const std::shared_ptr<Guest> keep = guest;
  network().unwatch(keep->descriptor());
  std::erase(guests_, keep);
}

void Lobby::read_hello(const std::shared_ptr<Guest>& one) {
  const std::shared_ptr<Guest> guest = one;  // the watch that holds it goes
  auto* at = reinterpret_cast<std::byte*>(&guest->hello) + guest->read;
  const auto got = recv(guest->descriptor(), at, sizeof(Hello) - guest->read, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) guest->read += static_cast<std::size_t>(got);
  if (got > 0 && guest->read < sizeof(Hello)) return;
  dismiss(guest);
  const Hello& hello = guest->hello;
  if (got <= 0 || hello.from < 0 || hello.to < 0) return;  // closes it
  std::string key = key_of(hello);
  if (!same(hello.proof, proof_of(key, guest->challenge, hello))) key.clear();
  if (hello.kind == Hello::Kind::join) return join(guest, key);
  if (hello.kind != Hello::Kind::peer || key.empty()) return;
  set_keys(key, guest->challenge, hello, &guest->link);
  std::swap(guest->link.sends, guest->link.receives);
  const std::lock_guard lock(mutex_);
  peers_[{hello.process, hello.serial, hello.from, hello.to}] = std::move(guest->link);
  arrived_.notify_all();
}

// Without a key: what is wanted is unknown here, or the guest does not know it.
void Lobby::join(const std::shared_ptr<Guest>& guest, const std::string& key) {
  const Hello& hello = guest->hello;
  const auto meeting = hello.process == own_process() && !key.empty() ? find_meeting(hello.serial) : nullptr;
  const auto answer = [guest, key](const Verdict& verdict, const Table& table) {
    std::string bytes = reply_text(verdict, table);
    const Digest proof = key.empty() ? Digest{} : proof_of_reply(key, guest->hello, bytes);
    bytes.append(reinterpret_cast<const char*>(proof.data()), proof.size());
    network().post([guest, bytes] {
      network().unwatch(guest->descriptor());
      send_all(guest->link.socket, bytes.data(), bytes.size(), Clock::now() + std::chrono::seconds(5));
    });
  };
  const bool sensible = hello.ranks >= 1 && hello.ranks <= kMostRanks && hello.from < hello.ranks && hello.seat_process != 0;
  if (meeting == nullptr || !sensible) return answer(kUnknownId, {});
  // Nothing more is expected from it: what can be read is the end of the connection.
  network().watch(guest->descriptor(), POLLIN, [guest, meeting](short /*events*/) {
    network().unwatch(guest->descriptor());
    meeting->withdraw(guest->hello.from);
  });
  meeting->join(hello.ranks, hello.from,
                {hello.seat_process, {hello.seat_ip, static_cast<std::uint16_t>(hello.seat_port)}, static_cast<int>(hello.seat_device)});
  meeting->when_over([answer, serial = hello.serial](const Verdict& verdict, const Table& table) {
    if (verdict.ok()) network().post([serial] { forget_meeting(serial); });
    answer(verdict, table);
  });
}

Verdict Lobby::take_peer(const IdContent& id, int from, int to, const Patience& patience, Link* link) {
  std::unique_lock lock(mutex_);
  const auto key = std::make_tuple(id.process, id.serial, from, to);
  while (!arrived_.wait_until(lock, patience.next_look(), [&] { return peers_.count(key) != 0; })) {
    if (!patience.over()) continue;
    return {ncclRemoteError, "rank " + std::to_string(from) + " has not connected to rank " + std::to_string(to) + " in time"};
  }
  *link = std::move(peers_[key]);
  peers_.erase(key);
  return {};
}

Joining::Joining(const ncclUniqueId& id) {
  if (!read_id(id, &id_)) {
    verdict_ = kUnknownId;
  } else if (id_.process == own_process()) {
    meeting_ = find_meeting(id_.serial);
    if (meeting_ == nullptr) verdict_ = kUnknownId;
  } else if (id_.address.port == 0) {
    verdict_ = {ncclInvalidArgument, "the ncclUniqueId was made by another process, which could not listen for connections"};
  } else {
    lobby().learn(id_.process, id_.serial, id_.key);
  }
}

void Joining::join(int ranks, int rank, int device, const Patience& patience) {
  if (!verdict_.ok()) return;
  Seat seat{own_process(), {}, device};
  const bool alone = meeting_ != nullptr && id_.address.port == 0;
  if (!alone) verdict_ = lobby().open(&seat.address);
  if (!verdict_.ok()) return;
  if (meeting_ != nullptr) return meeting_->join(ranks, rank, seat);
  hello_.ranks = ranks;
  hello_.process = id_.process;
  hello_.serial = id_.serial;
  hello_.from = rank;
  hello_.seat_process = seat.process;
  hello_.seat_ip = seat.address.ip;
  hello_.seat_port = seat.address.port;
  hello_.seat_device = device;
  verdict_ = say_hello(id_.address, id_.key, {std::min(patience.until, Clock::now() + kPatience), patience.cancelled}, &hello_, &link_);
  if (!verdict_.ok()) verdict_.text = "the process that made the ncclUniqueId can't be reached: " + verdict_.text;
}

Verdict Joining::wait(Table* table, const Patience& patience) {
  if (!verdict_.ok()) return verdict_;
  if (meeting_ != nullptr) return meeting_->wait(table, patience);
  Verdict verdict = read_reply(link_.socket, id_.key, hello_, patience, table);
  if (verdict.code == ncclRemoteError && table->seats.empty() && verdict.text.find("rank ") == std::string::npos) {
    verdict.text = "the process that made the ncclUniqueId has gone: " + verdict.text;
  }
  return verdict;
}

}  // namespace lockstep::sim::nccl
