// The bootstrap root: in the process that made an ncclUniqueId, it collects where each rank is, until the table is complete.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/gpu/nccl/algorithm.h"
#include "simulator/gpu/nccl/message/socket.h"

namespace lockstep::sim::nccl {

// Where a rank is.
struct PeerInfo {
  std::uint64_t process = 0;  // 0: the rank has not joined
  Address address;            // where that process listens
  int device = 0;
};

// What all ranks know of each other after the bootstrap. The root's settings apply to all, so that all use the same transports.
struct PeerTable {
  std::vector<PeerInfo> peers;  // by rank
  AlgorithmChoice allowed;
  bool direct = true;         // ranks of one process use each other's memory (not with NCCL_P2P_DISABLE=1)
  bool shared_memory = true;  // or pass messages through it (not with NCCL_SHM_DISABLE=1 in addition)
};

// Without peers; the settings are those of the environment: NCCL_ALGO, NCCL_P2P_DISABLE, NCCL_SHM_DISABLE.
PeerTable table_from_environment();

class BootstrapRoot {
 public:
  // Enters the rank into the table; does not wait. A refusal is for all ranks: none waits for a table that can't be completed.
  void join(int ranks, int rank, const PeerInfo& peer);
  // The rank has gone before all have joined.
  void withdraw(int rank);
  // Waits for all ranks. When the deadline passes, the bootstrap ends for all, with the names of the ranks that have not joined.
  Result wait(PeerTable* table, const Deadline& deadline);
  // Called once, when all have joined or it was refused; at once if that is so already.
  void when_over(std::function<void(const Result&, const PeerTable&)> notify);

 private:
  void refuse(ncclResult_t code, const std::string& text);
  void complete();
  void conclude();
  std::string missing() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  PeerTable table_;
  int present_ = 0;
  bool over_ = false;
  Result result_;
  std::vector<std::function<void(const Result&, const PeerTable&)>> listeners_;
};

// The roots of the ids that this process has made, by serial.
std::uint64_t new_root();
std::shared_ptr<BootstrapRoot> find_root(std::uint64_t serial);  // nullptr: there is none, or all ranks have the table already
void forget_root(std::uint64_t serial);

}  // namespace lockstep::sim::nccl
