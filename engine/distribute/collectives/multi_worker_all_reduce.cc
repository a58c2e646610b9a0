#include "engine/distribute/collectives/multi_worker_all_reduce.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/device/check.h"
#include "lockstep/error.h"

namespace lockstep {

MultiWorkerAllReduceOps::~MultiWorkerAllReduceOps() {
  const bool good = lost_.empty() && !communicators_.empty();
  for (ncclComm_t communicator : communicators_) ncclCommDestroy(communicator);
  if (good) part_from_workers();
}

// NCCL may still be at work when a call returns: then it is asked until it is done, another worker has gone or the deadline has passed.
void MultiWorkerAllReduceOps::require(ncclResult_t status, const char* what, const Deadline& deadline) {
  for (std::size_t c = 0; c < communicators_.size() && (status == ncclSuccess || status == ncclInProgress);) {
    LOCKSTEP_CHECK(ncclCommGetAsyncError(communicators_[c], &status));
    if (status == ncclSuccess) ++c;
    if (status != ncclInProgress) continue;
    if (agreement_.lines) agreement_.lines->require_all();
    if (deadline.passed()) {
      abort();
      const char* text = ncclGetLastError(nullptr);
      throw Error("Worker " + std::to_string(agreement_.place.worker) + ": " + what +
                  " was not done before the deadline (LOCKSTEP_DEADLINE): " +
                  (text != nullptr && *text != '\0' ? text : "another worker does not answer") + ".");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (status == ncclSuccess) return;
  ncclComm_t communicator = communicators_.empty() ? nullptr : communicators_.front();
  const char* text = ncclGetLastError(communicator);
  lost_ = std::string(what) + ": " + (text != nullptr && *text != '\0' ? text : ncclGetErrorString(status));
  throw Error("Worker " + std::to_string(agreement_.place.worker) + ": NCCL could not go on with " + lost_ + ".");
}

void MultiWorkerAllReduceOps::prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t /*elements*/) {
  if (!communicators_.empty()) {
    if (gpus != gpus_) throw Error("MultiWorkerMirroredStrategy: a model lives on all GPUs of its strategy.");
    return;
  }
  std::vector<int> cards;
  for (const LogicalGpu* gpu : gpus) {
    if (std::find(cards.begin(), cards.end(), gpu->physical()) != cards.end()) {
      throw Error("MultiWorkerMirroredStrategy: NCCL refuses two replicas on one card, and " + gpu->name() + " shares card " +
                  std::to_string(gpu->physical()) + ". Give every replica a card, or use MirroredStrategy among logical GPUs.");
    }
    cards.push_back(gpu->physical());
  }
  gpus_ = gpus;
  communicators_.resize(gpus.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // or a worker that never comes would be waited for without an end
  LOCKSTEP_CHECK(ncclGroupStart());
  ncclResult_t first = ncclSuccess;
  for (std::size_t r = 0; r < gpus.size(); ++r) {
    const DeviceGuard guard(gpus[r]->physical());
    const ncclResult_t status = ncclCommInitRankConfig(&communicators_[r], agreement_.place.replicas, agreement_.id,
                                                       agreement_.place.first_replica + static_cast<int>(r), &config);
    if (first == ncclSuccess && status != ncclInProgress) first = status;
  }
  const ncclResult_t end = ncclGroupEnd();
  if (first != ncclSuccess) communicators_.clear();
  require(first != ncclSuccess ? first : end, "connecting the workers", Deadline(agreement_.deadline_seconds));
  if (agreement_.lines) agreement_.lines->connected();
}

Traffic MultiWorkerAllReduceOps::all_reduce(const std::vector<Participant>& participants) {
  const std::int64_t elements = participants.front().buffer.size();
  const std::int64_t n = agreement_.place.replicas;
  if (n == 1 || elements == 0) return {};
  check();
  ncclGroupStart();
  for (std::size_t r = 0; r < participants.size(); ++r) {
    const Participant& participant = participants[r];
    const DeviceGuard guard(participant.gpu->physical());
    ncclAllReduce(participant.buffer.raw(), participant.buffer.raw(), static_cast<std::size_t>(elements), ncclFloat32, ncclSum,
                  communicators_[r], participant.stream->get());
  }
  require(ncclGroupEnd(), "an all-reduce", Deadline(agreement_.deadline_seconds));
  const auto here = static_cast<std::int64_t>(participants.size());
  const auto bytes = static_cast<std::int64_t>(participants.front().buffer.bytes());
  return {here, 2 * (n - 1) * bytes * here / n, std::vector<std::int64_t>(participants.size(), bytes)};
}

Traffic MultiWorkerAllReduceOps::broadcast(const std::vector<Participant>& participants) {
  const std::size_t bytes = participants.front().buffer.bytes();
  if (agreement_.place.replicas == 1 || bytes == 0) return {};
  check();
  ncclGroupStart();
  for (std::size_t r = 0; r < participants.size(); ++r) {
    const Participant& participant = participants[r];
    const DeviceGuard guard(participant.gpu->physical());
    ncclBroadcast(participant.buffer.raw(), participant.buffer.raw(), bytes / sizeof(float), ncclFloat32, 0, communicators_[r],
                  participant.stream->get());
  }
  require(ncclGroupEnd(), "a broadcast", Deadline(agreement_.deadline_seconds));
  const auto here = static_cast<std::int64_t>(participants.size());
  Traffic traffic{here, here * static_cast<std::int64_t>(bytes), {}};
  for (std::size_t r = agreement_.place.first_replica == 0 ? 1 : 0; r < participants.size(); ++r)
    traffic.put(r, static_cast<std::int64_t>(bytes));
  return traffic;
}

Traffic MultiWorkerAllReduceOps::all_gather(const std::vector<Participant>& participants, std::int64_t share) {
  check();
  ncclGroupStart();
  for (std::size_t r = 0; r < participants.size(); ++r) {
    const Participant& participant = participants[r];
    const DeviceGuard guard(participant.gpu->physical());
    const float* own = participant.buffer.f32() + (agreement_.place.first_replica + static_cast<std::int64_t>(r)) * share;
    ncclAllGather(own, participant.buffer.raw(), static_cast<std::size_t>(share), ncclFloat32, communicators_[r],
                  participant.stream->get());
  }
  require(ncclGroupEnd(), "gathering rows", Deadline(agreement_.deadline_seconds));
  const auto here = static_cast<std::int64_t>(participants.size());
  return {here * (agreement_.place.replicas - 1), here * (agreement_.place.replicas - 1) * share * 4, {}};
}

std::vector<std::uint64_t> MultiWorkerAllReduceOps::gather(const std::vector<std::uint64_t>& rows, std::size_t width,
                                                           const Deadline& deadline) {
  const auto all = static_cast<std::size_t>(agreement_.place.replicas) * width;
  std::vector<std::uint64_t> result(all);
  if (agreement_.place.replicas == static_cast<int>(gpus_.size())) return rows;
  check();
  words_.resize(gpus_.size());
  const std::size_t bytes = (width + all) * sizeof(std::uint64_t);
  for (std::size_t r = 0; r < gpus_.size(); ++r) {
    if (words_[r].bytes() >= bytes) continue;
    words_[r] = Buffer();
    words_[r] = gpus_[r]->arena().allocate(bytes, "replica " + std::to_string(r) + ": words gathered over workers");
  }
  for (std::size_t r = 0; r < gpus_.size(); ++r) {
    const DeviceGuard guard(gpus_[r]->physical());
    LOCKSTEP_CHECK(cudaMemcpyAsync(words_[r].raw(), rows.data() + r * width, width * sizeof(std::uint64_t), cudaMemcpyHostToDevice,
                                   gpus_[r]->communication().get()));
  }
  ncclGroupStart();
  for (std::size_t r = 0; r < gpus_.size(); ++r) {
    const DeviceGuard guard(gpus_[r]->physical());
    auto* words = words_[r].data<std::uint64_t>();
    ncclAllGather(words, words + width, width, ncclUint64, communicators_[r], gpus_[r]->communication().get());
  }
  require(ncclGroupEnd(), "gathering totals", deadline);
  for (LogicalGpu* gpu : gpus_) {
    Event done(gpu->physical());
    done.record(gpu->communication());
    if (!wait_until_done(done, deadline)) {
      throw Error("gathering totals over workers: another worker did not come before the deadline (LOCKSTEP_DEADLINE).");
    }
  }
  check();
  const DeviceGuard guard(gpus_.front()->physical());
  LOCKSTEP_CHECK(
      cudaMemcpy(result.data(), words_.front().data<std::uint64_t>() + width, all * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
  return result;
}

void MultiWorkerAllReduceOps::check() {
  if (!lost_.empty()) throw Error("Worker " + std::to_string(agreement_.place.worker) + " can't go on: " + lost_ + ".");
  for (ncclComm_t communicator : communicators_) {
    ncclResult_t state = ncclSuccess;
    LOCKSTEP_CHECK(ncclCommGetAsyncError(communicator, &state));
    if (state == ncclSuccess || state == ncclInProgress) continue;
    const char* text = ncclGetLastError(communicator);
    lost_ = text != nullptr && *text != '\0' ? text : ncclGetErrorString(state);
    throw Error("Worker " + std::to_string(agreement_.place.worker) + " can't go on: " + lost_ + ".");
  }
}

void MultiWorkerAllReduceOps::abort() {
  if (lost_.empty()) lost_ = "it has failed before";
  for (ncclComm_t communicator : communicators_) ncclCommAbort(communicator);
  communicators_.clear();
}

}  // namespace lockstep
