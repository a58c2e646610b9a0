// Sums over the replicas of all workers: one NCCL communicator whose ranks are all replicas, this process's in a row.
//
// With the same number of replicas the ring is the same for any number of workers, so two workers with one GPU each get the bits of one
// process with two.
#pragma once

#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/workers/workers.h"

namespace lockstep {

class MultiWorkerAllReduceOps : public CrossDeviceOps {
 public:
  explicit MultiWorkerAllReduceOps(Agreement agreement) : agreement_(std::move(agreement)) {}
  ~MultiWorkerAllReduceOps() override;
  MultiWorkerAllReduceOps(const MultiWorkerAllReduceOps&) = delete;
  MultiWorkerAllReduceOps& operator=(const MultiWorkerAllReduceOps&) = delete;

  std::string name() const override { return "nccl"; }
  Traffic all_reduce(const std::vector<Participant>& participants) override;
  Traffic broadcast(const std::vector<Participant>& participants) override;
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;

  WorkerPlace place(int /*here*/) const override { return agreement_.place; }
  Traffic all_gather(const std::vector<Participant>& participants, std::int64_t share) override;
  std::vector<std::uint64_t> gather(const std::vector<std::uint64_t>& rows, std::size_t width, const Deadline& deadline) override;
  void check() override;
  void abort() override;

 private:
  void require(ncclResult_t status, const char* what, const Deadline& deadline);

  Agreement agreement_;
  std::vector<LogicalGpu*> gpus_;
  std::vector<ncclComm_t> communicators_;  // by replica here
  std::vector<Buffer> words_;              // by replica here: its row and those of all, for gather
  std::string lost_;                       // what ended the communicator
};

}  // namespace lockstep
