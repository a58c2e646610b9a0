// A rank's side of the bootstrap: it joins the root of an ncclUniqueId, in this process or in another one, and gets the table of peers.
#pragma once

#include <memory>

#include "simulator/gpu/nccl/message/bootstrap_root.h"
#include "simulator/gpu/nccl/message/handshake.h"
#include "simulator/gpu/nccl/message/unique_id.h"

namespace lockstep::sim::nccl {

// A new id, with its root. `listening`: ranks of other processes may join.
Result new_unique_id(bool listening, ncclUniqueId* id);

class Bootstrap {
 public:
  explicit Bootstrap(const ncclUniqueId& id);
  void join(int ranks, int rank, int device, const Deadline& deadline);
  Result wait(PeerTable* table, const Deadline& deadline);  // until all have joined, or a rank or the root's process has gone
  const UniqueId& id() const { return id_; }

 private:
  UniqueId id_;
  Result result_;
  std::shared_ptr<BootstrapRoot> root_;  // where it is in this process
  Hello hello_;                          // otherwise
  Connection connection_;
};

// For the root's side, in listener.cc: the reply to a rank that has joined from another process, with the table of peers or why there is
// none. A proof of it follows.
std::string reply_text(const Result& result, const PeerTable& table);
Result unknown_id();
inline constexpr int kMostRanks = 1 << 20;

}  // namespace lockstep::sim::nccl
