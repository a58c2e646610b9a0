// A copy of a view's bytes whose last byte lies at the end of a page, with inaccessible pages (guards) behind and in front.
//
// A kernel that runs on such copies is caught at the first element behind its view, whether it uses the view's brackets or a bare
// pointer. The page is then made accessible and the access noted, so the kernel runs to its end and leaves no half-run fibers behind.
// In front of the view the bytes up to the next page hold a pattern: a write is found afterwards, a read is not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::sim {

class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  struct Trespass {
    std::int64_t offset = 0;  // from the begin of the view; below 0: in front of it
    bool write = false;
  };
  bool trespassed(Trespass& found) const;

 private:
  std::byte* base_ = nullptr;  // of the whole range, guards included
  std::size_t whole_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int slot_ = -1;
};

// For the handler of SIGSEGV, and async-signal-safe: true when the address lies in a guard; its page is now accessible.
bool note_trespass(std::uintptr_t address, bool write);

}  // namespace lockstep::sim
