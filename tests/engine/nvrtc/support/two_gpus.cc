// Two GPUs, where they are virtual: settings are read at first use, which is after this.
#include <cstdlib>

namespace {

const bool kEnvironmentSet = [] {
  setenv("LOCKSTEP_SIM_GPUS", "2", 1);
  return true;
}();

}  // namespace
