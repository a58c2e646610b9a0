// From a table of peers to a communicator: which ranks share memory, and the connections to those that do not.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/nccl/communicator.h"
#include "simulator/gpu/nccl/message/bootstrap.h"

namespace lockstep::sim::nccl {

// There is one for each endpoint of a communicator in this process; its ranks share it. Both steps may be called by each of them, from any
// thread; a thread that initialises several endpoints takes the first step for all of them before the second for one.
class TransportSetup {
 public:
  TransportSetup(const UniqueId& id, const PeerTable& table, int endpoint);

  void connect(const Deadline& deadline);  // to the endpoints with higher numbers
  Result complete(const Deadline& deadline, std::shared_ptr<Communicator>* communicator);

 private:
  std::mutex mutex_;
  const UniqueId id_;
  const PeerTable table_;
  const int endpoint_;
  std::vector<int> endpoints_;  // by rank
  bool connected_ = false;
  bool done_ = false;
  Result result_;
  std::map<int, Connection> connections_;
  std::shared_ptr<Communicator> communicator_;
};

// The one of the rank's endpoint.
std::shared_ptr<TransportSetup> find_setup(const UniqueId& id, const PeerTable& table, int rank);
// The rank has its communicator; after the last rank of its endpoint the setup is forgotten.
void leave_setup(const UniqueId& id, const PeerTable& table, int rank);

}  // namespace lockstep::sim::nccl
