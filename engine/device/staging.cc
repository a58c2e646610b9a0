#include "engine/device/staging.h"

#include "engine/device/check.h"
#include "lockstep/error.h"

namespace lockstep {

PinnedStaging::~PinnedStaging() {
  for (const Slot& slot : slots_) {
    if (slot.in_use) cudaEventSynchronize(slot.free->get());
    if (slot.data) cudaFreeHost(slot.data);
  }
}

unsigned char* PinnedStaging::next(std::size_t bytes, const Deadline& deadline) {
  current_ = (current_ + 1) % slots_.size();
  Slot& slot = slots_[current_];
  if (slot.in_use && !wait_until_done(*slot.free, deadline)) {
    throw Error("the GPU did not take the samples of an earlier step before the deadline (StepOptions::deadline_seconds).");
  }
  slot.in_use = false;
  if (slot.bytes < bytes) {
    const DeviceGuard guard(device_);
    if (slot.data) LOCKSTEP_CHECK(cudaFreeHost(slot.data));
    slot.data = nullptr;
    slot.bytes = 0;
    LOCKSTEP_CHECK(cudaMallocHost(&slot.data, bytes));
    slot.bytes = bytes;
  }
  return static_cast<unsigned char*>(slot.data);
}

void PinnedStaging::issued(const Stream& stream) {
  Slot& slot = slots_[current_];
  if (!slot.free) slot.free.emplace(device_);
  slot.free->record(stream);
  slot.in_use = true;
}

PinnedValue::PinnedValue() {
  void* data = nullptr;
  LOCKSTEP_CHECK(cudaMallocHost(&data, sizeof(double)));
  value_ = static_cast<double*>(data);
  *value_ = 0;
}

PinnedValue::~PinnedValue() { static_cast<void>(cudaFreeHost(value_)); }

void PinnedValue::copy_from(const double* device, const Stream& stream) {
  LOCKSTEP_CHECK(cudaMemcpyAsync(value_, device, sizeof(double), cudaMemcpyDeviceToHost, stream.get()));
}

}  // namespace lockstep
