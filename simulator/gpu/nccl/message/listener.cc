#include "simulator/gpu/nccl/message/listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "simulator/gpu/nccl/message/bootstrap.h"
#include "simulator/gpu/nccl/message/event_loop.h"

namespace lockstep::sim::nccl {

namespace {

constexpr auto kHelloTime = std::chrono::seconds(10);
constexpr std::size_t kMostIncoming = 128;

}  // namespace

// A connection whose hello is not complete, or that has not got its answer.
struct Listener::Incoming {
  Connection connection;
  Challenge challenge;
  Hello hello;
  std::size_t read = 0;

  int descriptor() const { return connection.socket.get(); }
};

Listener& listener() {
  static Listener one;
  return one;
}

Result Listener::open(Address* address) {
  const std::lock_guard lock(mutex_);
  if (!listener_) {
    if (Result listens = listen_on(own_ip(), &listener_, &address_); !listens.ok()) return listens;
    network().post([this] { listen_again(); });
  }
  *address = address_;
  return {};
}

void Listener::add_key(std::uint64_t process, std::uint64_t serial, const std::string& key) {
  const std::lock_guard lock(mutex_);
  keys_[{process, serial}] = key;
}

void Listener::remove_key(std::uint64_t process, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  keys_.erase({process, serial});
}

std::string Listener::key_of(const Hello& hello) {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find({hello.process, hello.serial});
  return found != keys_.end() ? found->second : "";
}

void Listener::listen_again() {
  network().watch(listener_.get(), POLLIN, [this](short /*events*/) { accept_all(); });
}

// When no descriptor is free, the oldest incoming connection is dropped. If there is none, the listener pauses: otherwise poll would return
// at once, again and again.
void Listener::accept_all() {
  while (true) {
    Socket fresh(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fresh) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (!incoming_.empty()) {
        drop(incoming_.front());
        continue;
      }
      network().unwatch(listener_.get());
      network().post_at(Clock::now() + std::chrono::milliseconds(100), [this] { listen_again(); });
      return;
    }
    tune(fresh);
    auto incoming = std::make_shared<Incoming>();
    incoming->connection.socket = std::move(fresh);
    incoming->challenge.nonce = new_nonce();
    // It fits the socket's buffer. Where the other side has closed already, reading finds that out.
    send(incoming->descriptor(), &incoming->challenge, sizeof(incoming->challenge), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (incoming_.size() >= kMostIncoming) drop(incoming_.front());
    incoming_.push_back(incoming);
    network().watch(incoming->descriptor(), POLLIN, [this, incoming](short /*events*/) { read_hello(incoming); });
    network().post_at(Clock::now() + kHelloTime, [this, late = std::weak_ptr<Incoming>(incoming)] {
      const auto one = late.lock();
      if (one != nullptr && std::find(incoming_.begin(), incoming_.end(), one) != incoming_.end()) drop(one);
    });
  }
}

// Nothing more is read from it here; unless another owner keeps the connection, it is closed.
void Listener::drop(const std::shared_ptr<Incoming>& incoming) {
  const std::shared_ptr<Incoming> keep = incoming;
  network().unwatch(keep->descriptor());
  std::erase(incoming_, keep);
}

void Listener::read_hello(const std::shared_ptr<Incoming>& one) {
  const std::shared_ptr<Incoming> incoming = one;  // dropping removes the watch that holds it
  auto* at = reinterpret_cast<std::byte*>(&incoming->hello) + incoming->read;
  const auto got = recv(incoming->descriptor(), at, sizeof(Hello) - incoming->read, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) incoming->read += static_cast<std::size_t>(got);
  if (got > 0 && incoming->read < sizeof(Hello)) return;
  drop(incoming);
  const Hello& hello = incoming->hello;
  if (got <= 0 || hello.from < 0 || hello.to < 0) return;  // closes it
  std::string key = key_of(hello);
  if (!same(hello.proof, proof_of(key, incoming->challenge, hello))) key.clear();
  if (hello.kind == Hello::Kind::join) return join(incoming, key);
  if (hello.kind != Hello::Kind::connect || key.empty()) return;
  set_keys(key, incoming->challenge, hello, &incoming->connection);
  std::swap(incoming->connection.sends, incoming->connection.receives);
  const std::lock_guard lock(mutex_);
  connected_[{hello.process, hello.serial, hello.from, hello.to}] = std::move(incoming->connection);
  arrived_.notify_all();
}

// Without a key: the id is unknown here, or the other side did not prove that it has the key.
void Listener::join(const std::shared_ptr<Incoming>& incoming, const std::string& key) {
  const Hello& hello = incoming->hello;
  const auto root = hello.process == own_process() && !key.empty() ? find_root(hello.serial) : nullptr;
  const auto answer = [incoming, key](const Result& result, const PeerTable& table) {
    std::string bytes = reply_text(result, table);
    const Digest proof = key.empty() ? Digest{} : proof_of_reply(key, incoming->hello, bytes);
    bytes.append(reinterpret_cast<const char*>(proof.data()), proof.size());
    network().post([incoming, bytes] {
      network().unwatch(incoming->descriptor());
      send_all(incoming->connection.socket, bytes.data(), bytes.size(), Clock::now() + std::chrono::seconds(5));
    });
  };
  const bool sensible = hello.ranks >= 1 && hello.ranks <= kMostRanks && hello.from < hello.ranks && hello.joiner_process != 0;
  if (root == nullptr || !sensible) return answer(unknown_id(), {});
  // Nothing more is expected from it: what can be read is the end of the connection.
  network().watch(incoming->descriptor(), POLLIN, [incoming, root](short /*events*/) {
    network().unwatch(incoming->descriptor());
    root->withdraw(incoming->hello.from);
  });
  root->join(
      hello.ranks, hello.from,
      {hello.joiner_process, {hello.joiner_ip, static_cast<std::uint16_t>(hello.joiner_port)}, static_cast<int>(hello.joiner_device)});
  root->when_over([answer, serial = hello.serial](const Result& result, const PeerTable& table) {
    if (result.ok()) network().post([serial] { forget_root(serial); });
    answer(result, table);
  });
}

Result Listener::take_connection(const UniqueId& id, int from, int to, const Deadline& deadline, Connection* connection) {
  std::unique_lock lock(mutex_);
  const auto key = std::make_tuple(id.process, id.serial, from, to);
  while (!arrived_.wait_until(lock, deadline.next_look(), [&] { return connected_.count(key) != 0; })) {
    if (!deadline.over()) continue;
    return {ncclRemoteError, "rank " + std::to_string(from) + " has not connected to rank " + std::to_string(to) + " in time"};
  }
  *connection = std::move(connected_[key]);
  connected_.erase(key);
  return {};
}

}  // namespace lockstep::sim::nccl
