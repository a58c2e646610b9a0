// The list of algorithms, which of them fits which devices, and what they share.
#include "engine/distribute/collectives/cross_device_ops.h"

#include <functional>
#include <optional>
#include <set>

#include "engine/distribute/collectives/hierarchical_copy_all_reduce.h"
#include "engine/distribute/collectives/nccl_all_reduce.h"
#include "engine/distribute/collectives/one_copy.h"
#include "engine/distribute/collectives/peer.h"
#include "engine/distribute/collectives/reduction_to_one_device.h"
#include "engine/distribute/collectives/ring_all_reduce.h"
#include "engine/distribute/collectives/tree_all_reduce.h"

namespace lockstep {
namespace {

struct Entry {
  const char* name;
  std::function<std::unique_ptr<CrossDeviceOps>()> make;
};

const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = {
      {"nccl", [] { return std::make_unique<NcclAllReduceOps>(); }},
      {"ring", [] { return std::make_unique<RingAllReduceOps>(); }},
      {"tree", [] { return std::make_unique<TreeAllReduceOps>(); }},
      {"hierarchical-copy", [] { return std::make_unique<HierarchicalCopyAllReduceOps>(); }},
      {"one-device", [] { return std::make_unique<ReductionToOneDeviceOps>(); }},
      {"one-copy", [] { return std::make_unique<OneCopyOps>(); }},
  };
  return entries;
}

}  // namespace

// Rare (once for a model), so its events are made here; CUDA frees an event once the work that records it is done.
Traffic CrossDeviceOps::broadcast(const std::vector<Participant>& participants) {
  Traffic traffic;
  const Participant& root = participants.front();
  if (participants.size() == 1 || root.buffer.bytes() == 0) return traffic;
  const auto bytes = static_cast<std::int64_t>(root.buffer.bytes());
  std::optional<Event> ready;
  on_behalf_of(0, [&] {
    ready.emplace(root.gpu->physical());
    ready->record(*root.stream);
  });
  for (std::size_t r = 1; r < participants.size(); ++r) {
    const Participant& reader = participants[r];
    on_behalf_of(r, [&] {
      reader.stream->wait(*ready);
      copy_between(*reader.stream, *root.gpu, root.buffer.raw(), *reader.gpu, reader.buffer.raw(), bytes);
      Event read(reader.gpu->physical());
      read.record(*reader.stream);
      on_behalf_of(0, [&] { root.stream->wait(read); });  // whatever the root does next may overwrite its buffer
    });
    ++traffic.messages;
    traffic.bytes += bytes;
    traffic.put(r, bytes);
  }
  return traffic;
}

std::unique_ptr<CrossDeviceOps> make_cross_device_ops(const std::string& name) {
  std::string known;
  for (const Entry& entry : registry()) {
    if (name == entry.name) return entry.make();
    known += (known.empty() ? "\"" : ", \"") + std::string(entry.name) + "\"";
  }
  throw Error("There are no cross-device ops named \"" + name + "\". Known are " + known + ".");
}

std::vector<std::string> cross_device_ops_names() {
  std::vector<std::string> names;
  for (const Entry& entry : registry()) names.emplace_back(entry.name);
  return names;
}

std::string choose_cross_device_ops(const std::vector<GpuId>& gpus, std::string* why) {
  std::set<int> cards;
  for (const GpuId& gpu : gpus) cards.insert(gpu.physical);
  std::string name;
  std::string reason;
  if (gpus.size() <= 1) {
    name = "one-device";
    reason = "one replica: there is nothing to reduce";
  } else if (cards.size() == gpus.size()) {
    name = "nccl";
    reason = "every replica has a card of its own, so NCCL can connect them";
  } else {
    name = cards.size() == 1 ? "one-device" : "hierarchical-copy";
    reason = cards.size() == 1 ? "NCCL refuses two replicas on one card; one pass adds their gradients, and each gets the sum"
                               : "NCCL refuses two replicas on one card; this one sends least between the cards";
  }
  if (why) *why = reason;
  return name;
}

}  // namespace lockstep
