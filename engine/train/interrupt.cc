#include "engine/train/interrupt.h"

#include <dlfcn.h>

#include <csignal>
#include <string>

#include "lockstep/error.h"

namespace lockstep {
namespace {

const volatile std::sig_atomic_t* flag() {
  static const auto* const found = static_cast<const volatile std::sig_atomic_t*>(dlsym(RTLD_DEFAULT, "lockstep_interrupt_flag"));
  return found;
}

}  // namespace

bool in_notebook() { return flag() != nullptr; }

bool interrupted() { return flag() != nullptr && *flag() != 0; }

void stop_if_interrupted(const char* what) {
  if (interrupted()) throw Error(std::string(what) + ": interrupted");
}

}  // namespace lockstep
