// What the harnesses share: bytes as a file that is only in memory, and what counts as a good answer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lockstep/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

namespace lockstep::fuzz {

class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* bytes, std::size_t count) : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0) std::abort();
    for (std::size_t done = 0; done < count;) {
      const ssize_t wrote = write(descriptor_, bytes + done, count - done);
      if (wrote <= 0) std::abort();
      done += static_cast<std::size_t>(wrote);
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Any bytes are read, or refused with a sentence. Every other exception, and everything a sanitizer sees, is a finding.
template <typename Function>
int read_or_refuse(Function function) {
  try {
    function();
  } catch (const Error& error) {
    if (std::string(error.what()).size() < 10) std::abort();  // not a sentence
  }
  return 0;
}

}  // namespace lockstep::fuzz
