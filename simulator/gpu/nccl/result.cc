// The last error's sentence: shared by all threads, and copied for the thread that asks.
#include "simulator/gpu/nccl/result.h"

#include <mutex>

namespace lockstep::sim::nccl {

namespace {

struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& last() {
  static LastError error;
  return error;
}

}  // namespace

void remember_error(const std::string& text) {
  LastError& error = last();
  const std::lock_guard lock(error.mutex);
  error.text = text;
}

const char* last_error(const std::string& own_text) {
  thread_local std::string copy;
  if (!own_text.empty()) {
    copy = own_text;
  } else {
    LastError& error = last();
    const std::lock_guard lock(error.mutex);
    copy = error.text;
  }
  return copy.c_str();
}

}  // namespace lockstep::sim::nccl
