// What a call returns: NCCL's code and, when it is refused, a sentence that says why. `ncclGetLastError` returns the sentences.
#pragma once

#include <string>

#include <nccl.h>

namespace lockstep::sim::nccl {

struct Result {
  ncclResult_t code = ncclSuccess;
  std::string text;

  bool ok() const { return code == ncclSuccess; }
};

// The last sentence of the process, as NVIDIA's library keeps it; `last_error` stays valid until the thread asks again.
void remember_error(const std::string& text);
const char* last_error(const std::string& own_text);

}  // namespace lockstep::sim::nccl
