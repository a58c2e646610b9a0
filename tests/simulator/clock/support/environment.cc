// These tests look at modelled time; the virtual GPU reads its environment at first use, which is after this.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool kSet = [] {
  setenv("LOCKSTEP_SIM_CLOCK", "model", 1);
  setenv("LOCKSTEP_SIM_MACHINE", "4xt4", 1);
  unsetenv("LOCKSTEP_SIM_GPUS");
  unsetenv("LOCKSTEP_SIM_NODES");
  return true;
}();

}  // namespace
