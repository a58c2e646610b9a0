// Device memory of one logical GPU: everything is asked for by name, counted, and refused past the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

// Not enough memory. The text names the owner and size of the request, the limit, and the owners of what is held.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

class Arena;

// Owns bytes of an arena and returns them when it is destroyed.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::size_t bytes() const { return bytes_; }
  void* raw() const { return data_; }
  template <typename T>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  friend class Arena;
  std::shared_ptr<struct ArenaState> arena_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t id_ = 0;
};

class Arena {
 public:
  Arena(int physical, std::size_t limit_bytes, std::string gpu_name);

  // Throws OutOfMemory, which lists what is held, largest first. `owner` reads like "replica 1: activations (batch 64)".
  Buffer allocate(std::size_t bytes, const std::string& owner);

  std::size_t used() const;
  std::size_t peak() const;
  std::size_t limit() const;
  std::uint64_t allocations() const;  // how many were ever made; a warm step makes none

 private:
  std::shared_ptr<ArenaState> state_;
};

}  // namespace lockstep
