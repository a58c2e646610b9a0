#include "simulator/gpu/nccl/api/init.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "simulator/gpu/nccl/api/transport_setup.h"

namespace lockstep::sim::nccl {

namespace {

// How far one rank is.
struct InitRank {
  Bootstrap bootstrap;
  Result result;
  PeerTable table;
  std::shared_ptr<TransportSetup> setup;
};

}  // namespace

// Each step is taken for all calls before the next one is taken for any: ranks of one thread do not wait for each other.
ncclResult_t InitJob::init_ranks() {
  const Deadline deadline(Clock::time_point::max(), &cancelled_);
  std::vector<InitRank> all;
  for (const InitCall& call : calls_) {
    all.push_back({Bootstrap(call.id), {}, {}, nullptr});
    all.back().bootstrap.join(call.comm->ranks, call.comm->rank, call.comm->device, deadline);
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    InitRank& one = all[i];
    one.result = one.bootstrap.wait(&one.table, deadline);
    if (!one.result.ok()) continue;
    if (one.bootstrap.id().process == own_process())
      forget_root(one.bootstrap.id().serial);  // a refused one stays, for ranks that come late
    one.setup = find_setup(one.bootstrap.id(), one.table, calls_[i].comm->rank);
    one.setup->connect(deadline);
  }
  ncclResult_t first = ncclSuccess;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const InitCall& call = calls_[i];
    InitRank& one = all[i];
    std::shared_ptr<Communicator> communicator;
    if (one.result.ok()) {
      one.result = one.setup->complete(deadline, &communicator);
      leave_setup(one.bootstrap.id(), one.table, call.comm->rank);
    }
    if (!one.result.ok() && call.blocking) {
      remove_comm(call.comm.get());
      *call.out = nullptr;
    }
    const ncclResult_t code = report(one.result);
    const std::lock_guard lock(call.comm->mutex);
    call.comm->communicator = communicator;
    if (!call.blocking) call.comm->init_error = one.result;
    if (first == ncclSuccess) first = code;
  }
  return first;
}

ncclResult_t InitJob::run() {
  const ncclResult_t code = init_ranks();
  for (const InitCall& call : std::exchange(calls_, {})) {  // a comm and its job do not keep each other alive
    const std::lock_guard lock(call.comm->mutex);
    call.comm->init = nullptr;
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  ended_.notify_all();
  return code;
}

void InitJob::run_in_background() {
  for (const InitCall& call : calls_) call.comm->init = shared_from_this();
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

void InitJob::cancel() {
  cancelled_ = true;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return over_; });
}

ncclResult_t init_all(const std::vector<InitCall>& calls) {
  const auto job = std::make_shared<InitJob>(calls);
  if (std::all_of(calls.begin(), calls.end(), [](const InitCall& call) { return call.blocking; })) return job->run();
  job->run_in_background();
  return ncclInProgress;
}

}  // namespace lockstep::sim::nccl
