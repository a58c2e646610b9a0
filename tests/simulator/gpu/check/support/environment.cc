// These tests look at check mode: it is on, with several GPUs and workers, whatever the machine they run on.
#include <cstdlib>

namespace {

const bool kSet = [] {
  setenv("LOCKSTEP_SIM_MACHINE", "4xt4", 1);
  setenv("LOCKSTEP_SIM_WORKERS", "4", 0);
  setenv("LOCKSTEP_SIM_CHECK", "memory,race,deadlock", 1);
  setenv("LOCKSTEP_SIM_CHECK_GRACE", "1000", 1);
  return true;
}();

}  // namespace
