// These tests want several GPUs and several workers, whatever the machine they run on.
#include <cstdlib>

namespace {

const bool kSet = [] {
  setenv("LOCKSTEP_SIM_MACHINE", "4xt4", 0);
  setenv("LOCKSTEP_SIM_WORKERS", "4", 0);
  return true;
}();

}  // namespace
