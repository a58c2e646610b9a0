#include "lobby.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "event_loop.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // for a process that lives and should answer
constexpr int kMostRanks = 1 << 20;

// The answer to a rank that has joined from another process; then the text, then the seats.
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

Verdict read_reply(const Socket& socket, Table* table) {
  const auto deadline = Clock::now() + std::chrono::hours(24 * 365);  // the others may take their time
  Reply reply;
  if (Verdict got = receive_all(socket, &reply, sizeof(reply), deadline); !got.ok()) return got;
  if (reply.magic != Reply{}.magic || reply.ranks > kMostRanks || reply.text > (1U << 20) || reply.code < 0 ||
      reply.code >= ncclNumResults) {
    return {ncclInternalError, "it does not speak our language"};
  }
  std::string text(reply.text, '\0');
  if (Verdict got = receive_all(socket, text.data(), text.size(), deadline); !got.ok()) return got;
  if (reply.code != ncclSuccess) return {static_cast<ncclResult_t>(reply.code), text};
  table->allowed = {reply.ring != 0, reply.tree != 0};
  table->direct = reply.direct != 0;
  table->shared_memory = reply.shared_memory != 0;
  table->seats.clear();
  for (std::uint32_t r = 0; r < reply.ranks; ++r) {
    WireSeat seat;
    if (Verdict got = receive_all(socket, &seat, sizeof(seat), deadline); !got.ok()) return got;
    table->seats.push_back({seat.process, {seat.ip, static_cast<std::uint16_t>(seat.port)}, static_cast<int>(seat.device)});
  }
  return {};
}

const Verdict kUnknownId = {ncclInvalidArgument,
                            "the ncclUniqueId is unknown: it did not come from ncclGetUniqueId, or its ranks have met already"};

}  // namespace

// A connection that has not said yet, or not got yet, what it came for.
struct Lobby::Guest {
  Socket socket;
  Hello hello;
  std::size_t read = 0;
};

Lobby& lobby() {
  static Lobby one;
  return one;
}

Verdict Lobby::open(Address* address) {
  const std::lock_guard lock(mutex_);
  if (!listener_) {
    if (Verdict listens = listen_on(own_ip(), &listener_, &address_); !listens.ok()) return listens;
    network().post([this] { network().watch(listener_.get(), POLLIN, [this](short /*events*/) { accept_all(); }); });
  }
  *address = address_;
  return {};
}

void Lobby::accept_all() {
  while (true) {
    Socket fresh(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fresh) return;
    tune(fresh);
    auto guest = std::make_shared<Guest>();
    guest->socket = std::move(fresh);
    network().watch(guest->socket.get(), POLLIN, [this, guest](short /*events*/) { read_hello(guest); });
  }
}

void Lobby::read_hello(const std::shared_ptr<Guest>& guest) {
  auto* at = reinterpret_cast<std::byte*>(&guest->hello) + guest->read;
  const auto got = recv(guest->socket.get(), at, sizeof(Hello) - guest->read, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) guest->read += static_cast<std::size_t>(got);
  if (got > 0 && guest->read < sizeof(Hello)) return;
  network().unwatch(guest->socket.get());
  const Hello& hello = guest->hello;
  if (got <= 0 || hello.from < 0 || hello.to < 0) return;  // closes it
  if (hello.kind == Hello::Kind::join) return join(guest);
  if (hello.kind != Hello::Kind::peer) return;
  const std::lock_guard lock(mutex_);
  peers_[{hello.process, hello.serial, hello.from, hello.to}] = std::move(guest->socket);
  arrived_.notify_all();
}

void Lobby::join(const std::shared_ptr<Guest>& guest) {
  const Hello& hello = guest->hello;
  const auto meeting = hello.process == own_process() ? find_meeting(hello.serial) : nullptr;
  const auto answer = [guest](const Verdict& verdict, const Table& table) {
    const std::string bytes = reply_text(verdict, table);
    network().post([guest, bytes] {
      network().unwatch(guest->socket.get());
      send_all(guest->socket, bytes.data(), bytes.size(), Clock::now() + std::chrono::seconds(5));
    });
  };
  const bool sensible = hello.ranks >= 1 && hello.ranks <= kMostRanks && hello.from < hello.ranks && hello.seat_process != 0;
  if (meeting == nullptr || !sensible) return answer(kUnknownId, {});
  // Nothing more is expected from it: what can be read is the end of the connection.
  network().watch(guest->socket.get(), POLLIN, [guest, meeting](short /*events*/) {
    network().unwatch(guest->socket.get());
    meeting->withdraw(guest->hello.from);
  });
  meeting->join(hello.ranks, hello.from,
                {hello.seat_process, {hello.seat_ip, static_cast<std::uint16_t>(hello.seat_port)}, static_cast<int>(hello.seat_device)});
  meeting->when_over([answer, serial = hello.serial](const Verdict& verdict, const Table& table) {
    if (verdict.ok()) network().post([serial] { forget_meeting(serial); });
    answer(verdict, table);
  });
}

Verdict Lobby::take_peer(const IdContent& id, int from, int to, Clock::time_point deadline, Socket* socket) {
  std::unique_lock lock(mutex_);
  const auto key = std::make_tuple(id.process, id.serial, from, to);
  if (!arrived_.wait_until(lock, deadline, [&] { return peers_.count(key) != 0; })) {
    return {ncclRemoteError, "rank " + std::to_string(from) + " has not connected to rank " + std::to_string(to) + " in time"};
  }
  *socket = std::move(peers_[key]);
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
  }
}

void Joining::join(int ranks, int rank, int device) {
  if (!verdict_.ok()) return;
  Seat seat{own_process(), {}, device};
  const bool alone = meeting_ != nullptr && id_.address.port == 0;
  if (!alone) verdict_ = lobby().open(&seat.address);
  if (!verdict_.ok()) return;
  if (meeting_ != nullptr) return meeting_->join(ranks, rank, seat);
  Hello hello;
  hello.ranks = ranks;
  hello.process = id_.process;
  hello.serial = id_.serial;
  hello.from = rank;
  hello.seat_process = seat.process;
  hello.seat_ip = seat.address.ip;
  hello.seat_port = seat.address.port;
  hello.seat_device = device;
  const auto deadline = Clock::now() + kPatience;
  verdict_ = connect_to(id_.address, deadline, &socket_);
  if (verdict_.ok()) verdict_ = send_all(socket_, &hello, sizeof(hello), deadline);
  if (!verdict_.ok()) verdict_.text = "the process that made the ncclUniqueId can't be reached: " + verdict_.text;
}

Verdict Joining::wait(Table* table) {
  if (!verdict_.ok()) return verdict_;
  if (meeting_ != nullptr) return meeting_->wait(table);
  Verdict verdict = read_reply(socket_, table);
  if (verdict.code == ncclRemoteError && table->seats.empty() && verdict.text.find("rank ") == std::string::npos) {
    verdict.text = "the process that made the ncclUniqueId has gone: " + verdict.text;
  }
  return verdict;
}

}  // namespace lockstep::sim::nccl
