#include "cli/project/project.h"
#include "lockstep/error.h"

namespace lockstep::cli {

namespace {

int refuse() {
  throw Error(
      "lockstep project records a step on the virtual GPU, and this program was built for real ones. Fix: LOCKSTEP_PRESET=sim "
      "./lockstep project ...");
}

}  // namespace

int project(const ProjectOptions& /*options*/) { return refuse(); }

}  // namespace lockstep::cli
