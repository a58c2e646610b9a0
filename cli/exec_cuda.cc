// In a build for real GPUs programs start without `lockstep exec`.
#include <vector>

#include "cli/command.h"

namespace lockstep::cli {

Command add_exec(CLI::App& app) {
  CLI::App* command = app.add_subcommand("exec", "Run a program that nvcc made on the virtual GPU");
  command->prefix_command();
  return {command, []() -> int {
            throw Error("this build is for real GPUs: start the program itself. Fix for the virtual GPU: build the preset sim");
          }};
}

}  // namespace lockstep::cli
