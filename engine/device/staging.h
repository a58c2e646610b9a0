// Page-locked host memory through which a replica's samples travel: the copy to the GPU is asynchronous only from there.
//
// Two slots take turns, so the host may fill one while the GPU still reads the other.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "engine/device/deadline.h"
#include "engine/device/stream.h"

namespace lockstep {

class PinnedStaging {
 public:
  explicit PinnedStaging(int device) : device_(device) {}
  ~PinnedStaging();
  PinnedStaging(const PinnedStaging&) = delete;
  PinnedStaging& operator=(const PinnedStaging&) = delete;

  // The next slot, at least this large, once the GPU is done with what it held before.
  unsigned char* next(std::size_t bytes, const Deadline& deadline);
  // Everything that reads the slot was issued on this stream.
  void issued(const Stream& stream);

 private:
  struct Slot {
    void* data = nullptr;
    std::size_t bytes = 0;
    std::optional<Event> free;  // recorded behind the last read
    bool in_use = false;
  };
  int device_;
  std::array<Slot, 2> slots_;
  std::size_t current_ = 0;
};

// One number in page-locked memory, for the GPU to write to.
class PinnedValue {
 public:
  PinnedValue();
  ~PinnedValue();
  PinnedValue(const PinnedValue&) = delete;
  PinnedValue& operator=(const PinnedValue&) = delete;

  // *value = *device, once the stream gets there.
  void copy_from(const double* device, const Stream& stream);
  double value() const { return *value_; }

 private:
  double* value_ = nullptr;
};

}  // namespace lockstep
