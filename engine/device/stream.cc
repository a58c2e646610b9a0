// Streams and events. Destructors never throw: what fails there has failed before, in a call that was checked.
#include "engine/device/stream.h"

#include <utility>

#include "engine/device/check.h"

namespace lockstep {

DeviceGuard::DeviceGuard(int device) {
  LOCKSTEP_CHECK(cudaGetDevice(&previous_));
  if (device != previous_) LOCKSTEP_CHECK(cudaSetDevice(device));
}

DeviceGuard::~DeviceGuard() {
  int current = 0;
  if (cudaGetDevice(&current) == cudaSuccess && current != previous_) static_cast<void>(cudaSetDevice(previous_));
}

Event::Event(int device, Timing timing) {
  const DeviceGuard guard(device);
  LOCKSTEP_CHECK(cudaEventCreateWithFlags(&event_, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming));
}

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

Event::Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

void Event::record(const Stream& stream) {
  const DeviceGuard guard(stream.device());
  LOCKSTEP_CHECK(cudaEventRecord(event_, stream.get()));
}

void Event::synchronize() const { LOCKSTEP_CHECK(cudaEventSynchronize(event_)); }

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check_call(status, "cudaEventQuery(event_)", __FILE__, __LINE__);
  return true;
}

float Event::milliseconds_since(const Event& start) const {
  float milliseconds = 0;
  LOCKSTEP_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
  return milliseconds;
}

Stream::Stream(int device) : device_(device) {
  const DeviceGuard guard(device);
  LOCKSTEP_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

Stream::Stream(Stream&& other) noexcept : device_(other.device_), stream_(std::exchange(other.stream_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}

void Stream::wait(const Event& event) {
  const DeviceGuard guard(device_);
  LOCKSTEP_CHECK(cudaStreamWaitEvent(stream_, event.get(), 0));
}

void Stream::synchronize() const { LOCKSTEP_CHECK(cudaStreamSynchronize(stream_)); }

}  // namespace lockstep
