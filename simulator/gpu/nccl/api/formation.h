// From a table of seats to a clique: which ranks share memory, and the connections to those that do not.
#pragma once

#include <memory>

#include "simulator/gpu/nccl/clique.h"
#include "simulator/gpu/nccl/message/lobby.h"

namespace lockstep::sim::nccl {

// One for each member of a communicator that lives here; its ranks share it. Both steps may be called by each of them, from any thread;
// a thread that brings several members in takes the first step for all of them before the second for one.
class Formation {
 public:
  Formation(const IdContent& id, const Table& table, int member);

  void connect(const Patience& patience);  // to members behind this one
  Verdict complete(const Patience& patience, std::shared_ptr<Clique>* clique);

 private:
  std::mutex mutex_;
  const IdContent id_;
  const Table table_;
  const int member_;
  std::vector<int> members_;  // by rank: its member, which is named after its first rank
  bool connected_ = false;
  bool done_ = false;
  Verdict verdict_;
  std::map<int, Link> connections_;
  std::shared_ptr<Clique> clique_;
};

// The one of the rank's member.
std::shared_ptr<Formation> find_formation(const IdContent& id, const Table& table, int rank);
// The rank has its clique; the last one of its member makes the formation forgotten.
void leave_formation(const IdContent& id, const Table& table, int rank);

}  // namespace lockstep::sim::nccl
