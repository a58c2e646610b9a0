// Copies between logical GPUs: the one place that knows whether two replicas share a card.
#include "engine/distribute/collectives/peer.h"

#include <set>

#include "engine/device/check.h"
#include "engine/ops/elementwise.h"

namespace lockstep {

void copy_between(const Stream& stream, const LogicalGpu& from_gpu, const void* from, const LogicalGpu& to_gpu, void* to,
                  std::int64_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(stream.device());
  const auto count = static_cast<std::size_t>(bytes);
  if (from_gpu.physical() == to_gpu.physical()) {
    LOCKSTEP_CHECK(cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream.get()));
  } else {
    LOCKSTEP_CHECK(cudaMemcpyPeerAsync(to, to_gpu.physical(), from, from_gpu.physical(), count, stream.get()));
  }
}

void add_between(const OpContext& receiver, const LogicalGpu& from_gpu, const Tensor& from, const Tensor& to, const Buffer& staging) {
  if (to.size() == 0) return;
  if (from_gpu.physical() == receiver.gpu->physical()) return ops::add(receiver, from, to);
  const Tensor received(staging.raw(), to.shape());
  copy_between(*receiver.stream, from_gpu, from.raw(), *receiver.gpu, received.raw(), static_cast<std::int64_t>(to.bytes()));
  ops::add(receiver, received, to);
}

void enable_peer_access(const std::vector<LogicalGpu*>& gpus) {
  std::set<int> cards;
  for (const LogicalGpu* gpu : gpus) cards.insert(gpu->physical());
  for (const int card : cards) {
    const DeviceGuard guard(card);
    for (const int peer : cards) {
      if (peer == card) continue;
      int possible = 0;
      LOCKSTEP_CHECK(cudaDeviceCanAccessPeer(&possible, card, peer));
      if (!possible) continue;
      const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // another strategy did it: not an error, so it must not be found by the next check
      } else {
        LOCKSTEP_CHECK(status);
      }
    }
  }
}

}  // namespace lockstep
