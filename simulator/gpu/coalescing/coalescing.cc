#include "simulator/gpu/coalescing/coalescing.h"

#include <utility>

#include "simulator/gpu/coalescing/recorder.h"
#include "simulator/gpu/runtime/control.h"

namespace lockstep::coalescing {

void Count::add(const Request& request) {
  const SectorCount counted = sectors_of(request);
  ++requests;
  lanes += static_cast<std::uint64_t>(request.lanes);
  sectors += counted.touched;
  least += counted.least;
}

Count& Count::operator+=(const Count& more) {
  requests += more.requests;
  lanes += more.lanes;
  sectors += more.sectors;
  least += more.least;
  return *this;
}

Count KernelCount::loads() const {
  Count sum;
  for (const auto& [number, argument] : arguments) sum += argument.loads;
  return sum;
}

Count KernelCount::stores() const {
  Count sum;
  for (const auto& [number, argument] : arguments) sum += argument.stores;
  return sum;
}

Count KernelCount::all() const {
  Count sum = loads();
  return sum += stores();
}

Counter::Counter() {
  sim::wait_for_all_devices();
  sim::set_block_observer(this);
}

Counter::~Counter() {
  sim::wait_for_all_devices();
  sim::set_block_observer(nullptr);
}

Counts Counter::take() {
  sim::wait_for_all_devices();
  const std::lock_guard lock(mutex_);
  return std::exchange(counts_, {});
}

void Counter::begin_block(const sim::KernelCall& call) {
  static thread_local Recorder recorder;
  recorder.begin(call);
  current_recorder() = &recorder;
}

void Counter::all_stopped() { current_recorder()->replay(); }

void Counter::end_block() {
  Recorder& recorder = *std::exchange(current_recorder(), nullptr);
  const KernelCount block = recorder.end();
  const std::lock_guard lock(mutex_);
  KernelCount& kernel = counts_[recorder.kernel()];
  kernel.blocks += block.blocks;
  for (const auto& [number, argument] : block.arguments) {
    kernel.arguments[number].loads += argument.loads;
    kernel.arguments[number].stores += argument.stores;
  }
}

}  // namespace lockstep::coalescing
