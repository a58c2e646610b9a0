// The process's listening socket. Every connection from another process begins here with a handshake: its hello says whether a rank joins
// the bootstrap of an id that was made here, or an endpoint of a communicator connects to another one. Connections without a proof of the
// id are refused. One that sends nothing costs a descriptor for a limited time, and holds up no other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "simulator/gpu/nccl/message/handshake.h"
#include "simulator/gpu/nccl/message/unique_id.h"

namespace lockstep::sim::nccl {

class Listener {
 public:
  // Listens, from the first call on.
  Result open(Address* address);
  // The key of an id that ranks of this process use, until they are connected.
  void add_key(std::uint64_t process, std::uint64_t serial, const std::string& key);
  void remove_key(std::uint64_t process, std::uint64_t serial);
  // The connection that endpoint `from` of the id's communicator has made to endpoint `to`, which is here.
  Result take_connection(const UniqueId& id, int from, int to, const Deadline& deadline, Connection* connection);

 private:
  struct Incoming;
  void listen_again();
  void accept_all();
  void drop(const std::shared_ptr<Incoming>& incoming);
  void read_hello(const std::shared_ptr<Incoming>& incoming);
  void join(const std::shared_ptr<Incoming>& incoming, const std::string& key);
  std::string key_of(const Hello& hello);  // empty: not known here

  std::mutex mutex_;
  std::condition_variable arrived_;
  Socket listener_;
  Address address_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> keys_;                 // by process and serial
  std::map<std::tuple<std::uint64_t, std::uint64_t, int, int>, Connection> connected_;  // process, serial, from, to
  std::deque<std::shared_ptr<Incoming>> incoming_;                                      // without a complete hello; oldest first
};

Listener& listener();

}  // namespace lockstep::sim::nccl
