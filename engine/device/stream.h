// Streams and events that clean up after themselves.
#pragma once

#include <cuda_runtime.h>

namespace lockstep {

// Makes a device current for a scope and puts the previous one back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
};

class Stream;

class Event {
 public:
  enum class Timing { off, on };
  explicit Event(int device, Timing timing = Timing::off);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(const Stream& stream);
  void synchronize() const;
  bool done() const;
  float milliseconds_since(const Event& start) const;  // both with timing, on one device
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int device);  // non-blocking: no ties to the legacy stream
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  void wait(const Event& event);  // returns at once where the event was never recorded, as in CUDA
  void synchronize() const;
  int device() const { return device_; }
  cudaStream_t get() const { return stream_; }

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace lockstep
